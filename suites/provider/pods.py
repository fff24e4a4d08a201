"""A pod that counts in its log: the sign of life that the kit looks for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from crashloop.cluster.provider import Cluster
from crashloop.kube.answers import ApiRefusal, ApiUnreachable
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import pull_policy
from crashloop.waiting import wait_until

NAMESPACE = "default"
"""Where the pods run unless the cluster names a namespace."""
_MANIFEST = Path(__file__).parent / "counting-pod.yaml"


def counting_manifest(node: str, image: str) -> dict[str, Any]:
    """The pod, on a node."""
    manifest: dict[str, Any] = yaml.safe_load(_MANIFEST.read_text())
    manifest["metadata"]["name"] = f"counting-{node}"
    manifest["spec"]["nodeName"] = node
    manifest["spec"]["containers"][0].update(image=image, imagePullPolicy=pull_policy(image))
    return manifest


@contextmanager
def counting_pod(api: KubeApi, cluster: Cluster, *, node: str, image: str | None = None) -> Iterator["CountingPod"]:
    """A pod that has begun to count, on a node. Default: the cluster's image of container programs."""
    manifest = counting_manifest(node, image or cluster.info.image)
    name = manifest["metadata"]["name"]
    namespace = cluster.info.namespace or NAMESPACE
    api.create_pod(namespace, manifest)
    try:
        pod = CountingPod(api, namespace, name)
        pod.count_beyond(0)
        yield pod
    finally:
        api.delete_pod(namespace, name, grace_s=0)


class CountingPod:
    """A pod that counts."""

    def __init__(self, api: KubeApi, namespace: str, name: str) -> None:
        self._api = api
        self._namespace = namespace
        self.name = name

    def count(self) -> int:
        """How far it has counted, 0 while there is no log."""
        try:
            lines = self._api.read_log(self._namespace, self.name, "app").split()
        except (ApiRefusal, ApiUnreachable):
            return 0
        # While its runtime restarts, a kubelet answers with a sentence instead of the log.
        return int(lines[-1]) if lines and lines[-1].isdigit() else 0

    def count_beyond(self, number: int) -> int:
        """How far it has counted, once that is beyond a number."""
        return wait_until(
            f"pod {self.name} to count beyond {number}",
            lambda: seen if (seen := self.count()) > number else None,
            timeout_s=120,
            last_seen=lambda: str(self.count()),
        )

    def container(self) -> tuple[str, int]:
        """The container's id and how often it was restarted, as the kubelet states it."""

        def stated() -> tuple[str, int] | None:
            for status in self._api.get_pod(self._namespace, self.name)["status"].get("containerStatuses", []):
                if "containerID" in status:
                    return status["containerID"], status["restartCount"]
            return None

        return wait_until(f"the status of pod {self.name}", stated, timeout_s=120)
