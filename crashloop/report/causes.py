"""What needs attention, by its cause: several requirements break by one restart, or by one statement, and views show it once."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.report.text import counted, seconds
from crashloop.verdict import Ground, Missed, Verdict


class Accusation(NamedTuple):
    """One finding of a verdict, in parts."""

    verdict: Verdict
    said: str
    """The finding without the requirement and the scenario before it."""
    ground: Ground

    @property
    def file(self) -> str:
        """The history that it rests on, below the run directory."""
        return f"history/{self.ground.scenario}.jsonl"


def missed_in_words(missed: Missed) -> str:
    """`0.7 s too early`."""
    late = missed.latest_s is not None
    off_s = missed.taken_s - (missed.due_s if missed.latest_s is None else missed.latest_s)
    return f"{seconds(abs(off_s))} s too {'late' if late else 'early'}"


class Cause(NamedTuple):
    """A restart, a statement or missing evidence, with every finding that rests on it."""

    accusations: tuple[Accusation, ...]
    """Worst first, and of these a restart outside of its window; there is at least one."""

    @property
    def first(self) -> Accusation:
        return self.accusations[0]

    @property
    def missed(self) -> Missed | None:
        """The first restart outside of its window that an accusation is about."""
        return next((each.ground.missed for each in self.accusations if each.ground.missed is not None), None)

    @property
    def standing(self) -> Standing:
        return Standing.of(self.first.verdict)

    @property
    def requirements(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.verdict.requirement for each in self.accusations))

    @property
    def profiles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.ground.profile for each in self.accusations))

    @property
    def sentence(self) -> str:
        """What happened, with numbers: `restart 2 of app on node max-2s came 0.7 s too early: 1.3 s after the exit, …`."""
        where = f"on node {self.first.ground.profile}"
        if self.missed is None:
            named = self.first.ground.lines and len(self.profiles) == 1
            return f"{where}: {self.first.said}" if named else self.first.said
        missed = self.missed
        bound = f"{seconds(missed.due_s)} s was due"
        if missed.latest_s is not None:
            bound = f"{seconds(missed.latest_s)} s was the latest"
        when = f"{seconds(abs(missed.taken_s))} s {'before' if missed.taken_s < 0 else 'after'} the exit"
        created = "" if missed.verb == "came" else "created "
        return f"restart {missed.number} of {missed.container} {where} came {missed_in_words(missed)}: {created}{when}, {bound}."

    @property
    def others(self) -> tuple[str, ...]:
        """What was found in full, each once, without what the sentence says."""
        found = tuple(dict.fromkeys(each.said for each in self.accusations))
        return found[0 if self.missed is not None else 1 :]

    @property
    def around_requirements(self) -> tuple[str, str]:
        """The words before and after the requirements: it breaks them, or leaves them open."""
        return ("breaks ", "") if self.standing is Standing.FAIL else ("leaves ", " open")

    @property
    def broken_in_words(self) -> str:
        """`breaks BACKOFF-2, CAP-3`; of what is not decided, `leaves BACKOFF-2 open`."""
        before, after = self.around_requirements
        return f"{before}{', '.join(self.requirements)}{after}"


def causes_of(results: Results) -> tuple[Cause, ...]:
    """The causes of all verdicts that need attention, worst first, then those that break most.

    Findings have one cause if they rest on a common line of one history; without lines, if they say the same.
    """
    groups: list[list[Accusation]] = []
    homes: dict[object, int] = {}
    """The group that began with each line of a history, or with each finding without lines."""
    seeds = sorted(
        (each for verdict in results.verdicts if Standing.of(verdict).needs_attention for each in _parts(verdict)),
        key=lambda each: (Standing.of(each.verdict).rank, len(each.ground.lines)),
    )
    for each in seeds:
        grounds: list[object] = [(each.ground.scenario, line) for line in each.ground.lines] or [each.said]
        home = min((homes[ground] for ground in grounds if ground in homes), default=None)
        if home is None:
            homes |= dict.fromkeys(grounds, len(groups))
            groups.append([each])
        elif each not in groups[home]:
            groups[home].append(each)
    for group in groups:
        group.sort(key=lambda each: (Standing.of(each.verdict).rank, each.ground.missed is None))
    return tuple(
        sorted(
            (Cause(tuple(group)) for group in groups), key=lambda each: (each.standing.rank, -len(each.requirements))
        )
    )


def _parts(verdict: Verdict) -> Iterator[Accusation]:
    findings = verdict.findings or (f"{Standing.of(verdict).label} without a finding.",)
    for finding, ground in zip(findings, verdict.grounds or _grounds_of_old(verdict, len(findings)), strict=True):
        said = finding.removeprefix(f"{verdict.requirement}: ").removeprefix(f"in {ground.scenario}")
        yield Accusation(verdict, said.removeprefix(f" ({ground.profile})").removeprefix(": "), ground)


def _grounds_of_old(verdict: Verdict, number: int) -> Iterable[Ground]:
    """Of a verdict that has none: its only history, and the lines of a finding that is alone."""
    only = verdict.evidence[0] if len(verdict.evidence) == 1 else None
    of_history = only is not None and only.file.startswith("history/")
    ground = Ground(
        scenario=only.scenario if only is not None and of_history else verdict.scenario,
        profile=verdict.profile,
        lines=only.lines if only is not None and of_history and number == 1 else (),
    )
    return (ground,) * number


def causes_by_verdict(causes: Iterable[Cause]) -> dict[tuple[str, str, str], str]:
    """The first cause of each verdict, with all that it breaks, by requirement, scenario and profile."""
    found: dict[tuple[str, str, str], str] = {}
    for cause in causes:
        said = f"Cause: {cause.sentence} It {cause.broken_in_words}."
        for each in cause.accusations:
            found.setdefault((each.verdict.requirement, each.verdict.scenario, each.verdict.profile), said)
    return found


def answer(results: Results, causes: Iterable[Cause]) -> str:
    """A FAIL as the reader asks for it: `Your kubelet ./kubelet restarts too early on 2 of 12 configurations`."""
    nodes = {each.name for each in results.profiles}
    broken: dict[str, list[Cause]] = {}
    for each in causes:
        if each.standing is Standing.FAIL:
            broken.setdefault(_what(each), []).append(each)
    parts = []
    for what, mine in broken.items():
        on = {name for each in mine for name in each.profiles} & nodes
        where = f" on {len(on)} of {counted(len(nodes), 'configuration')}" if on else ""
        parts.append(f"{what}{where}")
    whose = "The kubelet" if results.kubelet_binary is None else f"Your kubelet {results.kubelet_binary}"
    return f"{whose} {', and '.join(parts)}"


def _what(cause: Cause) -> str:
    if cause.missed is None:
        return "does not behave as required"
    return "restarts too early" if cause.missed.latest_s is None else "restarts too late"
