"""What needs attention, by its cause: several requirements break by one restart, or by one statement, and views show it once."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.report.text import counted, seconds
from crashloop.verdict import Verdict

_LINES = re.compile(r"\(history lines? ([0-9, and-]+)\)")
_IN_SCENARIO = re.compile(r"in ([^ :]+)(?: \(([^)]+)\))?: ")
_MISSED = re.compile(
    r'restart (?P<number>\d+) of "(?P<container>[^"]+)" (?P<verb>came|was created) (?P<taken>[\d.]+) s '
    r"(?P<side>before|after) the exit [^;]*; (?P<due>[\d.]+) s was due(?:, and (?P<latest>[\d.]+) s at the latest)?"
)


class Accusation(NamedTuple):
    """One finding of a verdict, in parts."""

    verdict: Verdict
    said: str
    """The finding without the requirement and the scenario before it."""
    scenario: str
    """Whose history it rests on; empty where it names no line of one."""
    profile: str
    lines: tuple[int, ...]

    @property
    def file(self) -> str:
        """Of that history, below the run directory."""
        return f"history/{self.scenario}.jsonl"


class Missed(NamedTuple):
    """A restart that missed its window, as its finding says (checks/delays.py)."""

    number: int
    container: str
    verb: str
    """came or was created"""
    taken_s: float
    """From the exit; below 0 for a start that no exit had called for."""
    due_s: float
    latest_s: float | None
    """None for an early restart."""

    @property
    def off_s(self) -> float:
        """Below 0 for early."""
        return self.taken_s - (self.due_s if self.latest_s is None else self.latest_s)

    @property
    def in_words(self) -> str:
        """`0.7 s too early`."""
        return f"{seconds(abs(self.off_s))} s too {'early' if self.latest_s is None else 'late'}"


class Cause(NamedTuple):
    """A restart, a statement or missing evidence, with every finding that rests on it."""

    accusations: tuple[Accusation, ...]
    """Worst first; there is at least one."""
    missed: Missed | None = None

    @property
    def first(self) -> Accusation:
        return self.accusations[0]

    @property
    def standing(self) -> Standing:
        return Standing.of(self.first.verdict)

    @property
    def requirements(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.verdict.requirement for each in self.accusations))

    @property
    def profiles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.profile for each in self.accusations))

    @property
    def sentence(self) -> str:
        """What happened, with numbers: `restart 2 of app on node max-2s came 0.7 s too early: 1.3 s after the exit, …`."""
        where = f"on node {self.first.profile}"
        if self.missed is None:
            named = self.first.lines and len(self.profiles) == 1
            return f"{where}: {self.first.said}" if named else self.first.said
        missed = self.missed
        bound = f"{seconds(missed.due_s)} s was due"
        if missed.latest_s is not None:
            bound = f"{seconds(missed.latest_s)} s was the latest"
        when = f"{seconds(abs(missed.taken_s))} s {'before' if missed.taken_s < 0 else 'after'} the exit"
        created = "" if missed.verb == "came" else "created "
        return (
            f"restart {missed.number} of {missed.container} {where} came {missed.in_words}: {created}{when}, {bound}."
        )

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
        key=lambda each: (Standing.of(each.verdict).rank, len(each.lines)),
    )
    for each in seeds:
        grounds: list[object] = [(each.scenario, line) for line in each.lines] or [each.said]
        home = min((homes[ground] for ground in grounds if ground in homes), default=None)
        if home is None:
            homes |= dict.fromkeys(grounds, len(groups))
            groups.append([each])
        elif each not in groups[home]:
            groups[home].append(each)
    for group in groups:
        group.sort(key=lambda each: (Standing.of(each.verdict).rank, _MISSED.search(each.said) is None))
    found = (Cause(tuple(group), _missed(group)) for group in groups)
    return tuple(sorted(found, key=lambda each: (each.standing.rank, -len(each.requirements))))


def _parts(verdict: Verdict) -> Iterator[Accusation]:
    for finding in verdict.findings or (f"{Standing.of(verdict).label} without a finding.",):
        said = finding.removeprefix(f"{verdict.requirement}: ")
        scenario, profile, lines = verdict.scenario, verdict.profile, _lines_in(said)
        if named := _IN_SCENARIO.match(said):
            scenario, profile, said = named[1], named[2] or profile, said[named.end() :]
        elif len(verdict.evidence) == 1 and verdict.evidence[0].file.startswith("history/"):
            scenario = verdict.evidence[0].scenario
            if len(verdict.findings) == 1:
                lines = lines or verdict.evidence[0].lines
        yield Accusation(verdict, said, scenario, profile, lines)


def _lines_in(said: str) -> tuple[int, ...]:
    return tuple(int(number) for found in _LINES.findall(said) for number in re.findall(r"\d+", found))


def _missed(group: Iterable[Accusation]) -> Missed | None:
    """The restart that the first finding with one names."""
    found = next(filter(None, (_MISSED.search(each.said) for each in group)), None)
    if found is None:
        return None
    taken_s = float(found["taken"]) * (-1 if found["side"] == "before" else 1)
    latest_s = found["latest"] and float(found["latest"])
    return Missed(
        int(found["number"]), found["container"], found["verb"], taken_s, float(found["due"]), latest_s or None
    )


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
