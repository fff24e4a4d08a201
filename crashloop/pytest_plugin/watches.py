"""The fixtures `restarts`, `crash` and `crash_pod` of one test."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from crashloop.errors import UsageError
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import pod_manifest
from crashloop.pytest_plugin.access import (
    Access,
    ClusterLike,
    access_of,
    check_name,
    check_namespace,
    check_seconds,
    check_whole,
    plain_errors,
)
from crashloop.pytest_plugin.faults import crash, fault_of, status_of
from crashloop.pytest_plugin.restarts import Restarts
from crashloop.pytest_plugin.workload import Workload, container_names, live_pods
from crashloop.run.options import DEFAULT_IMAGE
from crashloop.spec.pod import Container, Pod, RestartPolicy
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until


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


MANY = 500
"""Exits; afterwards the container holds, so that a forgotten pod stops loading its node."""
_PROFILE = "any"


class CrashPod:
    """A pod of one container, `app`."""

    def __init__(
        self,
        access: Access,
        namespace: str,
        name: str,
        *,
        exit_code: int = 1,
        after_s: float = 1.0,
        times: int = MANY,
        restart_policy: str = "Always",
        node: str | None = None,
        image: str | None = None,
    ) -> None:
        """`times` exits with `exit_code`, each `after_s` seconds after a start; without a node the scheduler chooses one."""
        check_name("crash_pod: name", name)
        check_namespace(namespace)
        check_whole("crash_pod: times", times, least=1)
        check_seconds("crash_pod: after_s", after_s)
        fault_of(exit=exit_code, signal=None, oom=False)
        if restart_policy not in {*RestartPolicy}:
            raise UsageError(f"crash_pod: restart_policy is {restart_policy!r}; expected {', '.join(RestartPolicy)}.")
        self._api = KubeApi(access.kubeconfig, context=access.context)
        self._namespace, self._name = namespace, name
        container = Container(program=exits_with(exit_code, after_s=after_s, times=times))
        pod = Pod(restart_policy=RestartPolicy(restart_policy), containers=(container,))
        scenario = PodScenario(name=name, profile=_PROFILE, pod=pod, until=Until())
        self._manifest = pod_manifest(scenario, node=node or "", image=image or DEFAULT_IMAGE, run="pytest")
        if node is None:
            del self._manifest["spec"]["nodeName"], self._manifest["spec"]["tolerations"]  # taints count

    def create(self) -> str:
        """Create it; its name."""
        self._api.create_pod(self._namespace, self._manifest)
        return self._name

    def delete(self) -> None:
        """Delete it at once, unless the test has done so."""
        try:
            self._api.delete_pod(self._namespace, self._name, grace_s=0)
        finally:
            self._api.close()
