"""The headline of a stress run, its meaning, and what to do next; the same in every view.

Checks of the run itself (load as planned, evidence complete) and SLOs are counted separately: a run whose checks hold is a
valid measurement, of good or bad values. Missed and unjudged SLOs are always named, whether they gate or not.
"""

from collections.abc import Iterator, Sequence

from crashloop.report.document import Headline
from crashloop.report.standing import Standing
from crashloop.report.stress.results import StressResults
from crashloop.report.text import counted
from crashloop.slo.measurements import SloVerdict
from crashloop.verdict import Outcome


def stress_headline(results: StressResults) -> Headline:
    """The headline of a stress run. Its standing is that of the worst verdict that gates, as the exit code is."""
    standing = Standing(results.outcome.value)
    slos = _Slos(results)
    sentence = f"{_load_in_words(results)}: {_checks_in_words(results)}; {slos.sentence}."
    return Headline(
        standing,
        sentence,
        " ".join((slos.nothing_gates or _MEANS[standing], *slos.undecided)),
        _TO_DO[standing] if slos.are_kept or standing in (Standing.FAIL, Standing.ERROR) else slos.what_to_read,
    )


class _Slos:
    """The verdicts of rows, by outcome."""

    def __init__(self, results: StressResults) -> None:
        found = [(each, row) for each in results.verdicts if (row := results.row(each.slo)) is not None]
        self._all = [each for each, _ in found]
        self._checks_hold = results.outcome is Outcome.PASS
        self._official = [each for each, row in found if row.is_official]

    @property
    def are_kept(self) -> bool:
        """Whether no SLO was missed or left open."""
        return all(each.outcome is Outcome.PASS for each in self._all)

    @property
    def sentence(self) -> str:
        """`of 14 SLOs 6 are kept, 2 are missed (reported only): a, b; 6 are not judged`."""
        if not self._all:
            return "no SLO was requested"
        if self.are_kept:
            return f"all {len(self._all)} SLOs are kept" if len(self._all) > 1 else "the only SLO is kept"
        kept = _so_many_are(sum(1 for each in self._all if each.outcome is Outcome.PASS), "kept")
        named = (
            ("broken", self._with(Outcome.FAIL, "gate")),
            ("missed (reported only)", self._with(Outcome.FAIL, "report")),
            ("a known deviation" if len(self._known) == 1 else "known deviations", self._known),
            ("in error", self._with(Outcome.ERROR)),
        )
        parts = [f"{_so_many_are(len(each), word)}: {_slo_names(each)}" for word, each in named if each]
        undecided = self._with(Outcome.INCONCLUSIVE)
        details = "; ".join([*parts, *([_so_many_are(len(undecided), "not judged")] if undecided else [])])
        return f"of {counted(len(self._all), 'SLO')} {kept}, {details}"

    @property
    def nothing_gates(self) -> str:
        """A note that only the checks decide; empty if any SLO gates, or a check does not hold."""
        if any(each.mode == "gate" for each in self._all) or not self._checks_hold:
            return ""
        return "No SLO gates in this load: it measures, and only the checks of the run decide the exit code."

    @property
    def undecided(self) -> Iterator[str]:
        """The unjudged SLOs, official ones first."""
        open_ones = self._with(Outcome.INCONCLUSIVE)
        if open_ones:
            yield f"Not judged: {_slo_names(open_ones)}."
        if self._no_official_one:
            yield (
                f"So none of the {counted(len(self._official), 'official SLO')} of Kubernetes was judged: "
                "this run proves nothing about them."
            )

    @property
    def what_to_read(self) -> str:
        """What to do if no gate was broken, but not every SLO was kept."""
        return f"{_READ_ON} {_OFFICIAL}" if self._no_official_one else _READ_ON

    @property
    def _no_official_one(self) -> bool:
        return bool(self._official) and all(each.outcome is Outcome.INCONCLUSIVE for each in self._official)

    @property
    def _known(self) -> list[SloVerdict]:
        return [each for each in self._all if each.deviation is not None]

    def _with(self, outcome: Outcome, *modes: str) -> list[SloVerdict]:
        return [
            each
            for each in self._all
            if each.outcome is outcome and each.deviation is None and (not modes or each.mode in modes)
        ]


def _load_in_words(results: StressResults) -> str:
    restarts = counted_restarts(results)
    return f"{restarts} in the load {results.profile} on Kubernetes {results.kubernetes_version}"


def counted_restarts(results: StressResults) -> str:
    """`2,870 restarts`, of the whole run."""
    number = round(results.totals.get("restarts", 0))
    return f"{number:,} {'restart' if number == 1 else 'restarts'}"


def _checks_in_words(results: StressResults) -> str:
    found = [each for each in results.verdicts if results.row(each.slo) is None]
    open_ones = [each for each in found if each.outcome is not Outcome.PASS]
    if not found:
        return "the run itself was not checked"
    if not open_ones:
        return f"all {counted(len(found), 'check')} of the run hold"
    do = "does" if len(open_ones) == 1 else "do"
    return f"{len(open_ones)} of {counted(len(found), 'check')} of the run {do} not hold: {_slo_names(open_ones)}"


def _so_many_are(number: int, word: str) -> str:
    return f"{number or 'none'} {'are' if number > 1 else 'is'} {word}"


def _slo_names(verdicts: Sequence[SloVerdict]) -> str:
    return ", ".join(each.slo for each in verdicts)


_MEANS = {
    Standing.PASS: "Every gating target was met where its preconditions held, with at least the samples that it requires.",
    Standing.FAIL: "The preconditions of every missed target held; a failed check of the run is a broken guarantee.",
    Standing.INCONCLUSIVE: (
        "No gate accuses Kubernetes, but not every gate could be judged: the load differed from the plan, a precondition was "
        "broken, or samples were few."
    ),
    Standing.ERROR: (
        "The fault lies with this suite, its rows, the credentials or the host, not with Kubernetes; the recording is kept."
    ),
}
_READ_ON = (
    "Read the sentences of missed and unjudged SLOs before relying on this run: they name the missing evidence, and the "
    "stages' figures say what was scarce."
)
_OFFICIAL = (
    "Official SLOs need a load within their preconditions (at most 110 pods per node and 10 per core), "
    "and enough samples."
)
_TO_DO = {
    Standing.PASS: "Nothing. The figures below show the cost of the load.",
    Standing.FAIL: (
        "Read the sentence of each broken promise; the stages' figures say what was scarce. "
        "If the host was busy with other work, repeat the run on a quiet host."
    ),
    Standing.INCONCLUSIVE: "The sentences name the missing evidence.",
    Standing.ERROR: "Read the sentences: they name what is left and how to remove it, or the row that is wrong itself.",
}
