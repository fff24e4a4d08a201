"""What loads have made in the cluster: counted, and removed with everything that it owns."""

import msgspec

from crashloop.kube.client import KubeApi
from crashloop.kube.errors import ApiRefusal
from crashloop.waiting import wait_until

_COLLECTIONS = ("/apis/apps/v1/namespaces/{}/deployments", "/apis/batch/v1/namespaces/{}/jobs")


class _PodList(msgspec.Struct):
    items: tuple[msgspec.Raw, ...] = ()


def pods_left(api: KubeApi, namespace: str, selector: str) -> int:
    """How many pods with such labels there are. Raises KubeError."""
    return len(msgspec.json.decode(api.list_pods(namespace, label_selector=selector), type=_PodList).items)


def remove_objects(api: KubeApi, namespace: str, selector: str) -> None:
    """Ask for the removal of everything with such labels, what makes pods first. Raises KubeError."""
    for path in (*_COLLECTIONS, "/api/v1/namespaces/{}/pods"):
        query = {"labelSelector": selector, "propagationPolicy": "Background"}
        api.call(f"delete what a load has left ({selector})", "DELETE", path.format(namespace), query=query)


def remove_namespace(api: KubeApi, name: str, *, within_s: float) -> None:
    """Delete a namespace and wait until it is gone. Raises KubeError, WaitTimeout."""

    def gone() -> bool:
        try:
            api.call(f"read namespace {name}", "GET", f"/api/v1/namespaces/{name}")
        except ApiRefusal as error:
            if error.code != 404:
                raise
            return True
        return False

    api.delete_namespace(name)
    wait_until(f"namespace {name} to be gone", gone, timeout_s=within_s, every_s=0.5)
