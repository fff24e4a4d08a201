"""What the kubelet gives a container of ConfigMaps and Secrets. pkg/kubelet/kubelet_pods.go makeEnvironmentVariables @v1.37.1."""

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.pod import SimPod
from crashloop.spec.dependency import ConfigKind
from crashloop.spec.pod import Container

Data = dict[str, str]


class Configuration:
    """The objects of the pods of a node, as their kubelet reads them."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._read: dict[tuple[str, str], list[Data]] = {}
        """What an object held at each reading, by pod and name."""

    def is_mounted(self, pod: SimPod) -> bool:
        """Whether all volumes of the pod are there; once they are, they stay."""
        names = {name for each in pod.spec.containers for name in each.folders}
        pod.is_mounted = pod.is_mounted or all(pod.config[name] is not None for name in names)
        return pod.is_mounted

    def is_complete(self, pod: SimPod, container: Container) -> bool:
        """Whether everything is there that the container needs."""
        return all(pod.config[each.object] is not None for each in container.env)

    def of(self, pod: SimPod, container: Container) -> dict[str, str]:
        """The container's environment, for a start that comes now."""
        return {each.name: self._data(pod, each.object)[each.name] for each in container.env}

    def _data(self, pod: SimPod, name: str) -> Data:
        now, behaviour = pod.config[name], self._behaviour
        assert now is not None
        readings = self._read.setdefault((pod.uid, name), [])
        readings.append(now)
        is_secret = pod.objects[name].kind is ConfigKind.SECRET
        if behaviour.secrets_stay if is_secret else behaviour.config_maps_stay:
            return readings[0]
        return readings[-2] if behaviour.config_one_behind and len(readings) > 1 else now
