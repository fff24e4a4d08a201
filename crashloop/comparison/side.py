"""A judged run as a side of a comparison: its circumstances and outcomes, taken apart by kubelet; and how two verdicts differ."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from crashloop.report.results import ProfileSummary, RequirementText, Results, RunResults
from crashloop.report.standing import Standing
from crashloop.report.text import node_facts
from crashloop.verdict import ExitCode, Verdict


class Change(StrEnum):
    """From the first run to the second, gravest first."""

    WORSE = "worse"
    """A promise that was kept, or not judged, is broken now, or its judgement ended in an error."""
    UNDECIDED = "undecided"
    """One of the two runs lacks the evidence for a comparison."""
    BETTER = "better"
    ALLOWED = "allowed"
    """Only one run judged it; the other names a missing capability, does not have the scenario yet, or only reported it."""
    SAME = "same"

    @property
    def rank(self) -> int:
        """0 for the gravest."""
        return _GRAVEST_FIRST.index(self)


_GRAVEST_FIRST = tuple(Change)

_ACCUSES = frozenset({Standing.FAIL, Standing.ERROR})
_KEPT = frozenset({Standing.PASS, Standing.DEVIATION})


class ScenarioOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How one run judged a requirement on a scenario."""

    standing: Standing
    findings: tuple[str, ...] = ()
    deviation: str | None = None

    @property
    def states_what_it_lacks(self) -> bool:
        """SKIPPED, with the missing capability, gate or version named."""
        return self.standing is Standing.SKIPPED and bool(self.findings)


def change(before: ScenarioOutcome | None, after: ScenarioOutcome | None) -> Change:
    """The change of one requirement on one scenario; None where a run did not judge it.

    A new accusation is worse, whatever the first run said: a comparison may not hide it.
    """
    old, new = (None if each is None else each.standing for each in (before, after))
    if old is new:
        return Change.SAME
    if new in _ACCUSES:
        return Change.UNDECIDED if old is Standing.FAIL else Change.WORSE
    if old in _ACCUSES:
        return Change.BETTER if new in _KEPT else Change.UNDECIDED
    if Standing.REPORTED in (old, new):
        return Change.ALLOWED
    if old in _KEPT and new in _KEPT:
        return Change.WORSE if new is Standing.DEVIATION else Change.BETTER
    if Standing.INCONCLUSIVE in (old, new):
        return Change.UNDECIDED
    return Change.ALLOWED if _is_explained(before, after) else Change.UNDECIDED


def _is_explained(before: ScenarioOutcome | None, after: ScenarioOutcome | None) -> bool:
    """Whether the run without a verdict has a reason: it names a missing capability, or it is older than the scenario."""
    if before is None:
        return True
    if after is None:
        return before.standing is Standing.SKIPPED
    silent = before if before.standing is Standing.SKIPPED else after
    return silent.states_what_it_lacks


def gravest(changes: Iterable[Change]) -> Change:
    """The gravest of the changes; SAME for none."""
    return min(changes, key=_GRAVEST_FIRST.index, default=Change.SAME)


def exit_code(changes: Iterable[Change]) -> int:
    """1 if anything got worse, 3 if the worst is undecided, else 0."""
    return {Change.WORSE: ExitCode.FAIL, Change.UNDECIDED: ExitCode.INCONCLUSIVE}.get(gravest(changes), ExitCode.OK)


Place = tuple[str, str]
"""Requirement and scenario."""


class JudgedRun(NamedTuple):
    """A run with its results; `kubelet_binary` is the user's own, from the settings in run.json."""

    results: Results
    kubelet_binary: str | None = None


class RunKey(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """What was judged: runs of the same key differ only in day and host."""

    provider: str
    kubernetes_version: str
    kubelet: str
    """Version reported by the nodes, and the binary if it is the user's own; nodes of another release do not count."""

    def __str__(self) -> str:
        kubelet = "" if self.kubelet == f"v{self.kubernetes_version}" else f", kubelet {self.kubelet}"
        return f"{self.provider}, Kubernetes {self.kubernetes_version}{kubelet}"


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the compared runs."""

    run: str
    key: RunKey
    suite: str
    scope: str
    """Name of the load for a stress run."""
    started: datetime

    def __str__(self) -> str:
        of = "load" if self.suite == "stress" else "scope"
        return f"{self.run or 'unnamed run'} ({self.key}, {of} {self.scope})"


def side_of(run: JudgedRun) -> Side:
    """Identity and circumstances of the run."""
    results = run.results
    return Side(run=results.run, key=key_of(run), suite=results.suite, scope=results.scope, started=results.started)


def key_of(run: JudgedRun) -> RunKey:
    """The key of a run."""
    asked_for = [each.kubernetes_version for each in run.results.profiles]
    return run_key(run.results, asked_for, kubelet_binary=run.kubelet_binary)


def run_key(run: RunResults, asked_for: Iterable[str | None], *, kubelet_binary: str | None) -> RunKey:
    """The key of a run; `asked_for` are the versions that kubelet profiles set instead of the cluster's."""
    versions = " ".join(_kubelets(run.environment, asked_for)) or f"v{run.kubernetes_version}"
    return RunKey(
        provider=run.provider,
        kubernetes_version=run.kubernetes_version,
        kubelet=versions if kubelet_binary is None else f"{versions} from {kubelet_binary}",
    )


def _kubelets(environment: Mapping[str, Any], asked_for: Iterable[str | None]) -> list[str]:
    """Versions of the nodes, without those of nodes of another release."""
    own = {f"v{version}" for version in asked_for if version is not None}
    said = {text for node in node_facts(environment) if (text := str(node.get("kubelet", "")))}
    return sorted(said - own or said)


def judged(results: Results) -> dict[Place, ScenarioOutcome]:
    """The outcome of every requirement on every scenario; the worst if it was judged twice."""
    verdicts: dict[Place, list[Verdict]] = defaultdict(list)
    for verdict in results.verdicts:
        verdicts[verdict.requirement, verdict.scenario].append(verdict)
    return {place: _judged(min(each, key=lambda v: Standing.of(v).rank)) for place, each in verdicts.items()}


def _judged(verdict: Verdict) -> ScenarioOutcome:
    return ScenarioOutcome(standing=Standing.of(verdict), findings=verdict.findings, deviation=verdict.deviation)


def profiles_of(results: Results) -> dict[str, ProfileSummary]:
    """The profiles of a run by name."""
    return {each.name: each for each in results.profiles}


def requirements_of(runs: Iterable[Results]) -> dict[str, RequirementText]:
    """Every requirement of the runs by id, in the order of the first run that has it, with the text of the last run."""
    texts: dict[str, RequirementText] = {}
    for each in _texts(runs):
        if each.sentence or each.id not in texts:
            texts[each.id] = each
    return texts


def _texts(runs: Iterable[Results]) -> Iterator[RequirementText]:
    for results in runs:
        yield from results.requirements
