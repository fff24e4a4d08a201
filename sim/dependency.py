"""What the kubelet gets for a container before its start: values of ConfigMaps and Secrets, and its image.

Values: pkg/kubelet/kubelet_pods.go makeEnvironmentVariables @v1.37.1. The image manager: whether and when it pulls, what it gets,
and how long it holds a failed pull back: pkg/kubelet/images/image_manager.go EnsureImageExists, pullImage, puller.go
serialImagePuller @v1.37.1; the requests are those of containerd 2: the manifest of the tag, and content by digest that the node
lacks.
"""

from collections.abc import Generator
from typing import Any

from crashloop.spec.dependency import PASSWORD, PASSWORD_KEY, VERSION_VARIABLE, ConfigKind, PullPolicy
from crashloop.spec.pod import Container
from sim.behaviour import Behaviour, S
from sim.config import spell
from sim.host import MS, Steps, World
from sim.pod import SimPod
from sim.policy import Policies

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


Pulled = Generator[int, None, int]
"""A procedure that returns the HTTP status of its last request."""
REQUEST_MS = (1, 15)
LOOK_NS = 5 * MS
FIRST_NS, MOST_NS = 10 * S, 300 * S
OK, UNAUTHORIZED, UNAVAILABLE = 200, 401, 503


class Puller:
    """The images of the pods of one kubelet process. Which images a node has outlives it, in the pods."""

    def __init__(self, world: World, policies: Policies, max_restart_ns: int) -> None:
        self._loop, self._host = world
        behaviour = policies.behaviour
        self._behaviour = behaviour
        self._most_ns = max_restart_ns if behaviour.pulls_capped_as_restarts else MOST_NS
        self._expiry_ns = 2 * (max_restart_ns if behaviour.pulls_forgotten_as_restarts else MOST_NS)
        self._failed: dict[tuple[str, str], tuple[int, int]] = {}
        """When the last pull failed, and for how long it holds the next one back, by pod and container."""
        self._passwords: dict[str, str] = {}
        """The first password of each pod."""
        self._is_pulling = False

    def ensure(self, pod: SimPod, container: Container) -> Steps:
        """Pull the image if it has to be pulled; afterwards `error` says whether the container can start."""
        image = container.image
        pod.pull_errors.pop(container.name, None)
        times = 0 if image is None else self._pulls(image.policy, pod.pulled.get(container.name))
        if times and self._held_back(pod, container):
            pod.pull_errors[container.name] = "ImagePullBackOff"
            return
        for _ in range(times):
            status = yield from self._pull_in_turn(pod, container)
            key = pod.uid, container.name
            if status != OK:
                self._failed[key] = self._loop.now, self._next_ns(key)
                pod.pull_errors[container.name] = "ErrImagePull"
                return

    def variables(self, pod: SimPod, container: Container) -> dict[str, str]:
        """What the image gives its container."""
        return {} if container.image is None else {VERSION_VARIABLE: str(pod.pulled[container.name])}

    def _pulls(self, policy: PullPolicy, present: int | None) -> int:
        if present is None:
            return 1
        due = 1 if policy is PullPolicy.ALWAYS else 0
        times = {"by policy": due, "always": 1, "once": 0, "twice": 2 * due}
        return times[self._behaviour.pulls]

    def _held_back(self, pod: SimPod, container: Container) -> bool:
        failed_ns, held_ns = self._failed.get((pod.uid, container.name), (0, 0))
        return self._loop.now - failed_ns < held_ns

    def _next_ns(self, key: tuple[str, str]) -> int:
        failed_ns, held_ns = self._failed.get(key, (0, 0))
        fresh = not held_ns or self._loop.now - failed_ns > self._expiry_ns
        delay_ns = FIRST_NS if fresh else int(held_ns * self._behaviour.pull_factor)
        return min(int(delay_ns * (self._behaviour.first_pull_factor if fresh else 1)), self._most_ns)

    def _pull_in_turn(self, pod: SimPod, container: Container) -> Pulled:
        """A pull behind those that are under way, and what the kubelet says of it."""
        of = {"pod_uid": pod.uid, "container": container.name}
        pod.tape.kubernetes_event(self._loop.now, "Pulling", f'Pulling image "{container.name}"', **of)
        asked_ns = self._loop.now
        while self._is_pulling and not self._behaviour.pulls_at_once:
            yield LOOK_NS
        self._is_pulling, began_ns = True, self._loop.now
        status = yield from self._pull(pod, container)
        self._is_pulling = False
        if status == OK:
            times = self._times(began_ns - asked_ns, self._loop.now - began_ns)
            pod.tape.kubernetes_event(
                self._loop.now, "Pulled", f'Successfully pulled image "{container.name}"{times}.', **of
            )
        return status

    def _times(self, waited_ns: int, took_ns: int) -> str:
        """How the Event of a pull states its times, in whole milliseconds."""
        took, total = {
            "true": (took_ns, waited_ns + took_ns),
            "without wait": (took_ns, took_ns),
            "wait as pull": (waited_ns + took_ns, waited_ns + took_ns),
            "wait twice": (took_ns, 2 * waited_ns + took_ns),
            "none": (0, 0),
        }[self._behaviour.pull_times]
        stated = f" in {spell(took // MS * MS)} ({spell(total // MS * MS)} including waiting)"
        return "" if self._behaviour.pull_times == "none" else stated

    def _pull(self, pod: SimPod, container: Container) -> Pulled:
        image, name = container.image, container.name
        assert image is not None
        offered = pod.offers[name]
        password = self._password(pod, image.secret)
        tries: list[tuple[str | None, int]] = [(password, OK)]
        if offered is None:
            tries = [(None, UNAVAILABLE)]
        elif image.secret is not None:
            tries = [(None, UNAUTHORIZED), (password, OK if password == PASSWORD else UNAUTHORIZED)]
        for sent, status in tries:
            yield self._host.takes_ms(REQUEST_MS)
            yield from self._answered(pod, container, "HEAD", "current", status, sent)
        if tries[-1][1] != OK:
            return tries[-1][1]
        assert offered is not None
        if offered not in pod.present.setdefault(name, set()):
            pod.present[name].add(offered)
            yield self._host.takes_ms(REQUEST_MS)
            yield from self._answered(pod, container, "GET", f"sha256:{offered:064x}", OK, password)
        if name not in pod.pulled or not self._behaviour.keeps_first_image:
            pod.pulled[name] = offered
        return OK

    def _password(self, pod: SimPod, secret: str | None) -> str | None:
        data = pod.config[secret] if secret is not None else None
        if data is None:
            return None
        first = self._passwords.setdefault(pod.uid, data[PASSWORD_KEY])
        return first if self._behaviour.pull_secrets_stay else data[PASSWORD_KEY]

    def _answered(
        self, pod: SimPod, container: Container, method: str, reference: str, status: int, password: str | None
    ) -> Steps:
        """The registry notes a request, and answers it."""
        assert container.image is not None
        data: dict[str, Any] = {"method": method, "what": "manifests", "reference": reference}
        took_ns = int(container.image.answers_after_s * S)
        data |= {"status": status, "password": password, "answered_ns": self._loop.now + took_ns}
        pod.tape.requested(self._loop.now, container.name, data)
        if took_ns:
            yield took_ns
