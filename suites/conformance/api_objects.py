"""Objects for requests to the API server: pods that no scheduler takes, so that nothing of them ever runs."""

from typing import Any

from crashloop.spec.control_plane import ApiRequest, FieldValidation, Verb
from crashloop.spec.scenario import ApiScenario

Json = dict[str, Any]
NO_SCHEDULER = "crashloop.dev/none"
IN_42: Json = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}

_RESTRICTED: Json = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 65534,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""What the Pod Security Standard "restricted" needs, so that a namespace that enforces it takes the pods."""


def container(name: str = "app", **fields: Any) -> Json:
    """A container with further fields in upstream's spelling."""
    return {"name": name, "image": "crashloop.invalid/none", "securityContext": _RESTRICTED, **fields}


def rule(**fields: Any) -> Json:
    """A restart rule In[42], with further or other fields."""
    return {**IN_42, **fields}


def codes(operator: str, *values: Any) -> Json:
    """A restart rule on exit codes."""
    return {"action": "Restart", "exitCodes": {"operator": operator, "values": list(values)}}


def ruled(*rules: Json, policy: str = "Never", name: str = "app") -> Json:
    """A container with a restart policy and rules."""
    return container(name, restartPolicy=policy, restartPolicyRules=list(rules))


def pod(name: str, *containers: Json, policy: str | None = "Never", init: tuple[Json, ...] = ()) -> Json:
    """A pod of these containers."""
    spec: Json = {"schedulerName": NO_SCHEDULER, "containers": list(containers) or [container()]}
    spec |= {} if policy is None else {"restartPolicy": policy}
    spec |= {"initContainers": list(init)} if init else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def job(container: Json, *, policy: str = "Never", **fields: Any) -> Json:
    """A suspended Job of one pod with this container, so that no controller makes the pod."""
    template = {"spec": {"restartPolicy": policy, "schedulerName": NO_SCHEDULER, "containers": [container]}}
    spec = {"suspend": True, "template": template, **fields}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "unnamed"}, "spec": spec}


def tries(name: str, **objects: Json) -> ApiScenario:
    """A dry create of each object; the keyword is what it tries."""
    return ApiScenario(
        name=name, requests=tuple(ApiRequest(object=_named(name, key, each)) for key, each in objects.items())
    )


def _named(scenario: str, key: str, manifest: Json) -> Json:
    return {**manifest, "metadata": {**manifest["metadata"], "name": f"{scenario}-{key.replace('_', '-')}"}}


def rules_of(*rules: Json, policy: str = "Never") -> Json:
    """A pod under Never with one container that has these rules."""
    return pod("unnamed", ruled(*rules, policy=policy))


def stored(manifest: Json) -> ApiRequest:
    """A create that is not dry."""
    return ApiRequest(object=manifest, dry_run=False)


def patched(manifest: Json, *, subresource: str | None = None) -> ApiRequest:
    """A change of an object that was stored."""
    return ApiRequest(verb=Verb.PATCH, object=manifest, subresource=subresource, dry_run=False)


def strict(manifest: Json) -> ApiRequest:
    """A dry create that refuses unknown fields."""
    return ApiRequest(object=manifest, field_validation=FieldValidation.STRICT)


STORED_RULES = ApiScenario(
    name="stored-rules",
    requests=(
        stored(
            pod(
                "stored-rules",
                ruled(codes("In", 1, 42), codes("NotIn", 0), policy="OnFailure"),
                container("plain", restartPolicy="Always"),
                init=(ruled(codes("In", 3), name="setup"), container("sidecar", restartPolicy="Always")),
            )
        ),
    ),
)
"""Every kind of container with what may be stored of policies and rules."""
