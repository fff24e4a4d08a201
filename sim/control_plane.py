"""A simulated API server and scheduler: what becomes of objects that are sent, and of a pod before its first sync.

A second reading of KEP-5307 "Design Details" and pkg/apis/core/validation/validation.go@v1.37.1, as a walk over one
container after the other that collects what is wrong. A pod is stored without the fields of a gate that is off:
pkg/api/pod/util.go@v1.37.1 dropDisabledPodFields.

Then the scheduler finds a node for the pod, and the kubelet admits it: pkg/scheduler/framework/plugins/nodedeclaredfeatures and
pkg/kubelet/lifecycle/handlers.go declaredFeaturesAdmitHandler @v1.37.1; component-helpers
nodedeclaredfeatures/features/restartallcontainers@v0.37.1.
"""

from copy import deepcopy
from typing import Any, NamedTuple

import msgspec

from crashloop.spec.control_plane import ApiRequest, FieldValidation, Verb
from crashloop.spec.pod import Container, ContainerKind, Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion
from sim.behaviour import Behaviour
from sim.config import DECLARED, RESET, RULES, Effective, gates_with
from sim.pod import SimPod, stamp

Manifest = dict[str, Any]
POLICIES = ("Always", "OnFailure", "Never")
INT32 = range(-(2**31), 2**31)


class Complaint(NamedTuple):
    """One entry of `details.causes`."""

    field: str
    reason: str


class ApiServer:
    """Answers requests; `stored` are its objects by name."""

    def __init__(self, settings: KubeletProfile, version: KubernetesVersion, behaviour: Behaviour) -> None:
        """`settings` are the gates that the API server was made with."""
        self._gates = gates_with(settings.feature_gates, version.release)
        self._version = version
        self._behaviour = behaviour
        self.stored: dict[str, Manifest] = {}
        self.start({})

    def start(self, feature_gates: dict[str, bool]) -> None:
        """Start with these gates on top; what is stored is kept."""
        gates = self._gates | feature_gates
        self._rules_on = bool(gates.get(RULES)) or self._behaviour.api_keeps_rules_when_off
        self._reset_on = bool(gates.get(RESET)) or self._behaviour.api_takes_reset_when_off

    def answer(self, request: ApiRequest) -> dict[str, Any]:
        """Code, causes and object, in the words of an `answer` event."""
        sent = deepcopy(request.object)
        if request.as_user and not self._behaviour.api_lets_anybody:
            return _refusal(403, "Forbidden", [])
        if sent["kind"] == "Node":
            return {"code": 201, "reason": "", "causes": [], "object": sent}
        if request.verb is Verb.PATCH:
            return self._patched(sent, request)
        pod, path = _pod_of(sent)
        unknown = not self._behaviour.api_keeps_unknown and _forget_unknown(pod)
        if request.field_validation is FieldValidation.STRICT and unknown:
            return _refusal(400, "BadRequest", [])
        if not self._behaviour.api_keeps_no_default:
            pod.setdefault("restartPolicy", "Always")
        self._complete_probes(pod)
        if any(type(code) is not int or code not in INT32 for code in _all_codes(pod)):
            return _refusal(400, "BadRequest", [])
        if not self._rules_on or self._behaviour.api_drops_rules:
            self._drop(pod)
        complaints = [] if self._behaviour.api_accepts_anything else self._complaints(pod, path)
        if "podFailurePolicy" in sent["spec"] and sent["kind"] == "Job" and not self._behaviour.api_takes_any_job:
            complaints += (
                [] if pod["restartPolicy"] == "Never" else [Complaint(f"{path}.restartPolicy", "FieldValueInvalid")]
            )
        if complaints:
            if self._behaviour.api_stores_rejected:
                self.stored[request.name] = sent
            if self._behaviour.api_blames_pod:
                complaints = [Complaint(path, each.reason) for each in complaints]
            return _refusal(422, "Invalid", complaints)
        if not request.dry_run or self._behaviour.api_ignores_dry_run:
            self.stored[request.name] = sent
        return {"code": 201, "reason": "", "causes": [], "object": sent}

    def stored_bytes(self, name: str) -> int | None:
        """About what an object takes in storage: a fixed part, and its exit codes."""
        if name not in self.stored:
            return None
        pod, _ = _pod_of(self.stored[name])
        return 400 + self._behaviour.api_bytes_per_code * len(_all_codes(pod))

    def _patched(self, change: Manifest, request: ApiRequest) -> dict[str, Any]:
        """Of a pod that lives only ephemeral containers may be added."""
        if self._behaviour.api_accepts_anything:
            return {"code": 200, "reason": "", "causes": [], "object": self.stored[request.name]}
        if "spec" not in change:
            kept = self.stored[request.name]
            if self._behaviour.api_update_drops_rules and not self._rules_on:
                self._drop(_pod_of(kept)[0])
            return {"code": 200, "reason": "", "causes": [], "object": kept}
        if request.subresource != "ephemeralcontainers":
            return _refusal(422, "Invalid", [Complaint("spec", "FieldValueForbidden")])
        pod = change["spec"]
        if not self._rules_on or self._behaviour.api_drops_rules:
            self._drop(pod)
        complaints = self._complaints(pod, "spec")
        if complaints:
            return _refusal(422, "Invalid", complaints)
        return {"code": 200, "reason": "", "causes": [], "object": self.stored[request.name]}

    def _complete_probes(self, pod: Manifest) -> None:
        """pkg/apis/core/v1/defaults.go@v1.37.1 SetDefaults_Probe: what is missing or 0."""
        defaults = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1}
        defaults["failureThreshold"] = self._behaviour.api_failure_threshold
        for _, _, container in _containers_of(pod):
            probe = container.get("livenessProbe")
            if probe is not None:
                probe.update({name: probe.get(name) or value for name, value in defaults.items()})

    def _drop(self, pod: Manifest) -> None:
        for list_name, _, container in _containers_of(pod):
            container.pop("restartPolicyRules", None)
            is_sidecar = list_name == "initContainers" and container.get("restartPolicy") == "Always"
            if not is_sidecar and not (self._version.release == (1, 33) and not self._rules_on):
                container.pop("restartPolicy", None)

    def _complaints(self, pod: Manifest, path: str) -> list[Complaint]:
        found: list[Complaint] = []
        if pod.get("restartPolicy", "Always") not in POLICIES:
            found.append(Complaint(f"{path}.restartPolicy", "FieldValueNotSupported"))
        for list_name, index, container in _containers_of(pod):
            found += self._about(list_name, container, f"{path}.{list_name}[{index}]")
        return found

    def _about(self, list_name: str, container: Manifest, here: str) -> list[Complaint]:
        policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
        if list_name == "ephemeralContainers":
            names = [name for name in ("restartPolicy", "restartPolicyRules") if container.get(name)]
            return [Complaint(f"{here}.{name}", "FieldValueForbidden") for name in names]
        if not self._rules_on:
            return self._without_rules(list_name, policy, here)
        found: list[Complaint] = []
        if policy is None:
            if rules and (list_name == "containers" or self._version.release >= (1, 35)):
                found.append(Complaint(f"{here}.restartPolicy", "FieldValueRequired"))
            rules = rules if list_name == "containers" else []
        elif policy not in POLICIES:
            found.append(Complaint(f"{here}.restartPolicy", "FieldValueNotSupported"))
        elif list_name == "initContainers" and policy == "Always" and rules and not self._reset_on:
            return [Complaint(f"{here}.restartPolicyRules", "FieldValueForbidden")]
        return found + self._about_rules(rules, f"{here}.restartPolicyRules")

    def _without_rules(self, list_name: str, policy: str | None, here: str) -> list[Complaint]:
        if policy is None or (list_name == "initContainers" and policy == "Always"):
            return []
        reason = "FieldValueForbidden" if list_name == "containers" else "FieldValueNotSupported"
        return [Complaint(f"{here}.restartPolicy", reason)]

    def _about_rules(self, rules: list[Manifest], here: str) -> list[Complaint]:
        too_many = "FieldValueTooMany" if self._version.release >= (1, 36) else "FieldValueTooLong"
        found = [Complaint(here, too_many)] if len(rules) > 20 else []
        actions = ("Restart", "RestartAllContainers") if self._reset_on else ("Restart",)
        for index, rule in enumerate(rules):
            place = f"{here}[{index}]"
            if rule.get("action") not in actions:
                found.append(Complaint(f"{place}.action", "FieldValueNotSupported"))
            codes = rule.get("exitCodes")
            if codes is None:
                found.append(Complaint(f"{place}.exitCodes", "FieldValueRequired"))
                continue
            if codes.get("operator") not in ("In", "NotIn"):
                found.append(Complaint(f"{place}.exitCodes.operator", "FieldValueNotSupported"))
            given = codes.get("values") or []
            if self._behaviour.api_refuses_repeats and len(set(given)) < len(given):
                found.append(Complaint(f"{place}.exitCodes.values", "FieldValueDuplicate"))
            if len(given) > 255:
                found.append(Complaint(f"{place}.exitCodes.values", too_many))
        return found


def _pod_of(manifest: Manifest) -> tuple[Manifest, str]:
    template = manifest["spec"].get("template")
    return (manifest["spec"], "spec") if template is None else (template["spec"], "spec.template.spec")


def _containers_of(pod: Manifest) -> list[tuple[str, int, Manifest]]:
    names = ("initContainers", "containers", "ephemeralContainers")
    return [(name, index, each) for name in names for index, each in enumerate(pod.get(name) or [])]


def _forget_unknown(pod: Manifest) -> bool:
    """Leave out what no restart rule and no pod has; whether there was any."""
    strangers = [name for name in ("podFailurePolicy", "maxContainerRestartPeriod") if name in pod]
    for name in strangers:
        del pod[name]
    found = bool(strangers)
    for _, _, container in _containers_of(pod):
        for rule in container.get("restartPolicyRules") or []:
            for field in rule.keys() - {"action", "exitCodes"}:
                del rule[field]
                found = True
    return found


def _all_codes(pod: Manifest) -> list[Any]:
    return [
        code
        for _, _, container in _containers_of(pod)
        for rule in container.get("restartPolicyRules") or []
        for code in (rule.get("exitCodes") or {}).get("values") or []
    ]


def _refusal(code: int, reason: str, complaints: list[Complaint]) -> dict[str, Any]:
    causes = [{"field": each.field, "reason": each.reason, "message": ""} for each in complaints]
    return {"code": code, "reason": reason, "causes": causes, "object": None}


_LISTS = {
    ContainerKind.INIT: "initContainers",
    ContainerKind.REGULAR: "containers",
    ContainerKind.EPHEMERAL: "ephemeralContainers",
}


def stored_pod(pod: Pod, gates: dict[str, bool], behaviour: Behaviour) -> Pod:
    """What the API server keeps of a pod with these gates of its own; it drops what belongs to a gate that is off."""
    if gates.get(RULES, True) or behaviour.api_keeps_rules_when_off:
        return pod
    return msgspec.structs.replace(pod, containers=tuple(map(_without_rules, pod.containers)))


def _without_rules(container: Container) -> Container:
    kept = container.restart_policy if container.is_sidecar else None
    return msgspec.structs.replace(container, restart_policy=kept, rules=())


def manifest(pod: SimPod) -> dict[str, Any]:
    """Metadata, spec and first status of a pod."""
    spec: dict[str, Any] = {"restartPolicy": pod.spec.restart_policy.value}
    for container in pod.spec.containers:
        spec.setdefault(_LISTS[container.kind], []).append(_container_object(container, pod.images[container.name]))
    metadata = {"name": pod.name, "namespace": "default", "uid": pod.uid, "creationTimestamp": stamp(pod.created_ns)}
    return {
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def _container_object(container: Container, image: str) -> dict[str, Any]:
    out: dict[str, Any] = {"name": container.name, "image": image}
    if container.restart_policy is not None:
        out["restartPolicy"] = container.restart_policy.value
    if container.rules:
        out["restartPolicyRules"] = [
            {
                "action": rule.action.value,
                "exitCodes": {"operator": rule.operator.value, "values": list(rule.values)},
            }
            for rule in container.rules
        ]
    return out


UNSCHEDULABLE: dict[str, Any] = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
}
FIRST_WITH_DECLARED = (1, 36)
"""The first release whose components compare what pods need with what nodes declare."""


def holds_back(pod: Pod, node: Effective, release: tuple[int, int], behaviour: Behaviour) -> bool:
    """Whether a scheduler of that release leaves the pod Pending beside this node."""
    return release >= FIRST_WITH_DECLARED and _misses(pod, node, behaviour.scheduler_misses)


def rejects(pod: Pod, node: Effective, behaviour: Behaviour) -> bool:
    """Whether the kubelet fails a pod that is bound to its node."""
    return node.gates.get(DECLARED, False) and _misses(pod, node, behaviour.kubelet_misses)


def _misses(pod: Pod, node: Effective, what: str) -> bool:
    """Whether the node lacks what the pod needs: a feature that it does not declare, nothing, or any rule of a restart."""
    declares = node.gates.get(DECLARED, False) and node.reset
    match what:
        case "nothing":
            return False
        case "rules":
            return any(each.rules for each in pod.containers)
        case _:
            return pod.restarts_all and not declares
