"""`crashloop observe` from connection to verdict."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from crashloop import __version__
from crashloop.cluster.existing.survey import OBSERVE, OBSERVE_MANIFEST, PROXY_RISK, connect, require_permitted
from crashloop.cluster.provider import Progress
from crashloop.errors import UsageError
from crashloop.inference.judging import NodeFinding, Observation, Unheard, observation
from crashloop.inference.loops import CrashLoop
from crashloop.kube.answers import KubeError
from crashloop.kube.client import KubeApi
from crashloop.kube.kubelet import ConfigzReader, ConfigzRefused
from crashloop.kube.objects import is_ready, kubelet_version
from crashloop.observe.nodes import (
    EVERY_OTHER,
    Configured,
    findings_of,
    is_modelled,
    nodes_by_name,
    read_configuration,
    read_configurations,
    stated_configuration,
)
from crashloop.observe.watch import LoopWatch
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion
from crashloop.yaml_text import Json

TRIED = 3
"""Kubelets to try before reporting that no configuration can be read."""

log = logging.getLogger(__name__)


class ObservationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to observe."""

    kubeconfig: str
    context: str | None = None
    namespace: str | None = None
    for_s: float
    read_configz: bool = False
    expected: dict[str, KubeletProfile] = {}
    """Profiles by node; EVERY_OTHER for all nodes that are not named."""


def look(request: ObservationRequest, progress: Progress) -> Observation:
    """Observe a cluster for a while. Raises UsageError and PrerequisiteError for missing prerequisites.

    A connection that is lost later does not invalidate earlier observations.
    """
    api, version = connect(request.kubeconfig, request.context)
    try:
        subject = f"kubeconfig {request.kubeconfig}: its user lacks permissions for `crashloop observe`."
        remedy = f"Apply {OBSERVE_MANIFEST} with sufficient permissions."
        require_permitted(api, OBSERVE, request.namespace, subject=subject, remedy=remedy)
        before = nodes_by_name(api)
        _require_sense(request.expected, before)
        kubelets = ConfigzReader(api) if request.read_configz else None
        if kubelets is not None:
            _require_configz(kubelets, before)
        watch = LoopWatch(api, request.namespace)
        started = datetime.now(UTC)
        with progress.step(f"watching the pods of {request.namespace or 'all namespaces'}"):
            watch.start()
            watch.wait(request.for_s)
        broken = watch.broken_since()
        watch.stop()
        finished, loops = datetime.now(UTC), watch.by_node()
        after = _seen_again(api)
        findings = _findings(request, before, after, loops, kubelets if after is not None else None)
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
        restarting=watch.restarting,
        waiting=watch.waiting,
        gaps=watch.gaps,
        unheard=None if broken is None else Unheard(since=datetime.fromtimestamp(broken[0] / 1e9, UTC), why=broken[1]),
    )


def _seen_again(api: KubeApi) -> dict[str, Json] | None:
    """The nodes at the end; None if they cannot be read any more."""
    try:
        return nodes_by_name(api)
    except KubeError as error:
        log.warning("%s", error)
        return None


def _findings(
    request: ObservationRequest,
    before: Mapping[str, Json],
    after: Mapping[str, Json] | None,
    loops: dict[str, tuple[CrashLoop, ...]],
    kubelets: ConfigzReader | None,
) -> list[NodeFinding]:
    """One finding per node with crash loops, and per node with an expected curve and no crash loop.

    `after` is None if the nodes could not be read at the end, `kubelets` without --read-configz.
    """
    known = {**before, **(after or {})}
    expected = (name for name in request.expected if name not in loops and name != EVERY_OTHER)
    present = {name: known[name] for name in (*loops, *expected) if name in known}
    modelled = {name: node for name, node in present.items() if is_modelled(kubelet_version(node))}
    configured = _configured(request, modelled, kubelets)
    return findings_of(present, loops, configured, before=before, after=after)


def _configured(
    request: ObservationRequest, nodes: Mapping[str, Json], kubelets: ConfigzReader | None
) -> dict[str, Configured]:
    stated = {name: stated_configuration(name, kubelet_version(node), request.expected) for name, node in nodes.items()}
    known = {name: each for name, each in stated.items() if each is not None}
    if kubelets is None:
        return known
    return known | read_configurations(kubelets, (node for name, node in nodes.items() if name not in known))


def _require_configz(kubelets: ConfigzReader, nodes: Mapping[str, Json]) -> None:
    """Try a few nodes before the observation. Raises UsageError, with both ways and their permissions, if no kubelet answers."""
    refused = None
    for node in sorted(nodes.values(), key=lambda node: not is_ready(node))[:TRIED]:
        try:
            read_configuration(kubelets, node)
        except ConfigzRefused as error:
            refused = refused or error
        else:
            return
    if refused is not None:
        raise UsageError(f"--read-configz: {refused}\n{PROXY_RISK}") from refused


def _require_sense(expected: Mapping[str, KubeletProfile], nodes: Mapping[str, Json]) -> None:
    """Raise UsageError for an expectation of an unknown node, or one that its kubelet would not start with."""
    for name in expected:
        if name not in nodes and name != EVERY_OTHER:
            raise UsageError(
                f"--expect {name}=...: the cluster has no node {name!r}; its nodes: {', '.join(sorted(nodes))}."
            )
    for name, node in nodes.items():
        version = kubelet_version(node)
        stated = stated_configuration(name, version, expected) if is_modelled(version) else None
        if stated is not None and stated.curve is None:
            profile = expected.get(name) or expected[EVERY_OTHER]
            raise UsageError(f"--expect {name}={profile.name}: kubelet v{version} does not start with that profile.")
