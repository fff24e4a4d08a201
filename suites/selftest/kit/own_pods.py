"""Pods of the user's own, as a manifest has them."""

from typing import Any

from crashloop.stress.pod_faults import invalid
from crashloop.stress.pod_template import PodTemplate

RULE = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}


def spec(**fields: Any) -> dict[str, Any]:
    """A pod spec with a container of these fields."""
    return {"containers": [{"name": "app", "image": "registry.example/app:1", **fields}]}


def template(pod_spec: dict[str, Any]) -> PodTemplate:
    return PodTemplate(file="app.yaml", spec=pod_spec)


def faults(container: dict[str, Any], **pod: Any) -> list[str]:
    """What an API server refuses of a container, and of its pod beside it."""
    return list(invalid({"containers": [{"name": "app", "image": "app:1", **container}], **pod}))
