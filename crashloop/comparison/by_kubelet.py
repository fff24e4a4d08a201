"""Runs whose nodes have kubelets of several versions, taken apart: for each version a run of its own. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from crashloop.checks.everywhere import EVERY_POD
from crashloop.comparison.side import JudgedRun
from crashloop.report.results import Results
from crashloop.spec.profile import AT
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Verdict


def by_kubelet(runs: Iterable[JudgedRun]) -> Iterator[JudgedRun]:
    """Each run once for every version of a kubelet, with the verdicts on it; provider and API server no longer count.

    A verdict on every pod of a run with kubelets of several versions is about none of them, and left out.
    """
    for run in runs:
        by_version: dict[KubernetesVersion, list[Verdict]] = defaultdict(list)
        several = any(each.kubernetes_version is not None for each in run.results.profiles)
        for verdict in run.results.verdicts:
            if not (several and verdict.scenario == EVERY_POD):
                by_version[_version(verdict, run.results)].append(verdict)
        for version, verdicts in sorted(by_version.items()):
            of_version = msgspec.structs.replace(
                run.results, provider="", kubernetes_version=str(version), environment={}, verdicts=tuple(verdicts)
            )
            yield run._replace(results=of_version)


def _version(verdict: Verdict, results: Results) -> KubernetesVersion:
    """Version of the judged kubelet; of those that are compared, the newest. What is no kubelet counts as the cluster's."""
    planned = {each.name: each.kubernetes_version for each in results.profiles}

    def of(profile: str) -> str:
        _, at, version = profile.rpartition(AT)  # what was skipped has no profile in the plan
        return version if at else planned.get(profile) or results.kubernetes_version

    return max(KubernetesVersion.parse(of(each)) for each in verdict.profile.split(", "))
