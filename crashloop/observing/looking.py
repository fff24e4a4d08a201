"""A look at a cluster from its beginning to what is made of it."""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from crashloop import __version__
from crashloop.cluster.existing.connection import connect, require
from crashloop.cluster.existing.permissions import OBSERVE, OBSERVE_MANIFEST
from crashloop.cluster.existing.survey import PROXY_RISK
from crashloop.cluster.provider import Progress
from crashloop.errors import UsageError
from crashloop.inference.judging import NodeFinding, judge_node, unjudged
from crashloop.inference.loops import CrashLoop
from crashloop.inference.observation import Observation, observation
from crashloop.kube.client import Json, KubeApi
from crashloop.kube.kubelet import ConfigzRefused
from crashloop.observing.nodes import (
    EVERY_OTHER,
    NOT_KNOWN,
    Configured,
    is_modelled,
    kubelet_version,
    lost_counters,
    read_configuration,
    read_configurations,
    told_configuration,
)
from crashloop.observing.watching import LoopWatch
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion

TOO_OLD = "its release is older than what the model knows"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at."""

    kubeconfig: str
    context: str | None = None
    namespace: str | None = None
    for_s: float
    read_configz: bool = False
    expected: dict[str, KubeletProfile] = {}
    """Profiles by node; EVERY_OTHER for all that are not named."""


def look(request: Request, progress: Progress) -> Observation:
    """Look at a cluster for a while. Raises UsageError and PrerequisiteError for what stands in the way."""
    api, version = connect(request.kubeconfig, request.context)
    try:
        subject = f"kubeconfig {request.kubeconfig}: its user may not do what `crashloop observe` needs."
        require(api, OBSERVE, request.namespace, subject=subject, manifest=OBSERVE_MANIFEST)
        before = _by_name(api)
        _require_known(request.expected, before)
        if request.read_configz:
            _require_configz(api, before)
        watch = LoopWatch(api, request.namespace)
        started = datetime.now(UTC)
        with progress.step(f"watching the pods of {request.namespace or 'all namespaces'}"):
            watch.start()
            watch.wait(request.for_s)
        watch.stop()
        finished, loops = datetime.now(UTC), watch.by_node()
        findings = _findings(api, request, before, loops)
    finally:
        api.close()
    return observation(
        findings,
        (loop for of_node in loops.values() for loop in of_node),
        crashloop_version=__version__,
        started=started,
        finished=finished,
        kubernetes_version=str(KubernetesVersion.parse(version)),
        namespace=request.namespace,
        left_out=watch.left_out,
        gaps=watch.gaps,
    )


def _findings(
    api: KubeApi, request: Request, before: Mapping[str, Json], loops: dict[str, tuple[CrashLoop, ...]]
) -> list[NodeFinding]:
    """One for each node with crash loops, and for each that is expected to follow a curve and has none."""
    after = _by_name(api)
    expected = (name for name in request.expected if name not in loops and name != EVERY_OTHER)
    present = {name: node for name in (*loops, *expected) if (node := after.get(name) or before.get(name)) is not None}
    modelled = {name: node for name, node in present.items() if is_modelled(kubelet_version(node))}
    configured = _configured(api, request, modelled)
    judged = [
        judge_node(
            name,
            loops.get(name, ()),
            kubelet_version(node),
            configured=configured.get(name, NOT_KNOWN).curve,
            configured_by=configured.get(name, NOT_KNOWN).by,
            disturbed=lost_counters(before.get(name), after.get(name)),
        )
        for name, node in modelled.items()
    ]
    beyond = [
        unjudged(name, loops.get(name, ()), kubelet_version=str(kubelet_version(node)), note=TOO_OLD)
        for name, node in present.items()
        if name not in modelled
    ]
    return judged + beyond


def _configured(api: KubeApi, request: Request, nodes: Mapping[str, Json]) -> dict[str, Configured]:
    told = {name: told_configuration(name, kubelet_version(node), request.expected) for name, node in nodes.items()}
    known = {name: each for name, each in told.items() if each is not None}
    if not request.read_configz:
        return known
    return known | read_configurations(api, (node for name, node in nodes.items() if name not in known))


def _require_configz(api: KubeApi, nodes: Mapping[str, Json]) -> None:
    """Try one node before the time is spent. Raises UsageError with both ways and what each asks for."""
    for node in list(nodes.values())[:1]:
        try:
            read_configuration(api, node)
        except ConfigzRefused as error:
            raise UsageError(f"--read-configz: {error}\n{PROXY_RISK}") from error


def _by_name(api: KubeApi) -> dict[str, Json]:
    return {node["metadata"]["name"]: node for node in api.nodes()}


def _require_known(expected: Mapping[str, KubeletProfile], nodes: Mapping[str, Json]) -> None:
    for name in expected:
        if name not in nodes and name != EVERY_OTHER:
            raise UsageError(
                f"--expect {name}=...: the cluster has no node {name!r}; its nodes: {', '.join(sorted(nodes))}."
            )
