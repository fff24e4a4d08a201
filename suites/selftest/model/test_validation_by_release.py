"""How releases and gates differ in what the API server makes of restart rules.

Which schedulers place and which kubelets take a pod with a RestartAllContainers rule.
"""

import pytest

from crashloop.model.api_server import Answer, CauseReason, FieldError
from crashloop.model.gates import default_gates
from crashloop.model.prediction import kubelet_rejects, needs_restart_all, scheduler_places
from crashloop.model.variants import RESTART_ALL_OFF_REJECTS_POD
from crashloop.spec.pod import Action, Container, Pod, RestartPolicy, restart_in
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.spec.version import KubernetesVersion
from suites.selftest.kit.model_inputs import V1_33, V1_34, V1_35, V1_36, V1_37, answered, errors_of, rule

ON = {RESTART_RULES_GATE: True}
RULES_OFF = {RESTART_RULES_GATE: False}
RESTART_ALL_OFF = {RESTART_ALL_GATE: False}


def test_limits_were_counted_in_bytes_before_1_36() -> None:
    many = {"restartPolicy": "Never", "restartPolicyRules": [rule(42)] * 21}
    expected = FieldError(
        "spec.containers[0].restartPolicyRules", CauseReason.TOO_LONG, "Too long: may not be more than 20 bytes"
    )
    assert errors_of(many, version=V1_35) == [expected]
    assert errors_of(many, version=V1_34, gates=ON) == [expected]


@pytest.mark.parametrize(
    ("version", "gates"), [(V1_34, ON), (V1_35, {}), (V1_36, RESTART_ALL_OFF)], ids=["1.34", "1.35", "1.36-off"]
)
def test_the_action_restart_all_containers_needs_its_gate(version: KubernetesVersion, gates: dict[str, bool]) -> None:
    container = {"restartPolicy": "Never", "restartPolicyRules": [rule(42, action="RestartAllContainers")]}
    (error,) = errors_of(container, version=version, gates=gates)
    assert error.text == 'Unsupported value: "RestartAllContainers": supported values: "Restart"'


def test_1_35_does_not_list_the_action_that_it_takes() -> None:
    gates = {RESTART_ALL_GATE: True}
    (error,) = errors_of(
        {"restartPolicy": "Never", "restartPolicyRules": [rule(1, action="Foo")]}, version=V1_35, gates=gates
    )
    assert error.text == 'Unsupported value: "Foo": supported values: "Restart"'


@pytest.mark.parametrize(
    ("version", "gates", "code"),
    [(V1_34, ON, 422), (V1_35, {}, 422), (V1_36, {}, 201), (V1_37, {}, 201), (V1_37, RESTART_ALL_OFF, 422)],
    ids=["1.34", "1.35", "1.36", "1.37", "1.37-off"],
)
def test_rules_on_a_sidecar_need_restart_all_containers(
    version: KubernetesVersion, gates: dict[str, bool], code: int
) -> None:
    sidecar = {"restartPolicy": "Always", "restartPolicyRules": [rule(42)]}
    found = answered(sidecar, field="initContainers", version=version, gates=gates)
    assert found.code == code
    assert [error.path for error in found.errors] == ["spec.initContainers[0].restartPolicyRules"] * (code == 422)


def test_rules_without_a_policy_on_an_init_container_are_an_error_from_1_35_on() -> None:
    container = {"restartPolicyRules": [rule(42)]}
    assert answered(container, field="initContainers", version=V1_34, gates=ON).code == 201
    (error,) = errors_of(container, field="initContainers", version=V1_35)
    assert (error.path, error.cause) == ("spec.initContainers[0].restartPolicy", CauseReason.REQUIRED)


@pytest.mark.parametrize("field_name", ["restartPolicy", "restartPolicyRules"])
def test_ephemeral_containers_take_neither_field(field_name: str) -> None:
    value = {"restartPolicy": "Never", "restartPolicyRules": [rule(42)]}[field_name]
    (error,) = errors_of({field_name: value}, field="ephemeralContainers")
    assert error == FieldError(
        f"spec.ephemeralContainers[0].{field_name}",
        CauseReason.FORBIDDEN,
        "Forbidden: cannot be set for an Ephemeral Container",
    )


@pytest.mark.parametrize("version", [V1_34, V1_35, V1_37], ids=str)
@pytest.mark.parametrize("field", ["containers", "initContainers", "ephemeralContainers"])
def test_without_the_gate_the_fields_are_dropped_without_a_word(version: KubernetesVersion, field: str) -> None:
    container = {"restartPolicy": "Never", "restartPolicyRules": [rule(42)] * 21}
    found = answered(container, field=field, version=version, gates=RULES_OFF)
    assert found == Answer(code=201, stored={field: [{"name": "c"}]})


def test_without_the_gate_a_sidecar_stays_one() -> None:
    sidecar = {"restartPolicy": "Always", "restartPolicyRules": [rule(42)]}
    found = answered(sidecar, field="initContainers", gates=RULES_OFF)
    assert found.stored == {"initContainers": [{"name": "c", "restartPolicy": "Always"}]}


def test_1_33_rejects_what_later_releases_drop() -> None:
    (error,) = errors_of({"restartPolicy": "Never"}, version=V1_33)
    assert error.text == "Forbidden: may not be set for non-init containers"
    (error,) = errors_of({"restartPolicy": "Never"}, field="initContainers", version=V1_33)
    assert error.text == 'Unsupported value: "Never": supported values: "Always"'
    assert answered({"restartPolicy": "Always"}, field="initContainers", version=V1_33).code == 201


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
