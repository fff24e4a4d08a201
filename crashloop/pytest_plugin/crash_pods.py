"""`crash_pod`: a pod that runs for a while and exits, again and again."""

from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import pod_manifest
from crashloop.pytest_plugin.access import Access
from crashloop.run.options import DEFAULT_IMAGE
from crashloop.spec.pod import Container, Pod, RestartPolicy
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until

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
