"""Which schedulers place and which kubelets take a pod with a RestartAllContainers rule."""

import pytest

from crashloop.model.gates import default_gates
from crashloop.model.prediction import kubelet_rejects, needs_restart_all, scheduler_places
from crashloop.model.variants import RESTART_ALL_OFF_REJECTS_POD
from crashloop.spec.pod import Action, Container, Pod, RestartPolicy, restart_in
from crashloop.spec.profile import RESTART_ALL_GATE
from crashloop.spec.version import KubernetesVersion

V1_35, V1_36, V1_37 = (KubernetesVersion(1, minor) for minor in (35, 36, 37))
NEVER = RestartPolicy.NEVER
RESTARTING = Pod(containers=(Container(restart_policy=NEVER, rules=(restart_in(42),)),))
RESETTING = Pod(
    containers=(Container(restart_policy=NEVER, rules=(restart_in(88, action=Action.RESTART_ALL_CONTAINERS),)),)
)
OFF = {RESTART_ALL_GATE: False}
SHIPPED = frozenset({RESTART_ALL_OFF_REJECTS_POD})


def test_only_the_action_restart_all_containers_needs_a_node_feature() -> None:
    assert needs_restart_all(RESETTING)
    assert not needs_restart_all(RESTARTING)


@pytest.mark.parametrize(
    ("version", "gates", "rejected"),
    [(V1_35, {}, False), (V1_36, OFF, True), (V1_37, OFF, True), (V1_37, {}, False)],
    ids=["1.35", "1.36-off", "1.37-off", "1.37"],
)
def test_a_kubelet_without_it_rejects_the_pod_though_it_was_to_ignore_the_action(
    version: KubernetesVersion, gates: dict[str, bool], rejected: bool
) -> None:
    assert kubelet_rejects(RESETTING, gates, version, SHIPPED) is rejected
    assert not kubelet_rejects(RESETTING, gates, version)
    assert not kubelet_rejects(RESTARTING, gates, version, SHIPPED)


@pytest.mark.parametrize(
    ("scheduler", "version", "gates", "placed"),
    [
        (V1_37, V1_37, {}, True),
        (V1_37, V1_37, OFF, False),
        (V1_37, V1_35, {}, False),
        (V1_35, V1_35, {}, True),
    ],
    ids=["declared", "gate-off", "older-kubelet", "older-scheduler"],
)
def test_the_scheduler_places_it_where_the_node_declares_the_feature(
    scheduler: KubernetesVersion, version: KubernetesVersion, gates: dict[str, bool], placed: bool
) -> None:
    effective = default_gates(version) | gates
    assert scheduler_places(RESETTING, effective, version, scheduler) is placed
    assert scheduler_places(RESTARTING, effective, version, scheduler)
