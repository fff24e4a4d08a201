"""Which nodes may get a pod with a RestartAllContainers rule, and which kubelets take it."""

import pytest

from crashloop.model.admission import kubelet_rejects, needs_restart_all, schedulable
from crashloop.model.variants import RESTART_ALL_OFF_REJECTS_POD
from crashloop.spec.policy import Action, RestartPolicy, restart_in
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.spec.scenario import Container, Pod
from crashloop.spec.version import KubernetesVersion

V1_34, V1_35, V1_36, V1_37 = (KubernetesVersion(1, minor) for minor in (34, 35, 36, 37))
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
    ("version", "gates", "there"),
    [(V1_34, {}, False), (V1_35, {}, False), (V1_36, {}, True), (V1_37, {}, True), (V1_37, OFF, False)],
    ids=["1.34", "1.35", "1.36", "1.37", "1.37-off"],
)
def test_the_scheduler_keeps_such_pods_to_nodes_that_declare_it(
    version: KubernetesVersion, gates: dict[str, bool], there: bool
) -> None:
    assert schedulable(RESETTING, gates, version) is there
    assert schedulable(RESTARTING, {RESTART_RULES_GATE: False}, version)


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
