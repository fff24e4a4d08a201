"""The simulated recorder's other half: creates the pod, intervenes as planned, annotates, and ends the scenario."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from random import Random
from typing import Any

from crashloop.history.event import Channel, Event, Kind
from crashloop.history.payload import REFUSED
from crashloop.spec.control_plane import Component
from crashloop.spec.dependency import ConfigObject
from crashloop.spec.intervention import (
    RESTART_THE_KUBELET,
    Intervention,
    InterventionKind,
    absent_s,
    down_s,
    hangs,
    read_after_s,
)
from crashloop.spec.scenario import POKE_EVERY_S, Mode, PodScenario
from crashloop.spec.state_metrics import of_state_metrics
from sim.behaviour import S
from sim.completion import Completion
from sim.config import Effective, StartRefusal
from sim.control_plane import UNSCHEDULABLE, holds_back, manifest, stored_pod
from sim.host import MS, Action, Steps, World
from sim.instance import SimulatedInstance
from sim.instrumentation import state_series
from sim.kubelet import Kubelet
from sim.pod import SimPod
from sim.recorder import Tape
from sim.runtime import Runtime
from sim.status_manager import StatusWriter

SAME_IMAGE = "crashloop/workload@sha256:1"
"""What an image is changed to where an intervention names none: the same by its digest."""
POKE_MS = (POKE_EVERY_S[0] * 1_000, POKE_EVERY_S[1] * 1_000)
REQUEST_MS = (5, 40)
NOTICE_NS = 10 * MS
RELIST_MS = (50, 1_100)
"""Until the kubelet sees that a sandbox is gone."""
RUNTIME_DOWN_MS = (400, 1_500)
SETTLE_NS = 4 * S
"""How long the statuses may take to show what truth has shown already."""
LOOK_NS = 200 * MS


class ScenarioPlayer:
    """Carries out one scenario and writes its history."""

    def __init__(
        self,
        scenario: PodScenario,
        world: World,
        tape: Tape,
        runtime: Runtime,
        kubelet: Kubelet,
        later: Mapping[str, Effective | StartRefusal],
        on_end: Action,
    ) -> None:
        """`later` are configurations by the profiles that the scenario restarts the kubelet with."""
        self.scenario = scenario
        self.world = world
        self.loop, self.host = world
        self.tape = tape
        self.runtime = runtime
        self.kubelet = kubelet
        self._later = later
        self.history: tuple[Event, ...] | None = None
        """None until it has ended."""
        self._on_end = on_end
        self._complete = False
        self._unread = False
        """Whether nothing is read out any more."""
        self._completion = Completion(scenario.until)
        self._created_ns = self.loop.now
        self._exits: dict[str, int] = {}
        self._pokes_ns: list[int] = []
        self._poke_chance = Random(scenario.name)
        for index, each in enumerate(scenario.interventions):
            if each.trigger.before_pod:
                self._intervene(index, each)
        self.pod, self._writer = self._create()
        self.loop.after(int(scenario.until.at_least_s * 1e9), self._check)
        for index, each in enumerate(scenario.interventions):
            if each.trigger.after_restart is None and not each.trigger.before_pod:
                self._plan(index, each)
        if scenario.mode is Mode.ANNOTATED:
            self.loop.after(self._period_ns(), self._poke)

    def _create(self) -> tuple[SimPod, StatusWriter]:
        behaviour = self.kubelet.behaviour
        stored = stored_pod(self.scenario.pod, self.scenario.own_gates, behaviour)
        pod = SimPod(self.scenario.name, self._uuid(), stored, self.loop.now, self.tape, self.scenario.objects)
        pod.on_exit = self._exited
        writer = StatusWriter(self.world, pod, self.kubelet.connection)
        writer.on_delivery = self._status_seen
        self._completion.add(pod)
        self._accept(pod)
        self.loop.after(self.host.takes_ms(REQUEST_MS), lambda: self._place(pod, writer))
        return pod, writer

    def _place(self, pod: SimPod, writer: StatusWriter) -> None:
        """The pod is bound to its node, by its creation or by the scheduler."""
        node, behaviour = self.kubelet.effective, self.kubelet.behaviour
        # The scheduler is taken to be of the kubelet's release.
        if not self.scenario.by_scheduler or not holds_back(pod.spec, node, node.release, behaviour):
            self.kubelet.admit(pod, writer)
            return
        writer.state(UNSCHEDULABLE)
        if behaviour.scheduler_gives_in_ns is not None:
            self.loop.after(behaviour.scheduler_gives_in_ns, lambda: self.kubelet.admit(pod, writer))

    def _accept(self, pod: SimPod) -> None:
        """The API server has taken the pod."""
        self.tape.api(self.loop.now, Kind.CREATED, {"pod": manifest(pod)}, pod.uid)

    def _uuid(self) -> str:
        text = f"{self.host.chance.getrandbits(128):032x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"

    def _exited(self, instance: SimulatedInstance) -> None:
        index = self._exits.get(instance.name, 0)
        self._exits[instance.name] = index + 1
        for number, each in enumerate(self.scenario.interventions):
            if each.trigger.container == instance.name and each.trigger.after_restart == index:
                self._plan(number, each)
        self.loop.after(NOTICE_NS, self._check)

    def _plan(self, index: int, intervention: Intervention) -> None:
        delay_ns = int(intervention.trigger.after_s * 1e9) + NOTICE_NS
        self.loop.after(delay_ns, lambda: self._intervene(index, intervention))

    def _intervene(self, index: int, intervention: Intervention) -> None:
        if intervention.action in RESTART_THE_KUBELET and self.kubelet.is_restarting:
            # One is carried out after the other.
            self.loop.after(NOTICE_NS, lambda: self._intervene(index, intervention))
            return
        arguments = intervention.arguments
        carry_out: dict[InterventionKind, Callable[[dict[str, Any]], None]] = {
            InterventionKind.ANNOTATE: lambda _: self._update(lambda: None),
            InterventionKind.LABEL: lambda _: self._update(lambda: self.kubelet.relabelled(self.pod)),
            InterventionKind.CHANGE_IMAGE: self._change_image,
            InterventionKind.RESIZE: self._resize,
            InterventionKind.RECREATE_POD: lambda _: self.loop.spawn(self._recreate()),
            InterventionKind.KILL_SANDBOX: lambda _: self.loop.spawn(self._kill_sandbox()),
            InterventionKind.REMOVE_CONTAINER: self._remove_container,
            InterventionKind.DELETE_POD: lambda given: (
                self.loop.spawn(self._delete(read_after_s(given)))
                if given.get("wait", True)
                else self._request_deletion(at_once=given.get("at_once", False))
            ),
            InterventionKind.EDIT_STATIC_POD: lambda _: self.loop.spawn(self._edit()),
            InterventionKind.RENEW_STATIC_POD: lambda given: self.loop.spawn(self._renew(absent_s(given))),
            InterventionKind.DELETE_MIRROR_POD: lambda _: self._delete_mirror(),
            InterventionKind.CREATE_OBJECT: lambda given: self._set_object(given, self._object(given).data),
            InterventionKind.CHANGE_OBJECT: lambda given: self._set_object(
                given, {**self._object(given).data, **given["data"]}
            ),
            InterventionKind.DELETE_OBJECT: lambda given: self._set_object(given, None),
            InterventionKind.OFFER_IMAGE: self._offer_image,
            InterventionKind.RESTART_KUBELET: self._restart_kubelet,
            InterventionKind.KILL_KUBELET: self._restart_kubelet,
            InterventionKind.WRITE_KUBELET_CONFIG: self._write_kubelet_config,
            InterventionKind.RESTART_RUNTIME: self._restart_runtime,
            InterventionKind.TAKE_NETWORK: lambda _: self.kubelet.take_network(),
            InterventionKind.GIVE_NETWORK: lambda _: self.kubelet.give_network(),
            InterventionKind.UNLABEL_NODE: lambda _: None,
            InterventionKind.STOP_COMPONENT: lambda _: self.kubelet.cut_off(),
            InterventionKind.START_COMPONENT: self._start_component,
            InterventionKind.CUT_OFF_NODE: lambda _: self.kubelet.cut_off(),
            InterventionKind.CONNECT_NODE: lambda _: self.kubelet.connect(),
        }
        carry_out[intervention.action](arguments)
        took_ns = 0 if intervention.trigger.before_pod else self.host.takes_ms(REQUEST_MS)
        ended_ns = self.loop.now + took_ns
        self.tape.intervened(
            self.loop.now, intervention.action.value, arguments, index, ended_ns, outcome=self._outcome(intervention)
        )

    def _outcome(self, intervention: Intervention) -> str:
        read = self._later[intervention.profile] if intervention.refused and intervention.profile else None
        return f"{REFUSED}{read.text}" if isinstance(read, StartRefusal) else "ok"

    def _poke(self) -> None:
        """Patch an annotation, as about once a second in the mode annotated; the first is written down at once."""
        if self.history is not None:
            return
        self._update(lambda: None)
        if not self._pokes_ns:
            self._write_poke(self.loop.now)
        self._pokes_ns.append(self.loop.now)
        self.loop.after(self._period_ns(), self._poke)

    def _period_ns(self) -> int:
        """Until the next poke, any length as likely as another."""
        least, most = POKE_MS
        return int((least + (most - least) * self._poke_chance.random()) * MS)

    def _write_poke(self, t_ns: int, **more: int) -> None:
        self.tape.intervened(t_ns, InterventionKind.ANNOTATE.value, {}, None, t_ns, **more)

    def _update(self, change: Callable[[], None]) -> None:
        """Change the pod object; the kubelet hears of it a moment later."""
        pod = self.pod

        def heard() -> None:
            change()
            self.kubelet.updated(pod)

        self.loop.after(self.host.takes_ms(REQUEST_MS), heard)

    def _change_image(self, arguments: dict[str, Any]) -> None:
        images, image = self.pod.images, arguments.get("image", SAME_IMAGE)
        self._update(lambda: images.update({arguments["container"]: image}))

    def _resize(self, arguments: dict[str, Any]) -> None:
        resources = self.pod.resources
        self._update(lambda: resources.update({arguments["container"]: f"cpu={arguments['cpu']}"}))

    def _object(self, arguments: dict[str, Any]) -> ConfigObject:
        return self.pod.objects[arguments["object"]]

    def _set_object(self, arguments: dict[str, Any], data: dict[str, str] | None) -> None:
        """Change an object; the kubelet, which watches it, knows a moment later."""
        config = self.pod.config
        self.loop.after(self.host.takes_ms(REQUEST_MS), lambda: config.update({arguments["object"]: data}))

    def _offer_image(self, arguments: dict[str, Any]) -> None:
        self.pod.offers[arguments["container"]] = arguments["version"]

    def _recreate(self) -> Steps:
        yield from self._delete()
        self.pod, self._writer = self._create()

    def _delete(self, read_s: float = 0.0) -> Steps:
        old = self.pod
        if not read_s:
            self._read_out()
        yield self.host.takes_ms(REQUEST_MS)
        self._writer.mark_deleting()
        if read_s:
            self.loop.after(int(read_s * 1e9), self._read_out)
        yield from self.kubelet.delete(old)
        if self.kubelet.behaviour.removes_deleted != "always" and self.kubelet.was_restarted:
            return
        self.tape.api(self._writer.delivered_ns, Kind.DELETED, {"resource_version": "9999"}, old.uid)

    def _edit(self) -> Steps:
        raise NotImplementedError("only a static pod has a file to change")

    def _renew(self, absent_s: float) -> Steps:
        raise NotImplementedError("only a static pod has a file to write again")

    def _delete_mirror(self) -> None:
        raise NotImplementedError("only a static pod has a mirror pod")

    def _request_deletion(self, *, at_once: bool) -> None:
        """The object says so, or goes, at once; the kubelet acts when it has heard of it. Nobody reads the journals."""
        self._unread = True
        if at_once:
            self._writer.close()
            gone_ns = self._writer.delivered_ns + self.host.takes_ms(REQUEST_MS)
            self.tape.api(gone_ns, Kind.DELETED, {"resource_version": "9999"}, self.pod.uid)
            self.loop.spawn(self.kubelet.delete(self.pod))
            return
        self._writer.mark_deleting()
        if not self.kubelet.connection.lost:
            self.loop.spawn(self._delete())
            return
        self.kubelet.connection.once_heard(lambda: self.loop.spawn(self._delete()))

    def _start_component(self, arguments: dict[str, Any]) -> None:
        """The recorder has lost its watch with the API server, not with etcd."""
        since_ns = self.kubelet.connection.since_ns
        if since_ns is not None and arguments["component"] == Component.API_SERVER:
            self.tape.gap(Channel.API, since_ns, self.loop.now, "connection refused")
        self.kubelet.connect()

    def _kill_sandbox(self) -> Steps:
        """The sandbox ends; its containers run on until the kubelet sees that."""
        pod = self.pod
        yield from self.runtime.stop_sandbox(pod)
        self.loop.after(self.host.takes_ms(RELIST_MS), lambda: self.kubelet.updated(pod))

    def _remove_container(self, arguments: dict[str, Any]) -> None:
        """The runtime forgets the container; the kubelet sees that it is gone, not how it ended."""
        pod = self.pod
        self.runtime.forget(pod, arguments["container"])
        self.loop.after(self.host.takes_ms(RELIST_MS), lambda: self.kubelet.updated(pod))

    def _restart_kubelet(self, arguments: dict[str, Any]) -> None:
        if "profile" in arguments and isinstance(self._later[arguments["profile"]], StartRefusal):
            self.kubelet.refuse()
            return
        if "profile" in arguments:
            self._write_kubelet_config(arguments)
        self.kubelet.restart(int(down_s(arguments) * 1e9))

    def _write_kubelet_config(self, arguments: dict[str, Any]) -> None:
        profile = arguments["profile"]
        effective = self._later[profile]
        assert isinstance(effective, Effective)
        self.kubelet.write(profile, effective)

    def _restart_runtime(self, arguments: dict[str, Any]) -> None:
        if hangs(arguments):
            self.runtime.restart(int(down_s(arguments) * 1e9))
            return
        down_ns = self.host.takes_ms(RUNTIME_DOWN_MS) + int(down_s(arguments) * 1e9)
        self.runtime.restart(down_ns)
        since_ns, pod = self.loop.now, self.pod

        def back() -> None:
            running = [each.container_id for each in pod.alive()]
            self.tape.gap(Channel.RUNTIME, since_ns, self.loop.now, "container runtime restarted", running)

        self.loop.after(down_ns, back)

    def _status_seen(self, pod_uid: str, status: dict[str, Any]) -> None:
        self._completion.take_status(pod_uid, status)
        self._check()

    def _check(self) -> None:
        """Whether the evidence that the scenario needs is there; then the quiet follows, and the statuses get time."""
        aged_ns = self.loop.now - self._created_ns
        if self._complete or aged_ns < int(self.scenario.until.at_least_s * 1e9):
            return
        if self._completion.is_complete():
            self._complete = True
            self._rest()

    def _rest(self, moves: int | None = None) -> None:
        """Wait until no container has started or exited during a whole quiet; `moves` is how many had before this one."""
        moved = self._completion.moves()
        if moved != moves:
            self.loop.after(int(self.scenario.until.quiet_s * 1e9), lambda: self._rest(moved))
        elif self.history is None:
            self._settle(self.loop.now + SETTLE_NS)

    def _settle(self, at_most_ns: int) -> None:
        if self.history is not None:
            return
        if self._completion.is_reported() or self.loop.now >= at_most_ns:
            self.end("complete")
        else:
            self.loop.after(LOOK_NS, lambda: self._settle(at_most_ns))

    def end(self, reason: str) -> None:
        """The recording ends: read the pod out, and write the last poke down with what became of all."""
        if of_state_metrics(self.scenario.samples):
            stated = state_series(self.pod.uid, self._writer.written, self.kubelet.behaviour)
            self.tape.sampled(self.loop.now, {"series": [*stated]})
        self._read_out()
        self.tape.read_requests(self.loop.now)
        if self.scenario.samples and not of_state_metrics(self.scenario.samples):
            series = self.kubelet.metrics.series(self.kubelet.effective)
            kept = [each for each in series if each["name"].removesuffix("_count") in self.scenario.samples]
            self.tape.kubelet(self.loop.now, Kind.SAMPLE, {"series": kept})
        pokes_ns = self._pokes_ns
        if pokes_ns:
            longest_ns = max((after - before for before, after in pairwise(pokes_ns)), default=0)
            self._write_poke(pokes_ns[-1], count=len(pokes_ns), longest_ns=longest_ns)
        self.history = self.tape.seal(self.loop.now, reason)
        self._on_end()

    def _read_out(self) -> None:
        """The pod as it is now, and the journals of its containers."""
        if self._unread:
            return
        self._writer.read()
        logs = {name: sorted(numbers) for name, numbers in sorted(self.pod.logs.items())}
        self.tape.kubelet(self.loop.now, Kind.LOG_FILES, {"logs": logs}, pod_uid=self.pod.uid)
        self.tape.read_journals(self.pod.uid, self.loop.now)
