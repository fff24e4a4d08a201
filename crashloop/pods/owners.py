"""What makes the pod of a scenario, as an object: a Job, a Deployment, or the file of a static pod. Pure."""

from collections.abc import Mapping
from math import ceil
from types import MappingProxyType
from typing import Any

from crashloop.pods.manifest import SCENARIO_LABEL, pod_manifest
from crashloop.spec.scenario import PodScenario


def job_manifest(
    scenario: PodScenario, *, node: str, image: str, run: str, images: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """A Job of the scenario's name that makes its pod on a node. Raises ValueError if the scenario has no Job.

    `image` is that of containers without one of the registry; `images` are the names of those, by container.
    """
    job = scenario.job
    if job is None:
        raise ValueError(f"scenario {scenario.name!r} has no Job")
    pod = pod_manifest(scenario, node=node, image=image, run=run, images=images, last_words=True)
    labels = pod["metadata"]["labels"]
    of = {} if job.fails_on_container is None else {"containerName": job.fails_on_container}
    on_codes = {"operator": "In", "values": sorted(job.fails_on), **of}
    policy = {"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": on_codes}]}} if job.fails_on else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": scenario.name, "labels": labels},
        "spec": {
            "completions": job.parallelism,
            "parallelism": job.parallelism,
            "backoffLimit": job.backoff_limit,
            **({"completionMode": "Indexed"} if scenario.is_uneven else {}),
            # So that nothing goes on if nobody deletes it.
            "activeDeadlineSeconds": ceil(scenario.longest_s),
            "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
            **policy,
        },
    }


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


REVISION_ANNOTATION = "crashloop.dev/revision"


def static_pod_manifest(
    scenario: PodScenario, *, node: str, namespace: str, image: str, run: str, revision: int
) -> dict[str, Any]:
    """The pod of a scenario as a file of its node. Another revision is another pod: its uid is a hash of the manifest."""
    pod = pod_manifest(scenario, node=node, image=image, run=run, last_words=True)
    pod["metadata"] |= {"namespace": namespace, "annotations": {REVISION_ANNOTATION: str(revision)}}
    return pod
