"""What the API server makes of restart policies and rules, per release and gate."""

from typing import Any

import pytest

from crashloop.model.api_server import Answer, CauseReason, FieldError, answer_to_create
from suites.selftest.kit.model_inputs import V1_37, answered, errors_of, rule

NEVER_WITH = {"restartPolicy": "Never"}
P = "spec.containers[0]"
REJECTED: list[tuple[str, dict[str, Any], str, CauseReason, str]] = [
    (
        "rules-without-policy",
        {"restartPolicyRules": [rule(42)]},
        f"{P}.restartPolicy",
        CauseReason.REQUIRED,
        "Required value: must specify restartPolicy when restart rules are used",
    ),
    (
        "unknown-policy",
        {"restartPolicy": "Foo"},
        f"{P}.restartPolicy",
        CauseReason.NOT_SUPPORTED,
        'Unsupported value: "Foo": supported values: "Always", "Never", "OnFailure"',
    ),
    (
        "21-rules",
        {**NEVER_WITH, "restartPolicyRules": [rule(42)] * 21},
        f"{P}.restartPolicyRules",
        CauseReason.TOO_MANY,
        "Too many: 21: must have at most 20 items",
    ),
    (
        "256-values",
        {**NEVER_WITH, "restartPolicyRules": [rule(1), rule(*range(256))]},
        f"{P}.restartPolicyRules[1].exitCodes.values",
        CauseReason.TOO_MANY,
        "Too many: 256: must have at most 255 items",
    ),
    (
        "no-exit-codes",
        {**NEVER_WITH, "restartPolicyRules": [{"action": "Restart"}]},
        f"{P}.restartPolicyRules[0].exitCodes",
        CauseReason.REQUIRED,
        "Required value: must be specified",
    ),
    (
        "no-operator",
        {**NEVER_WITH, "restartPolicyRules": [rule(42, operator="")]},
        f"{P}.restartPolicyRules[0].exitCodes.operator",
        CauseReason.NOT_SUPPORTED,
        'Unsupported value: "": supported values: "In", "NotIn"',
    ),
    (
        "no-action",
        {**NEVER_WITH, "restartPolicyRules": [rule(42, action=None)]},
        f"{P}.restartPolicyRules[0].action",
        CauseReason.NOT_SUPPORTED,
        'Unsupported value: "": supported values: "Restart", "RestartAllContainers"',
    ),
    (
        "unknown-action",
        {**NEVER_WITH, "restartPolicyRules": [rule(42, action="RestartPod")]},
        f"{P}.restartPolicyRules[0].action",
        CauseReason.NOT_SUPPORTED,
        'Unsupported value: "RestartPod": supported values: "Restart", "RestartAllContainers"',
    ),
]


@pytest.mark.parametrize(
    ("container", "path", "cause", "text"), [row[1:] for row in REJECTED], ids=[row[0] for row in REJECTED]
)
def test_what_is_wrong_is_rejected_with_its_path(
    container: dict[str, Any], path: str, cause: CauseReason, text: str
) -> None:
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
        (f"{P}.restartPolicy", CauseReason.NOT_SUPPORTED),
        (f"{P}.restartPolicyRules[0].action", CauseReason.NOT_SUPPORTED),
        (f"{P}.restartPolicyRules[0].exitCodes", CauseReason.REQUIRED),
    ]


def test_a_workload_names_the_path_of_its_template() -> None:
    spec = {"containers": [{"name": "c", "restartPolicy": "Rapid"}], "restartPolicy": "FastOnSuccess"}
    found = answer_to_create(spec, gates={}, version=V1_37, path="spec.template.spec")
    assert [error.path for error in found.errors] == [
        "spec.template.spec.restartPolicy",
        "spec.template.spec.containers[0].restartPolicy",
    ]
