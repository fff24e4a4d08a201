"""What the API server makes of restart policies and rules, per release and gate."""

from typing import Any

import pytest

from crashloop.model.validation import Answer, Cause, FieldError, answer
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.spec.version import KubernetesVersion

V1_33, V1_34, V1_35, V1_36, V1_37 = (KubernetesVersion(1, minor) for minor in (33, 34, 35, 36, 37))
ON = {RESTART_RULES_GATE: True}
RULES_OFF = {RESTART_RULES_GATE: False}
RESTART_ALL_OFF = {RESTART_ALL_GATE: False}


def rule(*values: Any, action: str | None = "Restart", operator: str = "In") -> dict[str, Any]:
    codes = {"operator": operator, "values": list(values)}
    return {"exitCodes": codes} if action is None else {"action": action, "exitCodes": codes}


def answered(
    container: dict[str, Any],
    *,
    field: str = "containers",
    version: KubernetesVersion = V1_37,
    gates: dict[str, bool] | None = None,
) -> Answer:
    return answer({field: [{"name": "c", **container}]}, gates=gates or {}, version=version)


def errors_of(container: dict[str, Any], **options: Any) -> list[FieldError]:
    found = answered(container, **options)
    assert (found.code, found.stored) == (422, None)
    return list(found.errors)


NEVER_WITH = {"restartPolicy": "Never"}
P = "spec.containers[0]"
REJECTED: list[tuple[str, dict[str, Any], str, Cause, str]] = [
    (
        "rules-without-policy",
        {"restartPolicyRules": [rule(42)]},
        f"{P}.restartPolicy",
        Cause.REQUIRED,
        "Required value: must specify restartPolicy when restart rules are used",
    ),
    (
        "unknown-policy",
        {"restartPolicy": "Foo"},
        f"{P}.restartPolicy",
        Cause.NOT_SUPPORTED,
        'Unsupported value: "Foo": supported values: "Always", "Never", "OnFailure"',
    ),
    (
        "21-rules",
        {**NEVER_WITH, "restartPolicyRules": [rule(42)] * 21},
        f"{P}.restartPolicyRules",
        Cause.TOO_MANY,
        "Too many: 21: must have at most 20 items",
    ),
    (
        "256-values",
        {**NEVER_WITH, "restartPolicyRules": [rule(1), rule(*range(256))]},
        f"{P}.restartPolicyRules[1].exitCodes.values",
        Cause.TOO_MANY,
        "Too many: 256: must have at most 255 items",
    ),
    (
        "no-exit-codes",
        {**NEVER_WITH, "restartPolicyRules": [{"action": "Restart"}]},
        f"{P}.restartPolicyRules[0].exitCodes",
        Cause.REQUIRED,
        "Required value: must be specified",
    ),
    (
        "no-operator",
        {**NEVER_WITH, "restartPolicyRules": [rule(42, operator="")]},
        f"{P}.restartPolicyRules[0].exitCodes.operator",
        Cause.NOT_SUPPORTED,
        'Unsupported value: "": supported values: "In", "NotIn"',
    ),
    (
        "no-action",
        {**NEVER_WITH, "restartPolicyRules": [rule(42, action=None)]},
        f"{P}.restartPolicyRules[0].action",
        Cause.NOT_SUPPORTED,
        'Unsupported value: "": supported values: "Restart", "RestartAllContainers"',
    ),
    (
        "unknown-action",
        {**NEVER_WITH, "restartPolicyRules": [rule(42, action="RestartPod")]},
        f"{P}.restartPolicyRules[0].action",
        Cause.NOT_SUPPORTED,
        'Unsupported value: "RestartPod": supported values: "Restart", "RestartAllContainers"',
    ),
]


@pytest.mark.parametrize(
    ("container", "path", "cause", "text"), [row[1:] for row in REJECTED], ids=[row[0] for row in REJECTED]
)
def test_what_is_wrong_is_rejected_with_its_path(container: dict[str, Any], path: str, cause: Cause, text: str) -> None:
    assert errors_of(container) == [FieldError(path, cause, text)]


ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("20-rules", {**NEVER_WITH, "restartPolicyRules": [rule(42)] * 20}),
    ("255-values", {**NEVER_WITH, "restartPolicyRules": [rule(*range(255))]}),
    ("repeated-values", {**NEVER_WITH, "restartPolicyRules": [rule(42, 42)]}),
    ("no-values", {**NEVER_WITH, "restartPolicyRules": [rule(), rule(operator="NotIn")]}),
    ("impossible-codes", {**NEVER_WITH, "restartPolicyRules": [rule(-1, 0, 256)]}),
    ("mixed-actions", {**NEVER_WITH, "restartPolicyRules": [rule(1), rule(2, action="RestartAllContainers")]}),
    ("no-rules", {"restartPolicy": "OnFailure"}),
]


@pytest.mark.parametrize("container", [row[1] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED])
@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_what_is_odd_but_right_is_stored_unchanged(container: dict[str, Any], field: str) -> None:
    found = answered(container, field=field)
    assert (found.code, found.errors) == (201, ())
    assert found.stored == {field: [{"name": "c", **container}]}


@pytest.mark.parametrize(
    "values", [["42"], ["4*"], [4.2], [True], [2**31]], ids=["text", "wildcard", "real", "bool", "huge"]
)
def test_values_that_are_no_integers_do_not_decode(values: list[Any]) -> None:
    assert answered({**NEVER_WITH, "restartPolicyRules": [rule(*values)]}) == Answer(code=400)


def test_all_findings_are_reported_at_once() -> None:
    wrong = {"restartPolicy": "Foo", "restartPolicyRules": [{}]}
    assert [(error.path, error.cause) for error in errors_of(wrong)] == [
        (f"{P}.restartPolicy", Cause.NOT_SUPPORTED),
        (f"{P}.restartPolicyRules[0].action", Cause.NOT_SUPPORTED),
        (f"{P}.restartPolicyRules[0].exitCodes", Cause.REQUIRED),
    ]


def test_a_workload_names_the_path_of_its_template() -> None:
    spec = {"containers": [{"name": "c", "restartPolicy": "Rapid"}], "restartPolicy": "FastOnSuccess"}
    found = answer(spec, gates={}, version=V1_37, path="spec.template.spec")
    assert [error.path for error in found.errors] == [
        "spec.template.spec.restartPolicy",
        "spec.template.spec.containers[0].restartPolicy",
    ]


def test_limits_were_counted_in_bytes_before_1_36() -> None:
    many = {**NEVER_WITH, "restartPolicyRules": [rule(42)] * 21}
    expected = FieldError(f"{P}.restartPolicyRules", Cause.TOO_LONG, "Too long: may not be more than 20 bytes")
    assert errors_of(many, version=V1_35) == [expected]
    assert errors_of(many, version=V1_34, gates=ON) == [expected]


@pytest.mark.parametrize(
    ("version", "gates"), [(V1_34, ON), (V1_35, {}), (V1_36, RESTART_ALL_OFF)], ids=["1.34", "1.35", "1.36-off"]
)
def test_the_action_restart_all_containers_needs_its_gate(version: KubernetesVersion, gates: dict[str, bool]) -> None:
    container = {**NEVER_WITH, "restartPolicyRules": [rule(42, action="RestartAllContainers")]}
    (error,) = errors_of(container, version=version, gates=gates)
    assert error.text == 'Unsupported value: "RestartAllContainers": supported values: "Restart"'


def test_1_35_does_not_list_the_action_that_it_takes() -> None:
    gates = {RESTART_ALL_GATE: True}
    (error,) = errors_of({**NEVER_WITH, "restartPolicyRules": [rule(1, action="Foo")]}, version=V1_35, gates=gates)
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
    assert (error.path, error.cause) == ("spec.initContainers[0].restartPolicy", Cause.REQUIRED)


@pytest.mark.parametrize("field_name", ["restartPolicy", "restartPolicyRules"])
def test_ephemeral_containers_take_neither_field(field_name: str) -> None:
    value = {"restartPolicy": "Never", "restartPolicyRules": [rule(42)]}[field_name]
    (error,) = errors_of({field_name: value}, field="ephemeralContainers")
    assert error == FieldError(
        f"spec.ephemeralContainers[0].{field_name}",
        Cause.FORBIDDEN,
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
