"""Runs whose nodes have kubelets of several versions, taken apart: for each version a run of its own. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from crashloop.checks.everywhere import EVERY_POD
from crashloop.comparison.side import JudgedRun
from crashloop.spec.profile import version_of
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Verdict


def by_kubelet(runs: Iterable[JudgedRun]) -> Iterator[JudgedRun]:
    """Each run once for every version of a kubelet, with the verdicts on it; provider and API server no longer count.

    A verdict on every pod of a run with kubelets of several versions is about none of them, and left out.
    """
    for run in runs:
        by_version: dict[KubernetesVersion, list[Verdict]] = defaultdict(list)
        several = any(each.kubernetes_version is not None for each in run.results.profiles)
        planned = {
            each.name: each.kubernetes_version or run.results.kubernetes_version for each in run.results.profiles
        }
        for verdict in run.results.verdicts:
            if not (several and verdict.scenario == EVERY_POD):
                by_version[_version(verdict, planned, run.results.kubernetes_version)].append(verdict)
        for version, verdicts in sorted(by_version.items()):
            of_version = msgspec.structs.replace(
                run.results, provider="", kubernetes_version=str(version), environment={}, verdicts=tuple(verdicts)
            )
            yield run._replace(results=of_version)


def _version(verdict: Verdict, planned: Mapping[str, str], cluster: str) -> KubernetesVersion:
    """Version of the judged kubelet; of those that are compared, the newest. What is no kubelet counts as the cluster's."""
    # What was skipped has no profile in the plan.
    versions = (version_of(each) or planned.get(each, cluster) for each in verdict.profile.split(", "))
    return max(map(KubernetesVersion.parse, versions))
