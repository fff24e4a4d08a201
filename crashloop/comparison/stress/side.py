"""A judged stress run, for comparisons: its circumstances, the load on every node, and the outcome of every promise."""

from collections.abc import Sequence
from typing import NamedTuple

from crashloop.comparison.change import ScenarioOutcome
from crashloop.comparison.side import RunKey, Side, run_key
from crashloop.report.results import ProfileSummary
from crashloop.report.standing import Standing
from crashloop.report.stress.results import SUITE, StressResults
from crashloop.slo.measurements import SloVerdict
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.profile import StressProfile


class JudgedStressRun(NamedTuple):
    """A stress run with its results and, from its plan, its load."""

    results: StressResults
    profile: StressProfile
    """As resolved for its host."""
    kubelets: tuple[KubeletProfile, ...]
    """Of each node of the profile, in the same order."""
    cores: int
    """CPUs of the host, which all nodes share."""

    @property
    def key(self) -> RunKey:
        """The system under stress. A node whose profile sets another release does not count, as in conformance runs."""
        binaries = sorted({each.kubelet_binary for each in self.kubelets if each.kubelet_binary})
        versions = [each.kubernetes_version for each in self.kubelets]
        return run_key(self.results, versions, kubelet_binary=" ".join(binaries) or None)


def stress_side(run: JudgedStressRun) -> Side:
    """Identity and circumstances of the run."""
    results = run.results
    return Side(run=results.run, key=run.key, suite=SUITE, scope=results.profile, started=results.started)


def verdicts_of(run: JudgedStressRun) -> dict[str, SloVerdict]:
    """The verdicts by the id of their row."""
    return {each.slo: each for each in run.results.verdicts}


def judged_slo(verdict: SloVerdict) -> ScenarioOutcome:
    """A verdict in the common form of comparisons; its sentence is its finding."""
    return ScenarioOutcome(standing=Standing(verdict.outcome.value), findings=(verdict.sentence,))


def kubelet_profiles(run: JudgedStressRun) -> dict[str, ProfileSummary]:
    """The kubelet profile of each node, by the node's name in the load profile."""
    curves = {node.profile: node.curve for node in run.results.nodes}
    return {
        node.name: ProfileSummary.of(kubelet, curves.get(kubelet.name, ""))
        for node, kubelet in zip(run.profile.nodes, run.kubelets, strict=True)
    }


def is_same_load(before: JudgedStressRun, after: JudgedStressRun) -> bool:
    """Whether both profiles have the same load, for the same time and in the same order; the kubelets may differ."""
    old, new = (_load(each.profile) for each in (before, after))
    return old == new


def _load(profile: StressProfile) -> Sequence[object]:
    return profile.loads, tuple(profile.each_stage()), profile.disturbances, profile.max_pods, profile.workers
