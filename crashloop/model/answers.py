"""What the API server answers to the requests of an API scenario.

Theory of operation. A user without a role may do nothing. A create is decoded, defaulted and validated. Fields that are
unknown are refused while decoding (fieldValidation Strict) or dropped; what remains is judged by validation.py. A patch of
a pod may only add ephemeral containers, through their subresource: restart policies and rules are immutable. A patch of
metadata keeps the spec; the rules that a pod has stay, whatever the gates are by then.
Source: pkg/apis/core/v1/defaults.go@v1.37.1 SetDefaults_PodSpec, SetDefaults_Probe;
pkg/apis/core/validation/validation.go@v1.37.1 ValidatePodUpdate, ValidatePodEphemeralContainersUpdate;
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go; KEP-5307, Feature Enablement and Rollback.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from crashloop.model.validation import CONTAINER_LISTS, Answer, CauseReason, FieldError, answer
from crashloop.spec.control_plane import ApiRequest, FieldValidation, Verb
from crashloop.spec.pod import RestartPolicy
from crashloop.spec.scenario import ApiScenario
from crashloop.spec.version import KubernetesVersion

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
            answered = _answer(scenario.name, each, present, version)
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


def _answer(scenario: str, request: ApiRequest, gates: dict[str, bool], version: KubernetesVersion) -> Answer:
    kind = str(request.object.get("kind"))
    if request.as_user is not None:
        return Answer(code=403)
    if kind not in SPEC_PATHS or (request.verb is Verb.PATCH and kind != "Pod"):
        raise ValueError(f"scenario {scenario!r}: the model has no rule for a request to {request.verb} a {kind}")
    if request.verb is Verb.PATCH:
        return _patched(request, gates, version)
    spec, path = pod_spec(request.object), ".".join(SPEC_PATHS[kind])
    if request.field_validation is FieldValidation.STRICT and _has_unknown(spec):
        return Answer(code=400)
    due = answer(_with_defaults(spec), gates=gates, version=version, path=path)
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


def _patched(request: ApiRequest, gates: dict[str, bool], version: KubernetesVersion) -> Answer:
    if request.subresource != EPHEMERAL:
        return Answer(code=422, errors=(FieldError("spec", CauseReason.FORBIDDEN, "Forbidden: pod updates may not"),))
    due = answer(pod_spec(request.object), gates=gates, version=version)
    return due if due.errors else Answer(code=200)


def _has_unknown(spec: Mapping[str, Any]) -> bool:
    return bool(spec.keys() & NO_POD_FIELDS) or any(
        rule.keys() - RULE_FIELDS
        for container in _containers(spec)
        for rule in container.get("restartPolicyRules") or ()
    )


def _containers(spec: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return (each for field in CONTAINER_LISTS for each in spec.get(field) or ())
