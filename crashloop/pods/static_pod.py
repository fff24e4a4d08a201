"""The file of a static pod. Pure."""

from typing import Any

from crashloop.pods.manifest import pod_manifest
from crashloop.spec.scenario import PodScenario

REVISION_ANNOTATION = "crashloop.dev/revision"


def static_pod_manifest(
    scenario: PodScenario, *, node: str, namespace: str, image: str, run: str, revision: int
) -> dict[str, Any]:
    """The pod of a scenario as a file of its node. Another revision is another pod: its uid is a hash of the manifest."""
    pod = pod_manifest(scenario, node=node, image=image, run=run, last_words=True)
    pod["metadata"] |= {"namespace": namespace, "annotations": {REVISION_ANNOTATION: str(revision)}}
    return pod
