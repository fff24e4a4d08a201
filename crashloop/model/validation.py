"""The API server's validation of restart policies and restart rules in a pod spec.

Theory of operation. With ContainerRestartRules off, the fields are dropped before validation, without a word; with it on
they are validated. All findings are reported at once, one cause per finding. There is no check on duplicate values or rules,
empty values, codes that no process can have, mixed actions, or a container policy that differs from the pod's.
Source: pkg/apis/core/validation/validation.go@v1.37.1 validateContainerRestartPolicy, validateInitContainerRestartPolicy;
pkg/api/pod/util.go@v1.37.1 dropContainerRestartRules; KEP-5307, Design Details.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from crashloop.model.gates import is_enabled
from crashloop.spec.pod import Action, Operator, RestartPolicy
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.spec.version import KubernetesVersion

MAX_RULES, MAX_VALUES = 20, 255
FIELDS = ("restartPolicy", "restartPolicyRules")
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


class CauseReason(StrEnum):
    """`details.causes[].reason` of a Status."""

    REQUIRED = "FieldValueRequired"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    INVALID = "FieldValueInvalid"
    TOO_MANY = "FieldValueTooMany"
    TOO_LONG = "FieldValueTooLong"


class FieldError(msgspec.Struct, frozen=True):
    """One finding of the API server. The text is shown, never judged."""

    path: str
    cause: CauseReason
    text: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """HTTP code of a create, its findings, and the spec as stored (None if it was not)."""

    code: int
    errors: tuple[FieldError, ...] = ()
    stored: dict[str, Any] | None = None


def answer(
    spec: Mapping[str, Any], *, gates: dict[str, bool], version: KubernetesVersion, path: str = "spec"
) -> Answer:
    """The answer to creating a pod with `spec`, in the API's own JSON form; only restart fields are looked at.

    `gates` are the API server's. `path` is where the spec stands (`spec.template.spec` in a workload).
    """
    if any(_undecodable(rule) for _, _, container in _containers(spec) for rule in _rules(container)):
        return Answer(code=400)
    enabled = is_enabled(RESTART_RULES_GATE, gates, version)
    stored = dict(spec) if enabled else _dropped(spec, version)
    restart_all = is_enabled(RESTART_ALL_GATE, gates, version)
    errors = tuple(
        error
        for field, index, container in _containers(stored)
        for error in _container_errors(field, container, f"{path}.{field}[{index}]", enabled, restart_all, version)
    )
    errors = (*_unsupported(stored.get("restartPolicy"), f"{path}.restartPolicy", RestartPolicy), *errors)
    return Answer(code=422, errors=errors) if errors else Answer(code=201, stored=stored)


def _containers(spec: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    for field in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(field) or ()):
            yield field, index, container


def _rules(container: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return container.get("restartPolicyRules") or ()


def _undecodable(rule: Mapping[str, Any]) -> bool:
    """Exit codes are int32: anything else fails before validation."""
    values = (rule.get("exitCodes") or {}).get("values") or ()
    return any(type(value) is not int or not -(2**31) <= value < 2**31 for value in values)


def _dropped(spec: Mapping[str, Any], version: KubernetesVersion) -> dict[str, Any]:
    """The spec without the fields, except the `Always` that makes a sidecar. 1.33 knows no rules, but the policy."""
    known = FIELDS[:1] if version.release < (1, 34) else ()
    stored = dict(spec)
    for field in CONTAINER_LISTS:
        if field in spec:
            stored[field] = [_without_fields(field, each, known) for each in spec[field]]
    return stored


def _without_fields(field: str, container: Mapping[str, Any], kept: Sequence[str]) -> dict[str, Any]:
    sidecar = field == "initContainers" and container.get("restartPolicy") == RestartPolicy.ALWAYS
    kept = FIELDS[:1] if sidecar else kept
    return {key: value for key, value in container.items() if key not in FIELDS or key in kept}


def _container_errors(
    field: str, container: Mapping[str, Any], path: str, enabled: bool, restart_all: bool, version: KubernetesVersion
) -> Iterator[FieldError]:
    policy, rules = container.get("restartPolicy"), _rules(container)
    if field == "ephemeralContainers":
        for each in FIELDS:
            if container.get(each):
                yield FieldError(
                    f"{path}.{each}", CauseReason.FORBIDDEN, "Forbidden: cannot be set for an Ephemeral Container"
                )
    elif not enabled:
        yield from _errors_of_1_33(field, policy, path)
    elif policy is None and rules:
        # 1.34 took rules without a policy on an init container, and ignored them.
        if field == "containers" or version.release > (1, 34):
            text = "Required value: must specify restartPolicy when restart rules are used"
            yield FieldError(f"{path}.restartPolicy", CauseReason.REQUIRED, text)
        if field == "containers":
            yield from _rules_errors(rules, f"{path}.restartPolicyRules", restart_all, version)
    elif field == "initContainers" and policy == RestartPolicy.ALWAYS and rules and not restart_all:
        text = "Forbidden: restartPolicyRules are not allowed for init containers with restart policy Always"
        yield FieldError(f"{path}.restartPolicyRules", CauseReason.FORBIDDEN, text)
    else:
        yield from _unsupported(policy, f"{path}.restartPolicy", RestartPolicy)
        yield from _rules_errors(rules, f"{path}.restartPolicyRules", restart_all, version)


def _errors_of_1_33(field: str, policy: Any, path: str) -> Iterator[FieldError]:
    if policy is not None and field == "containers":
        yield FieldError(
            f"{path}.restartPolicy", CauseReason.FORBIDDEN, "Forbidden: may not be set for non-init containers"
        )
    if field == "initContainers":
        yield from _unsupported(policy, f"{path}.restartPolicy", (RestartPolicy.ALWAYS,))


def _rules_errors(
    rules: Sequence[Mapping[str, Any]], path: str, restart_all: bool, version: KubernetesVersion
) -> Iterator[FieldError]:
    yield from _too_many(len(rules), MAX_RULES, path, version)
    allowed = tuple(Action) if restart_all else (Action.RESTART,)
    # 1.35 takes RestartAllContainers where it is on, but does not say so.
    listed = (Action.RESTART,) if version.release < (1, 36) else allowed
    for index, rule in enumerate(rules):
        here = f"{path}[{index}]"
        yield from _unsupported(rule.get("action", ""), f"{here}.action", allowed, listed)
        codes = rule.get("exitCodes")
        if codes is None:
            yield FieldError(f"{here}.exitCodes", CauseReason.REQUIRED, "Required value: must be specified")
            continue
        yield from _unsupported(codes.get("operator", ""), f"{here}.exitCodes.operator", Operator)
        yield from _too_many(len(codes.get("values") or ()), MAX_VALUES, f"{here}.exitCodes.values", version)


def _unsupported(
    value: Any, path: str, supported: Iterable[str], listed: Iterable[str] | None = None
) -> Iterator[FieldError]:
    values = sorted(map(str, supported))
    if value is not None and value not in values:
        said = ", ".join(f'"{each}"' for each in (values if listed is None else map(str, listed)))
        yield FieldError(path, CauseReason.NOT_SUPPORTED, f'Unsupported value: "{value}": supported values: {said}')


def _too_many(number: int, most: int, path: str, version: KubernetesVersion) -> Iterator[FieldError]:
    if number <= most:
        return
    if version.release < (1, 36):
        yield FieldError(path, CauseReason.TOO_LONG, f"Too long: may not be more than {most} bytes")
    else:
        yield FieldError(path, CauseReason.TOO_MANY, f"Too many: {number}: must have at most {most} items")
