"""Compares two runs of one suite: circumstances, then verdicts, then lateness of restarts or values of promises and stages."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from crashloop.comparison.lateness import LatenessChange, lateness_changes
from crashloop.comparison.side import (
    Change,
    JudgedRun,
    Place,
    RunKey,
    ScenarioOutcome,
    Side,
    change,
    exit_code,
    gravest,
    judged,
    key_of,
    profiles_of,
    requirements_of,
    side_of,
)
from crashloop.comparison.values import StageChange, ValueChange
from crashloop.report.results import ProfileSummary, RequirementText, Results, RunResults
from crashloop.report.text import config_yaml, node_facts
from crashloop.verdict import VerdictMode

ABSENT = "absent"

Pair = tuple[str, str, str]
"""A subject, and its value in either run."""


class Circumstance(msgspec.Struct, frozen=True, kw_only=True):
    """One difference between both runs."""

    subject: str
    before: str
    after: str


def circumstances(before: JudgedRun, after: JudgedRun) -> tuple[Circumstance, ...]:
    """Possible explanations of a change, the likeliest first."""
    old, new = before.results, after.results
    return differing(
        (
            *of_versions(old, new, (key_of(before), key_of(after))),
            ("suite", old.suite, new.suite),
            ("scope", old.scope, new.scope),
            *_profiles(old, new),
            *of_host(old, new),
        )
    )


def differing(pairs: Iterable[Pair]) -> tuple[Circumstance, ...]:
    """The subjects that differ."""
    return tuple(Circumstance(subject=subject, before=old, after=new) for subject, old, new in pairs if old != new)


def of_versions(before: RunResults, after: RunResults, keys: tuple[RunKey, RunKey]) -> Iterator[Pair]:
    """What ran."""
    yield "provider", before.provider, after.provider
    yield "Kubernetes", before.kubernetes_version, after.kubernetes_version
    yield "kubelet", keys[0].kubelet, keys[1].kubelet
    yield "container runtime", _said(before, "container_runtime"), _said(after, "container_runtime")
    yield "crashloop", before.crashloop_version, after.crashloop_version


def _profiles(before: Results, after: Results) -> Iterator[Pair]:
    old, new = profiles_of(before), profiles_of(after)
    for name in [*old, *(each for each in new if each not in old)]:
        yield f"profile {name}", profile_in_words(old.get(name)), profile_in_words(new.get(name))


def profile_in_words(profile: ProfileSummary | None) -> str:
    """The settings of a profile, on one line."""
    if profile is None:
        return ABSENT
    config = "; ".join(line.strip() for line in config_yaml(profile.config).splitlines())
    version = f", kubelet {profile.kubernetes_version}" if profile.kubernetes_version else ""
    binary = f", kubelet from {profile.kubelet_binary}" if profile.kubelet_binary else ""
    curve = f" ({profile.curve})" if profile.curve else ""
    return f"{config}{curve}{version}{binary}"


def of_host(before: RunResults, after: RunResults) -> Iterator[Pair]:
    """The host and nodes of a run."""
    for fact in ("kernel", "machine", "cpus", "cgroup_version"):
        yield f"host {fact.replace('_', ' ')}", _host_fact(before, fact), _host_fact(after, fact)
    yield "operating system of the nodes", _said(before, "os_image"), _said(after, "os_image")


def _host_fact(run: RunResults, fact: str) -> str:
    host = run.environment.get("host")
    return str(host.get(fact, "unknown")) if isinstance(host, dict) else "unknown"


def _said(run: RunResults, fact: str) -> str:
    """The nodes' values, without repetition."""
    return " ".join(sorted({str(node[fact]) for node in node_facts(run.environment) if fact in node})) or "unknown"


COMPARISON_FORMAT = "crashloop.comparison/2"

NO_DIFFERENCE = (Change.SAME, Change.ALLOWED)


class VerdictChange(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict in both runs; None where a run did not judge it."""

    requirement: RequirementText
    """Or an SLO, with its promise; a check of the run itself has no sentence."""
    scenario: str = ""
    mode: VerdictMode = VerdictMode.GATE
    """gate if it gates in either run."""
    change: Change
    """The graver of the changes of outcome and value."""
    outcome: Change
    before: ScenarioOutcome | None
    after: ScenarioOutcome | None
    value: ValueChange | None = None
    """Of an SLO that both runs judged."""

    @property
    def gates(self) -> bool:
        return self.mode is VerdictMode.GATE


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `crashloop compare --json`."""

    format: str = COMPARISON_FORMAT
    before: Side
    after: Side
    exit_code: int
    counts: dict[Change, int]
    """Number of verdicts by change, with every kind of change."""
    circumstances: tuple[Circumstance, ...] = ()
    verdicts: tuple[VerdictChange, ...] = ()
    """Those that differ or have a value, gravest first, then in the order of the catalogue."""
    lateness: tuple[LatenessChange, ...] = ()
    """Conformance runs only."""
    stages: tuple[StageChange, ...] = ()
    """Stress runs only."""
    values_count: bool = False
    """Whether later restarts and worse values without a gate make the exit code 1."""

    @property
    def differences(self) -> int:
        """Verdicts and figures of stages that changed, without allowed differences."""
        return len(self.changed) + sum(each.is_change for each in self.figures)

    @property
    def changed(self) -> tuple[VerdictChange, ...]:
        """Verdicts with a difference."""
        return tuple(each for each in self.verdicts if each.change not in NO_DIFFERENCE)

    @property
    def allowed(self) -> tuple[VerdictChange, ...]:
        """Verdicts of one run only, for a stated reason, or only reported."""
        return tuple(each for each in self.verdicts if each.change is Change.ALLOWED)

    @property
    def figures(self) -> tuple[ValueChange, ...]:
        """The figures of all stages."""
        return tuple(figure for stage in self.stages for figure in stage.figures)

    @property
    def compared_lateness(self) -> tuple[LatenessChange, ...]:
        """Distributions with enough delays in both runs, changed ones first."""
        return tuple(sorted((each for each in self.lateness if each.is_compared), key=lambda each: not each.is_change))

    @property
    def counting(self) -> Iterator[Change]:
        """The changes that decide the exit code."""
        yield from (each.change for each in self.verdicts if each.gates)
        if self.values_count:
            yield from (Change.WORSE for each in self.lateness if each.is_longer)
            yield from (each.change for each in self.ungated_values if each.change is not None)

    @property
    def ungated_values(self) -> tuple[ValueChange, ...]:
        """Values of reported rows, and figures of stages."""
        reported = (each.value for each in self.verdicts if not each.gates and each.value is not None)
        return (*reported, *self.figures)


def compare(before: JudgedRun, after: JudgedRun, *, values_count: bool = False) -> Comparison:
    """Compare two judged conformance runs.

    `values_count`: a distribution of delays that became longer counts as worse; without it, it is only shown.
    """
    old, new = judged(before.results), judged(after.results)
    texts = requirements_of((before.results, after.results))
    return assembled(
        side_of(before),
        side_of(after),
        sorted(_changes(old, new, texts), key=lambda each: list(texts).index(each.requirement.id)),
        circumstances=circumstances(before, after),
        lateness=lateness_changes(before.results.curves, after.results.curves),
        values_count=values_count,
    )


def _changes(
    before: Mapping[Place, ScenarioOutcome],
    after: Mapping[Place, ScenarioOutcome],
    texts: Mapping[str, RequirementText],
) -> Iterator[VerdictChange]:
    """Everything that a run judged, unchanged verdicts included."""
    for place in dict.fromkeys((*before, *after)):
        was, now = before.get(place), after.get(place)
        became = change(was, now)
        yield VerdictChange(
            requirement=texts[place[0]], scenario=place[1], change=became, outcome=became, before=was, after=now
        )


def assembled(
    before: Side,
    after: Side,
    verdicts: Iterable[VerdictChange],
    *,
    circumstances: tuple[Circumstance, ...],
    lateness: tuple[LatenessChange, ...] = (),
    stages: tuple[StageChange, ...] = (),
    values_count: bool = False,
) -> Comparison:
    """The comparison of all verdicts of two runs, with its counts and its exit code."""
    every = tuple(verdicts)
    changes = [each.change for each in every]
    shown = (each for each in every if each.change is not Change.SAME or each.value is not None)
    comparison = Comparison(
        before=before,
        after=after,
        exit_code=0,
        counts={each: changes.count(each) for each in Change},
        circumstances=circumstances,
        verdicts=tuple(sorted(shown, key=lambda each: (each.change.rank, not each.gates))),
        lateness=lateness,
        stages=stages,
        values_count=values_count,
    )
    return msgspec.structs.replace(comparison, exit_code=exit_code(comparison.counting))


def decisive(comparison: Comparison) -> Change:
    """The gravest change that counts for the exit code; SAME for an allowed one."""
    found = gravest(comparison.counting)
    return Change.SAME if found is Change.ALLOWED else found
