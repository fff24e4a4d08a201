"""Interventions in a running scenario: every action as calls to the API or to the cluster.

In the annotated mode an annotation is patched about once a second as well, so that the kubelet syncs the pod.
"""

import logging
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from random import Random
from typing import Any

import msgspec

from crashloop.cluster.provider import Outages
from crashloop.errors import CrashloopError, ProcessEnded, UsageError
from crashloop.history.event import Event
from crashloop.history.payload import REFUSED
from crashloop.kube.answers import KubeError
from crashloop.kube.client import STRATEGIC_MERGE, KubeApi
from crashloop.record.channels.channel import intervention_event, now_ns
from crashloop.record.channels.containerd.attribution import is_instance_of, is_sandbox_of
from crashloop.record.channels.containerd.wire import Containerd, ContainerRecord
from crashloop.record.event_router import PodRecording
from crashloop.record.pod_dependencies import ConfigObjects, ScenarioImages
from crashloop.record.pod_progress import DueSignal
from crashloop.record.pods import Pods
from crashloop.record.site import KUBELET_ANSWERS_S, RecordingSite, outages_of
from crashloop.spec.control_plane import Component
from crashloop.spec.intervention import (
    DISTURB_NODE,
    Intervention,
    InterventionKind,
    absent_s,
    down_s,
    hangs,
    read_after_s,
)
from crashloop.spec.pod import ContainerKind
from crashloop.spec.profile import PROFILE_LABEL, node_name
from crashloop.spec.scenario import POKE_EVERY_S
from crashloop.waiting import wait_until

log = logging.getLogger(__name__)

ANNOTATION = "crashloop.dev/poke"
POKE_ACTION = InterventionKind.ANNOTATE.value


def annotation(value: str) -> dict[str, Any]:
    """The patch that does nothing but make the kubelet look."""
    return {"metadata": {"annotations": {ANNOTATION: value}}}


class Annotations:
    """The pokes of one scenario. `due` is called by one thread, `poke` done by one at a time.

    The times between them are drawn from `POKE_EVERY_S`, the same ones for the same seed.
    """

    def __init__(self, seed: str, now_s: float) -> None:
        self._chance = Random(seed)
        self._next_s = now_s
        self._count = 0
        self._last_ns: int | None = None
        self._longest_ns = 0

    def due(self, now_s: float) -> bool:
        """Whether it is time; if so, the next is due a period after this one was, or from now on if that has passed."""
        if now_s < self._next_s:
            return False
        self._next_s = max(self._next_s + self._chance.uniform(*POKE_EVERY_S), now_s)
        return True

    def poke(self, api: KubeApi, namespace: str, pod: str) -> Event | None:
        """Patch the annotation. The event if it is the first poke or a failure: the others are only counted."""
        began_ns = now_ns()
        try:
            api.patch_pod(namespace, pod, annotation(str(began_ns)))
        except KubeError as error:
            return intervention_event(began_ns, POKE_ACTION, str(error))
        self._count += 1
        first, before_ns, self._last_ns = self._last_ns is None, self._last_ns or began_ns, began_ns
        self._longest_ns = max(self._longest_ns, began_ns - before_ns)
        return intervention_event(began_ns, POKE_ACTION, "ok") if first else None

    def last(self) -> list[Event]:
        """The last poke, with what was counted; nothing if there was none."""
        if self._last_ns is None:
            return []
        return [intervention_event(self._last_ns, POKE_ACTION, "ok", count=self._count, longest_ns=self._longest_ns)]


Arguments = dict[str, Any]

LABEL = "crashloop.dev/changed"
"""A label that nothing selects by."""

SIGNAL = "signal"
"""The action of a signal that a program wants: its index is null."""


class Interventions:
    """Carries interventions out.

    The site's facts hear of a node that an intervention may have left broken, and of a kubelet that gets another profile.
    """

    def __init__(self, site: RecordingSite, *, pods: Pods, objects: ConfigObjects, images: ScenarioImages) -> None:
        self._api, self._namespace = site.api, site.namespace
        self._cluster, self._router, self._facts = site.cluster, site.router, site.facts
        self._took_network = self._took_label = False
        self._away: list[threading.Thread] = []
        """Restarts that nobody waits for."""
        self._actions: dict[InterventionKind, Callable[[PodRecording, Arguments], None]] = {
            InterventionKind.ANNOTATE: self._annotate,
            InterventionKind.LABEL: self._label,
            InterventionKind.CHANGE_IMAGE: self._change_image,
            InterventionKind.RESIZE: self._resize,
            InterventionKind.RECREATE_POD: lambda watched, _: pods.recreate(watched),
            InterventionKind.DELETE_POD: lambda watched, given: (
                pods.delete_gracefully(watched, read_after_s=read_after_s(given))
                if given.get("wait", True)
                else pods.request_deletion(watched, at_once=bool(given.get("at_once")))
            ),
            InterventionKind.EDIT_STATIC_POD: lambda watched, _: pods.edit(watched),
            InterventionKind.RENEW_STATIC_POD: lambda watched, given: pods.renew(watched, absent_s(given)),
            InterventionKind.DELETE_MIRROR_POD: lambda watched, _: pods.delete_mirror(watched),
            InterventionKind.CREATE_OBJECT: lambda watched, given: objects.create(watched.scenario, given["object"]),
            InterventionKind.CHANGE_OBJECT: lambda watched, given: objects.change(
                watched.scenario, given["object"], given["data"]
            ),
            InterventionKind.DELETE_OBJECT: lambda watched, given: objects.delete(watched.scenario, given["object"]),
            InterventionKind.OFFER_IMAGE: lambda _, given: images.offer(given["container"], given["version"]),
            InterventionKind.KILL_SANDBOX: self._kill_sandbox,
            InterventionKind.REMOVE_CONTAINER: self._remove_container,
            InterventionKind.RESTART_KUBELET: lambda watched, given: self._restart_kubelet(watched, given, kill=False),
            InterventionKind.KILL_KUBELET: lambda watched, given: self._restart_kubelet(watched, given, kill=True),
            InterventionKind.WRITE_KUBELET_CONFIG: self._write_kubelet_config,
            InterventionKind.RESTART_RUNTIME: lambda watched, given: self._cluster.restart_runtime(
                watched.node.name, down_s=down_s(given), hangs=hangs(given)
            ),
            InterventionKind.TAKE_NETWORK: self._take_network,
            InterventionKind.GIVE_NETWORK: self._give_network,
            InterventionKind.UNLABEL_NODE: self._unlabel_node,
            InterventionKind.STOP_COMPONENT: lambda _, given: self._outages().stop(Component(given["component"])),
            InterventionKind.START_COMPONENT: lambda _, given: self._outages().start(
                Component(given["component"]), given.get("feature_gates") or {}
            ),
            InterventionKind.CUT_OFF_NODE: lambda watched, _: self._outages().cut_off(watched.node.name),
            InterventionKind.CONNECT_NODE: lambda watched, _: self._outages().connect(watched.node.name),
        }

    def carry_out(self, watched: PodRecording, index: int) -> None:
        """Do it, and write what came of it into the history; what disturbs a node, into those of all scenarios there.

        What could not be done is evidence as well, not an error of the run. A restart without `wait` goes on meanwhile.
        """
        intervention = watched.scenario.interventions[index]
        if intervention.action in DISTURB_NODE and not intervention.arguments.get("wait", True):
            restart = threading.Thread(target=self._carry_out, args=(watched, index, intervention), name="away")
            self._away.append(restart)
            restart.start()
        else:
            self._carry_out(watched, index, intervention)

    def join(self) -> None:
        """Wait for what goes on."""
        while self._away:
            self._away.pop().join()

    def _carry_out(self, watched: PodRecording, index: int, intervention: Intervention) -> None:
        began_ns, outcome = now_ns(), "ok"
        try:
            self._actions[intervention.action](watched, intervention.arguments)
        except CrashloopError as error:
            outcome = str(error)
            if intervention.refused and isinstance(error, ProcessEnded):
                outcome = f"{REFUSED}{outcome}"
            elif intervention.action in DISTURB_NODE:
                self._facts.spoil(watched.node.name, outcome)
        node, action, arguments = watched.node.name, intervention.action.value, intervention.arguments
        event = intervention_event(began_ns, action, outcome, arguments=arguments, index=index, node=node)
        watched.take(event)
        if intervention.action in DISTURB_NODE:
            others = msgspec.structs.replace(event, data=event.data | {"index": None, "scenario": watched.name})
            for scenario in self._router.on_node(watched.node.name):
                if scenario is not watched:
                    scenario.take(others)
        log.info("scenario %s: %s: %s", watched.name, action, outcome)

    def send(self, watched: PodRecording, signals: Iterable[DueSignal]) -> None:
        """Send the signals that end lives of the scenario's programs."""
        for each in signals:
            began_ns, outcome = now_ns(), "ok"
            try:
                with _runtime_of(watched) as runtime:
                    runtime.kill(each.container_id, each.signal)
            except CrashloopError as error:
                outcome = str(error)
            arguments = {"container": each.container, "signal": each.signal}
            event = intervention_event(began_ns, SIGNAL, outcome, arguments=arguments, node=watched.node.name)
            watched.take(event)

    def _outages(self) -> Outages:
        return outages_of(self._cluster)

    def _annotate(self, watched: PodRecording, _: Arguments) -> None:
        self._api.patch_pod(self._namespace, watched.name, annotation(str(now_ns())))

    def _label(self, watched: PodRecording, _: Arguments) -> None:
        self._api.patch_pod(self._namespace, watched.name, {"metadata": {"labels": {LABEL: str(now_ns())}}})

    def _change_image(self, watched: PodRecording, arguments: Arguments) -> None:
        """To `image`; without it, to the same image by its digest: other text, same content, and no need to pull."""
        container = _text_argument(watched, arguments, "container")
        image = arguments.get("image") or self._image_id(watched, container)
        self._patch_container(watched, container, {"image": image})

    def _image_id(self, watched: PodRecording, container: str) -> str:
        status = self._api.get_pod(self._namespace, watched.name)["status"]
        for each in (*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())):
            if each["name"] == container and each.get("imageID"):
                return str(each["imageID"])
        raise UsageError(
            f"scenario {watched.name}: the image of container {container!r} is not known yet.\n"
            "Let the intervention wait until the container has started."
        )

    def _resize(self, watched: PodRecording, arguments: Arguments) -> None:
        """Change the requests (`cpu`, `memory`) of a container in place."""
        requests = {name: arguments[name] for name in ("cpu", "memory") if name in arguments}
        self._patch_container(
            watched,
            _text_argument(watched, arguments, "container"),
            {"resources": {"requests": requests}},
            subresource="resize",
        )

    def _restart_kubelet(self, watched: PodRecording, arguments: Arguments, *, kill: bool) -> None:
        node, name = watched.node.name, arguments.get("profile")
        profile = None if name is None else self._facts.write(node, name)
        self._facts.restarts(node)
        self._cluster.restart_kubelet(node, kill=kill, down_s=down_s(arguments), profile=profile)

    def _write_kubelet_config(self, watched: PodRecording, arguments: Arguments) -> None:
        node = watched.node.name
        self._cluster.write_kubelet_config(node, self._facts.write(node, _text_argument(watched, arguments, "profile")))

    def _take_network(self, watched: PodRecording, _: Arguments) -> None:
        self._took_network = True
        self._cluster.take_network(watched.node.name)

    def _give_network(self, watched: PodRecording, _: Arguments) -> None:
        self._cluster.give_network(watched.node.name)
        self._took_network = False

    def _unlabel_node(self, watched: PodRecording, _: Arguments) -> None:
        self._took_label = True
        self._label_node(watched.node_name, None)

    def _label_node(self, node: str, profile: str | None) -> None:
        body = {"metadata": {"labels": {PROFILE_LABEL: profile and node_name(profile)}}}
        path = f"/api/v1/nodes/{node}"
        self._api.call(f"label node {node}", "PATCH", path, body=body, content_type=STRATEGIC_MERGE)

    def restore(self, node: str, profile: str) -> None:
        """Give a node its pod network and the label of its profile back, and its kubelet that profile, if they have gone."""
        if self._took_label:
            with self._spoiled_by_failure(node):
                self._label_node(node, profile)
        if self._took_network:
            with self._spoiled_by_failure(node):
                self._cluster.give_network(node)
        if node not in self._facts.reconfigured:
            return
        before = self._facts.event(node).data["kubelet_pid"]
        with self._spoiled_by_failure(node):
            self._cluster.restart_kubelet(node, profile=self._facts.reconfigure(node, None))
            wait_until(
                f"the kubelet of {node} to answer with its own profile",
                lambda: self._facts.event(node).data["kubelet_pid"] != before,
                timeout_s=KUBELET_ANSWERS_S,
                every_s=0.2,
            )

    @contextmanager
    def _spoiled_by_failure(self, node: str) -> Iterator[None]:
        """A node that does not get back what it had serves no further scenario."""
        try:
            yield
        except CrashloopError as error:
            self._facts.spoil(node, str(error))

    def _kill_sandbox(self, watched: PodRecording, _: Arguments) -> None:
        """End the first process of the pod's newest sandbox."""
        with _runtime_of(watched) as runtime:
            sandboxes = (each for each in runtime.containers() if is_sandbox_of(each, watched.newest_pod))
            runtime.kill(_newest_id(sandboxes, f"scenario {watched.name}: its pod has no sandbox."), signal.SIGKILL)

    def _remove_container(self, watched: PodRecording, arguments: Arguments) -> None:
        """Remove the container's newest instance, whatever its state."""
        name = _text_argument(watched, arguments, "container")
        with _runtime_of(watched) as runtime:
            instances = (each for each in runtime.containers() if is_instance_of(each, watched.newest_pod, name))
            runtime.remove(_newest_id(instances, f"scenario {watched.name}: its container {name!r} has no instance."))

    def _patch_container(
        self, watched: PodRecording, container: str, change: Arguments, *, subresource: str | None = None
    ) -> None:
        field = "containers" if container in _regular_containers(watched) else "initContainers"
        patch = {"spec": {field: [{"name": container} | change]}}
        self._api.patch_pod(self._namespace, watched.name, patch, subresource=subresource)


def _runtime_of(watched: PodRecording) -> closing[Containerd]:
    if watched.node.runtime_socket is None:
        raise UsageError(f"node {watched.node.name}: its runtime cannot be reached from here.")
    return closing(Containerd(watched.node.runtime_socket))


def _newest_id(records: Iterable[ContainerRecord], missing: str) -> str:
    """The id of the container that was created last. Raises UsageError with `missing` if there is none."""
    newest = max(records, key=lambda each: each.created_ns, default=None)
    if newest is None:
        raise UsageError(missing)
    return newest.container_id


def _regular_containers(watched: PodRecording) -> set[str]:
    return {each.name for each in watched.scenario.pod.of_kind(ContainerKind.REGULAR)}


def _text_argument(watched: PodRecording, arguments: Arguments, name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise UsageError(
            f"scenario {watched.name}: an intervention has no argument {name!r}; its arguments: {arguments}."
        )
    return value
