"""What the API server answers to requests, how it validates restart policies and restart rules, and which pod it stores.

Theory of operation. A user without a role may do nothing. A create is decoded, defaulted and validated. Fields that are
unknown are refused while decoding (fieldValidation Strict) or dropped. With ContainerRestartRules off, the restart policies of
containers, but for those of sidecars, and all rules are dropped before validation, without a word; with it on they are
validated. All findings are reported at once, one cause per finding. There is no check on duplicate values or rules, empty
values, codes that no process can have, mixed actions, or a container policy that differs from the pod's. A patch of a pod may
only add ephemeral containers, through their subresource: restart policies and rules are immutable. A patch of metadata keeps
the spec; the rules that a pod has stay, whatever the gates are by then. Of a pod without its policies and rules the kubelet goes
by the pod's restart policy; the promise is that a container under Never is not restarted for that.
Source: pkg/apis/core/validation/validation.go@v1.37.1 validateContainerRestartPolicy, validateInitContainerRestartPolicy,
ValidatePodUpdate, ValidatePodEphemeralContainersUpdate; pkg/api/pod/util.go@v1.37.1 dropContainerRestartRules;
pkg/apis/core/v1/defaults.go@v1.37.1 SetDefaults_PodSpec, SetDefaults_Probe;
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go; KEP-5307, Design Details, Feature Enablement and Rollback.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from crashloop.model.gates import is_enabled
from crashloop.model.variants import API_SERVER_DROPS_POLICIES, DOCUMENTED
from crashloop.spec.control_plane import ApiRequest, FieldValidation, Verb
from crashloop.spec.pod import Action, Container, Operator, RestartPolicy
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.spec.scenario import ApiScenario, PodScenario
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


def answer_to_create(
    spec: Mapping[str, Any], *, gates: dict[str, bool], version: KubernetesVersion, path: str = "spec"
) -> Answer:
    """The answer to creating a pod with `spec`, in the API's own JSON form; only restart fields are looked at.

    `gates` are the API server's. `path` is where the spec stands (`spec.template.spec` in a workload).
    """
    if any(_undecodable(rule) for _, _, container in _placed_containers(spec) for rule in _rules(container)):
        return Answer(code=400)
    enabled = is_enabled(RESTART_RULES_GATE, gates, version)
    stored = dict(spec) if enabled else _dropped(spec, version)
    restart_all = is_enabled(RESTART_ALL_GATE, gates, version)
    errors = tuple(
        error
        for field, index, container in _placed_containers(stored)
        for error in _container_errors(field, container, f"{path}.{field}[{index}]", enabled, restart_all, version)
    )
    errors = (*_unsupported(stored.get("restartPolicy"), f"{path}.restartPolicy", RestartPolicy), *errors)
    return Answer(code=422, errors=errors) if errors else Answer(code=201, stored=stored)


def _placed_containers(spec: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
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


SPEC_PATHS: dict[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "Job": ("spec", "template", "spec"),
    "Deployment": ("spec", "template", "spec"),
}
"""Where the pod spec of an object stands, by its kind."""
EPHEMERAL = "ephemeralcontainers"
RULE_FIELDS = frozenset(("action", "exitCodes"))
"""Fields of a restart rule (KEP-5307 "Design Details"): everything else is unknown."""
NO_POD_FIELDS = frozenset(("podFailurePolicy", "maxContainerRestartPeriod"))
"""Fields of a Job and of a kubelet that a pod spec does not have."""
PROBE_DEFAULTS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}

Expected = tuple[ApiRequest, Answer]


def predict_answers(scenario: ApiScenario, gates: dict[str, bool], version: KubernetesVersion) -> tuple[Expected, ...]:
    """Each request with the answer due; `gates` and `version` are the API server's.

    Raises ValueError for a request that the model has no rule for.
    """
    due: list[Expected] = []
    stored: dict[str, dict[str, Any]] = {}
    present = gates
    for each in scenario.requests:
        present = present if each.feature_gates is None else gates | each.feature_gates
        if each.verb is Verb.PATCH and "spec" not in each.object:
            answered = Answer(code=200, stored=stored.get(each.name))
        else:
            answered = _answer_to(scenario.name, each, present, version)
        if answered.stored is not None and not each.dry_run:
            stored[each.name] = answered.stored
        due.append((each, answered))
    return tuple(due)


def pod_spec(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod spec of a Pod, Job or Deployment. Raises KeyError if it has none."""
    found: Mapping[str, Any] = manifest
    for key in SPEC_PATHS[manifest["kind"]]:
        found = found[key]
    return found


def _answer_to(scenario: str, request: ApiRequest, gates: dict[str, bool], version: KubernetesVersion) -> Answer:
    kind = str(request.object.get("kind"))
    if request.as_user is not None:
        return Answer(code=403)
    if kind not in SPEC_PATHS or (request.verb is Verb.PATCH and kind != "Pod"):
        raise ValueError(f"scenario {scenario!r}: the model has no rule for a request to {request.verb} a {kind}")
    if request.verb is Verb.PATCH:
        return _answer_to_patch(request, gates, version)
    spec, path = pod_spec(request.object), ".".join(SPEC_PATHS[kind])
    if request.field_validation is FieldValidation.STRICT and _has_unknown(spec):
        return Answer(code=400)
    due = answer_to_create(_with_defaults(spec), gates=gates, version=version, path=path)
    wrong = _job_errors(request.object, spec, path) if kind == "Job" else ()
    return Answer(code=422, errors=(*due.errors, *wrong)) if wrong else due


def _with_defaults(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec as it is decoded and defaulted."""
    known = {key: value for key, value in spec.items() if key not in NO_POD_FIELDS}
    lists = {field: [_with_probe(each) for each in spec[field]] for field in CONTAINER_LISTS if field in spec}
    return {"restartPolicy": RestartPolicy.ALWAYS.value} | known | lists


def _with_probe(container: Mapping[str, Any]) -> dict[str, Any]:
    probe = container.get("livenessProbe")
    return dict(container) | ({} if probe is None else {"livenessProbe": PROBE_DEFAULTS | probe})


def _job_errors(job: Mapping[str, Any], spec: Mapping[str, Any], path: str) -> tuple[FieldError, ...]:
    """`only "Never" is supported`: pkg/apis/batch/validation/validation.go@v1.37.1 validateJobSpec."""
    policy = str(spec.get("restartPolicy"))
    if "podFailurePolicy" not in job["spec"] or policy == RestartPolicy.NEVER:
        return ()
    text = f'Invalid value: "{policy}": only "Never" is supported when podFailurePolicy is specified'
    return (FieldError(f"{path}.restartPolicy", CauseReason.INVALID, text),)


def _answer_to_patch(request: ApiRequest, gates: dict[str, bool], version: KubernetesVersion) -> Answer:
    if request.subresource != EPHEMERAL:
        return Answer(code=422, errors=(FieldError("spec", CauseReason.FORBIDDEN, "Forbidden: pod updates may not"),))
    due = answer_to_create(pod_spec(request.object), gates=gates, version=version)
    return due if due.errors else Answer(code=200)


def _has_unknown(spec: Mapping[str, Any]) -> bool:
    return bool(spec.keys() & NO_POD_FIELDS) or any(
        rule.keys() - RULE_FIELDS
        for container in _containers_of(spec)
        for rule in container.get("restartPolicyRules") or ()
    )


def _containers_of(spec: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return (each for field in CONTAINER_LISTS for each in spec.get(field) or ())


def drops_policies(scenario: PodScenario) -> bool:
    """Whether the scenario's own API server has the gate off."""
    return not scenario.own_gates.get(RESTART_RULES_GATE, True)


def as_stored(scenario: PodScenario, deviations: frozenset[str] = DOCUMENTED) -> PodScenario:
    """The scenario with the pod that its kubelet gets."""
    if not drops_policies(scenario) or API_SERVER_DROPS_POLICIES not in deviations:
        return scenario
    containers = tuple(map(_without_rules, scenario.pod.containers))
    return msgspec.structs.replace(scenario, pod=msgspec.structs.replace(scenario.pod, containers=containers))


def _without_rules(container: Container) -> Container:
    policy = container.restart_policy if container.is_sidecar else None
    return msgspec.structs.replace(container, restart_policy=policy, rules=())
