"""What the API server answers to the requests of an API scenario.

The rules are those of validation.py; this file only finds the pod spec of an object, alone or as a template.
"""

from collections.abc import Mapping
from typing import Any

from crashloop.model.validation import Answer, answer
from crashloop.spec.scenario import ApiRequest, ApiScenario, Verb
from crashloop.spec.version import KubernetesVersion

SPEC_PATHS: dict[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "Job": ("spec", "template", "spec"),
    "Deployment": ("spec", "template", "spec"),
}
"""Where the pod spec of an object stands, by its kind."""


def predict_answers(
    scenario: ApiScenario, gates: dict[str, bool], version: KubernetesVersion
) -> tuple[tuple[ApiRequest, Answer], ...]:
    """Each request with the answer due; `gates` and `version` are the API server's.

    Raises ValueError for a request that the model has no rule for.
    """
    return tuple((each, _answer(scenario.name, each, gates, version)) for each in scenario.requests)


def _answer(scenario: str, request: ApiRequest, gates: dict[str, bool], version: KubernetesVersion) -> Answer:
    kind = request.object.get("kind")
    if request.verb is not Verb.CREATE or kind not in SPEC_PATHS:
        raise ValueError(f"scenario {scenario!r}: the model has no rule for a request to {request.verb} a {kind}")
    path = SPEC_PATHS[kind]
    return answer(pod_spec(request.object), gates=gates, version=version, path=".".join(path))


def pod_spec(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod spec of a Pod, Job or Deployment. Raises KeyError if it has none."""
    found: Mapping[str, Any] = manifest
    for key in SPEC_PATHS[manifest["kind"]]:
        found = found[key]
    return found
