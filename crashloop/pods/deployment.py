"""The Deployment of a scenario as an object of apps/v1. Pure."""

from typing import Any

from crashloop.pods.manifest import SCENARIO_LABEL, pod_manifest
from crashloop.spec.scenario import PodScenario


def deployment_manifest(scenario: PodScenario, *, node: str, image: str, run: str) -> dict[str, Any]:
    """A Deployment of the scenario's name with one replica of its pod on a node."""
    pod = pod_manifest(scenario, node=node, image=image, run=run, last_words=True)
    labels = pod["metadata"]["labels"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": scenario.name, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {SCENARIO_LABEL: scenario.name}},
            "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
        },
    }
