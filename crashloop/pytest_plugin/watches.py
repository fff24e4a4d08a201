"""The fixtures `restarts` and `crash` of one test."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from crashloop.errors import UsageError
from crashloop.kube.client import KubeApi
from crashloop.pytest_plugin.access import ClusterLike, access_of, plain_errors
from crashloop.pytest_plugin.faults import crash, fault_of, status_of
from crashloop.pytest_plugin.restarts import Restarts
from crashloop.pytest_plugin.workload import Workload, container_names, live_pods
from crashloop.run.options import DEFAULT_IMAGE


class Watches:
    """Begins watches, which end with the test."""

    def __init__(self, request: pytest.FixtureRequest, key: "pytest.StashKey[list[Restarts]]") -> None:
        self._request, self._key = request, key

    @plain_errors
    def __call__(
        self, cluster: ClusterLike | None = None, *, namespace: str = "default", context: str | None = None
    ) -> Restarts:
        """Watch a namespace of the cluster, by default that of kubectl, from now on."""
        watched = Restarts(access_of(self._request, cluster, context), namespace)
        self._request.node.addfinalizer(watched.close)  # runs before a cluster that was made earlier is deleted
        self._request.node.stash.setdefault(self._key, []).append(watched)
        watched.start()
        return watched

    @plain_errors
    def of(
        self,
        subject: str,
        cluster: ClusterLike | None = None,
        *,
        namespace: str = "default",
        context: str | None = None,
    ) -> Workload:
        """The pods of a workload (`deploy/operator`), of a selector (`app=web`), or one pod, watched from now on."""
        return self(cluster, namespace=namespace, context=context).of(subject)


def crash_of(request: pytest.FixtureRequest) -> Callable[..., None]:
    """What the fixture `crash` gives to a test."""

    @plain_errors
    def end(
        pod: str | Workload,
        cluster: ClusterLike | None = None,
        *,
        exit: int | None = None,  # the user's own word
        signal: int | str | None = None,
        oom: bool = False,
        container: str | None = None,
        namespace: str = "default",
        context: str | None = None,
    ) -> None:
        """End a container of the pod, or of each pod of a workload; returns when the statuses say so.

        A pod has one container, or the `container` is named. It needs the permission to make a privileged pod beside it.
        """
        fault = fault_of(exit=exit, signal=signal, oom=oom)
        access = access_of(request, cluster, context)
        image = request.config.getoption("--crashloop-image") or getattr(cluster, "image", None) or DEFAULT_IMAGE
        subject, where = (pod.subject, pod.namespace) if isinstance(pod, Workload) else (pod, namespace)
        with closing(KubeApi(access.kubeconfig, context=access.context)) as api:
            for each in live_pods(api, subject, where):
                crash(api, where, each, _chosen(each, container), fault, image)

    return end


def _chosen(pod: dict[str, Any], container: str | None) -> str:
    names = container_names(pod)
    if container is None and len(names) > 1:
        raise UsageError(
            f"crash: pod {pod['metadata']['name']} has the containers {', '.join(names)}.\nName one of them."
        )
    if container is not None and not status_of(pod, container):
        raise UsageError(
            f"crash: pod {pod['metadata']['name']} has no container {container}; it has {', '.join(names)}."
        )
    return container or names[0]
