"""The kubelet process: its configuration, its counters in memory, its pods; it can be restarted, with another configuration."""

from collections.abc import Sequence
from typing import Any

import msgspec

from crashloop.history.event import Kind
from crashloop.spec.pod import Container, RestartPolicy
from sim.backoff import GC_PERIOD_NS, Backoffs
from sim.behaviour import Behaviour, S
from sim.config import Effective
from sim.control_plane import rejects
from sim.dependency import Configuration, Puller
from sim.host import Steps, World
from sim.instance import SimulatedInstance
from sim.instrumentation import Metrics
from sim.pod import SimPod
from sim.policy import Policies
from sim.recorder import Tape
from sim.runtime import Runtime
from sim.status_manager import Connection, StatusWriter
from sim.sync import PodSync

LOOK_NS = S // 50
LATE_NS = 45 * S
"""How late a faulty kubelet is that is late."""


class Turns:
    """A lock that all pods of a node share."""

    def __init__(self) -> None:
        self._taken = False

    def one_at_a_time(self, steps: Steps) -> Steps:
        """The procedure, begun when no other one is under way."""
        while self._taken:
            yield LOOK_NS
        self._taken = True
        yield from steps
        self._taken = False


START_MS = (800, 2_500)
RUNTIME_ASKED_MS = (0, 5_000)
"""Until it asks the runtime again how it is: pkg/kubelet/kubelet.go@v1.37.1 updateRuntimeUp."""
FIRST_PID = 4_000
RETRY_NS = S // 10


class Kubelet:
    """One node's kubelet over all its processes."""

    def __init__(
        self, world: World, tapes: Sequence[Tape], runtime: Runtime, effective: Effective, behaviour: Behaviour
    ) -> None:
        self.world = world
        self.loop, self.host = world
        self.tapes = tapes
        self.runtime = runtime
        self.behaviour = behaviour
        self._first = effective
        self._configure(effective)
        self._written: tuple[Effective, str | None] = effective, None
        """What the next process starts with."""
        self.configuration = Configuration(behaviour)
        self.metrics = Metrics(behaviour)
        self.connection = Connection(world)
        self._pods: dict[str, tuple[SimPod, StatusWriter]] = {}
        self._syncs: dict[str, PodSync] = {}
        self._turns = Turns()
        self._pid = FIRST_PID
        self.up = self.was_restarted = self.is_restarting = False
        self.has_network = True
        """As it sees it: what the runtime says is asked every few seconds."""
        self.backoffs = self._new_backoffs()
        runtime.kills_hard = behaviour.kills_hard
        runtime.hook_in_grace = behaviour.hook_in_grace
        runtime.repeats_kills = behaviour.repeats_kills
        runtime.on_change = self._changed
        runtime.on_create = self._created
        runtime.on_start = self._started
        runtime.on_exit = self._exited
        runtime.on_exit_planned = self._exit_planned

    def start(self, started_ns: int) -> None:
        """The process is there and answers; it takes every pod as it finds it."""
        self._pid += 1
        self.up, self.is_restarting = True, False
        self.metrics = Metrics(self.behaviour)
        self._tick_phase_ns = self._phase(S)
        fresh = self._new_backoffs()
        if not self.behaviour.survives_restart:
            self.backoffs = fresh
        self._puller = Puller(self.world, self.policies, self.effective.max_ns)
        data: dict[str, Any] = {
            "kubelet_pid": self._pid,
            "kubelet_started_ns": started_ns,
            "configz": self.effective.configz,
            "gates": self.effective.gates,
            "matches_profile": True,
        } | ({} if self._profile is None else {"profile": self._profile})
        for tape in self.tapes:
            tape.kubelet(self.loop.now, Kind.NODE, data)
        for pod, writer in self._pods.values():
            self._take(pod, writer)

    def write(self, profile: str, effective: Effective) -> None:
        """The configuration of a profile is written for the next process."""
        first = self.effective
        if self.behaviour.keeps_first_curve:
            effective = msgspec.structs.replace(effective, initial_ns=first.initial_ns, max_ns=first.max_ns)
        self._written = effective, profile
        if self.behaviour.reloads_configuration:
            self.backoffs.initial_ns, self.backoffs.max_ns = effective.initial_ns, effective.max_ns

    def restart(self, down_ns: int) -> None:
        """The process goes, and comes back later with an empty memory, and with what was written last."""
        self.was_restarted = self.is_restarting = True
        lingers_ns = min(self.behaviour.lingers_ns, down_ns // 2)
        if lingers_ns:
            self.loop.after(lingers_ns, self._stop)
        else:
            self._stop()
        self._configure(*self._written)
        if self.behaviour.rules_in_first_process:
            self.policies = Policies(self.behaviour, rules=False, reset=False)
        self.loop.after(down_ns, self._come_back)

    def cut_off(self) -> None:
        """It reaches its control plane no more."""
        self.connection.cut()
        if self.behaviour.kills_alone_after_ns is not None:
            cut_ns = self.loop.now

            def kill_if_still_alone() -> None:
                if self.connection.since_ns == cut_ns:
                    self._kill_all("everything")

            self.loop.after(self.behaviour.kills_alone_after_ns, kill_if_still_alone)

    def connect(self) -> None:
        """It reaches its control plane again."""
        self.connection.restore()

    def take_network(self) -> None:
        """The node loses its pod network. Until the kubelet sees that, the runtime makes no sandbox."""
        self.has_network = False

    def give_network(self) -> None:
        """The kubelet sees it when it asks the runtime again."""

        def seen() -> None:
            self.has_network = True

        self.loop.after(self.host.takes_ms(RUNTIME_ASKED_MS), seen)

    def refuse(self) -> None:
        """The process goes, and the next one refuses its configuration."""
        self._stop()
        if self.behaviour.kills_when_refusing:
            self._kill_all("everything")

    def _stop(self) -> None:
        self.up = False
        for sync in self._syncs.values():
            sync.worker.halt()

    def _kill_all(self, which: str) -> None:
        for pod, _ in self._pods.values():
            for instance in pod.alive():
                container = pod.spec.container(instance.name)
                if pod.is_among(which, container):
                    self.loop.spawn(self.runtime.kill(pod, container, instance))

    def _configure(self, effective: Effective, profile: str | None = None) -> None:
        """What the next process reads when it starts; `profile` is None for the node's own."""
        self.effective, self._profile = effective, profile
        followed = self._first if self.behaviour.keeps_first_rules else effective
        self.policies = Policies(self.behaviour, followed.rules, followed.reset)

    def _come_back(self) -> None:
        if any(sync.worker.busy for sync in self._syncs.values()):
            self.loop.after(RETRY_NS, self._come_back)
            return
        self._kill_all(self.behaviour.kills_at_restart)
        started_ns = self.loop.now
        self.loop.after(self.host.takes_ms(START_MS), lambda: self.start(started_ns))

    def admit(self, pod: SimPod, writer: StatusWriter) -> None:
        """A pod was bound to this node."""
        if rejects(pod.spec, self.effective, self.behaviour):
            writer.state({"phase": "Failed", "reason": self.behaviour.rejects_as})
            return
        self._pods[pod.uid] = pod, writer
        if self.behaviour.admission_forgets:
            self.backoffs.clear()
        if self.up:
            self._take(pod, writer)

    def delete(self, pod: SimPod) -> Steps:
        """Take a pod down for good; one that was rejected is down."""
        if self.behaviour.deletion_forgets:
            self.backoffs.clear()
        if self._pods.pop(pod.uid, None) is None:
            return
        meanwhile = not self.up or self.runtime.is_away
        while not self.up or (meanwhile and self.behaviour.ends_deleted_meanwhile == "never"):
            yield LOOK_NS
        if meanwhile and self.behaviour.ends_deleted_meanwhile == "late":
            yield LATE_NS
        yield from self._syncs[pod.uid].delete()

    def forget(self, pod: SimPod) -> None:
        """A pod that has gone is not known any more: one of the same uid is new."""
        del self._syncs[pod.uid]

    def updated(self, pod: SimPod) -> None:
        """The pod's object changed."""
        if self.behaviour.forgets_on_annotation:
            self._forget(pod)
        if self.up and pod.uid in self._syncs:
            self._syncs[pod.uid].worker.wake()

    def relabelled(self, pod: SimPod) -> None:
        """A label of the pod's object changed."""
        if self.behaviour.forgets_on_label:
            self._forget(pod)

    def _exited(self, pod: SimPod, instance: SimulatedInstance) -> None:
        if pod.uid in self._syncs:
            self._syncs[pod.uid].exited(instance)

    def _take(self, pod: SimPod, writer: StatusWriter) -> None:
        before = self._syncs.get(pod.uid)
        if before is None or pod.is_static:
            pod.taken_ns = self.loop.now
        sync = PodSync(
            self.world,
            self.runtime,
            pod,
            writer,
            self.effective,
            self.policies,
            self.backoffs,
            self.configuration,
            self._puller,
            self._tick_phase_ns,
        )
        sync.is_alone = lambda: self.connection.lost
        sync.has_network = lambda: self.has_network
        sync.metrics = self.metrics
        if before is not None:
            sync.statements.inherit(before.statements)
            sync.prober.inherit(before.prober)
            if not self.behaviour.count_survives_restart:
                sync.statements.uncounted = dict(pod.numbers)
            if self.behaviour.reruns_at_restart and pod.alive():
                pod.reruns = {each.name for each in pod.regulars} - {each.name for each in pod.alive()}
            down = {each.name for each in pod.inits if each.is_sidecar} - {each.name for each in pod.alive()}
            if self.behaviour.sidecars_at_restart == "left":
                pod.left |= down
            if self.behaviour.sidecars_at_restart == "counted anew":
                sync.statements.uncounted |= {name: pod.numbers[name] for name in down & pod.numbers.keys()}
            if self.behaviour.reruns_never_at_restart:
                never = {each.name for each in pod.regulars if each.restart_policy is RestartPolicy.NEVER}
                pod.reruns = {name for name in never if pod.exit_codes.get(name)} - {each.name for each in pod.alive()}
            if self.behaviour.repeats_init_at_restart and not pod.alive():
                pod.reruns = {each.name for each in pod.inits}
            sync.prober.is_mute = self.behaviour.probes_end_at_restart
            for instance in pod.alive() if self.behaviour.rebuilds_running else ():
                sync.delays.step(pod.spec.container(instance.name), self.loop.now, instance.number)
            if pod.is_static:
                self._meddle_with_static(pod, writer)
            self._meddle_with_reset(pod)
            if writer.written.get("phase") == "Succeeded":
                match self.behaviour.done_at_restart:
                    case "rejected":
                        writer.state({**writer.written, "phase": "Failed", "reason": "OutOfpods"})
                        sync.worker.halt()
                    case "runs":
                        sync.worker.halt()
                        for each in pod.regulars:
                            self.loop.spawn(self.runtime.start(pod, each, 1, self.configuration.of(pod, each)))
                    case "stated":
                        writer.state({**writer.written, "phase": "Running"})
                        sync.worker.halt()
        if self.behaviour.syncs_in_turn:
            alone = sync.worker.sync
            sync.worker.sync = lambda: self._turns.one_at_a_time(alone())
        self._syncs[pod.uid] = sync
        if self.behaviour.forgets_on_status:
            writer.on_write = lambda: self._forget(pod)
        sync.pleg.refresh()
        for instance in () if sync.prober.is_mute else pod.alive():
            sync.prober.watch(pod.spec.container(instance.name), instance)
        sync.worker.wake()

    def _meddle_with_static(self, pod: SimPod, writer: StatusWriter) -> None:
        """What a faulty kubelet does to a static pod that it finds."""
        match self.behaviour.static_at_restart:
            case "left":
                pod.left = {each.name for each in pod.regulars} - {each.name for each in pod.alive()}
            case "killed":
                for instance in pod.alive():
                    self.loop.spawn(self.runtime.kill(pod, pod.spec.container(instance.name), instance))
            case "mute":
                writer.close()

    def _meddle_with_reset(self, pod: SimPod) -> None:
        """What a faulty kubelet does to a pod that it finds while all its containers restart."""
        alive = {each.name for each in pod.alive()}
        match self.behaviour.reset_at_restart if pod.spec.restarts_all else "goes on":
            case "forgotten":
                pod.left = {each.name for each in pod.regulars if each.rules} - alive
            case "repeated":
                pod.reruns = {each.name for each in pod.inits} & alive
            case "not awaited":
                pod.unawaited = pod.was_reset

    def _forget(self, pod: SimPod) -> None:
        self._syncs[pod.uid].delays.forget()

    def _changed(self) -> None:
        for sync in self._syncs.values():
            sync.pleg.plan()

    def _created(self, pod: SimPod, instance: SimulatedInstance) -> None:
        """A kubelet that keeps root filesystems gives the instance that of the one before it; some mount volumes anew."""
        before = [each for each in pod.instances if each.name == instance.name]
        when = {
            "never": False,
            "always": True,
            "after 0": instance.previous_code == 0,
            "sometimes": instance.number % 3 == 0,
        }
        if before and when[self.behaviour.keeps_root]:
            instance.root = before[-1].root
        if before and when[self.behaviour.remounts]:
            pod.marked_volume.clear()

    def _started(self, pod: SimPod, container: Container, instance: SimulatedInstance) -> None:
        sync = self._syncs[pod.uid]
        if not sync.worker.halted:
            sync.prober.watch(container, instance)
        if not pod.was_reset and self._drops_log(pod, container, instance):
            pod.logs[container.name].discard(instance.number - 1)
        has_hook = container.post_start and (self.behaviour.hooks_of_sidecars or not container.is_sidecar)
        runs = self.behaviour.hook_runs[instance.number > 0] if has_hook else 0
        for name in ("hook", "hook.again")[:runs]:
            late_ns = self.behaviour.kills_by_hook_ns[instance.number > 0]
            self.runtime.hook(pod, container, instance, name, late_ns)

    def _drops_log(self, pod: SimPod, container: Container, instance: SimulatedInstance) -> bool:
        """Whether the log of the instance before this one goes, by what it is and how that ended."""
        match self.behaviour.drops_previous_log:
            case "after a success":
                return instance.previous_code == 0
            case "after a kill":
                return instance.previous_code == container.exit_code_on_term
            case "out of memory":
                before = (each for each in pod.instances if each.name == container.name)
                return any(each.out_of_memory for each in before if each.number == instance.number - 1)
            case "from the seventh on":
                return instance.number >= 7
            case "init":
                return container in pod.inits and not container.is_sidecar
            case "in company":
                return len(pod.spec.containers) > 1
            case when:
                return when == "always"

    def _exit_planned(self, pod: SimPod, container: Container, exit_ns: int) -> None:
        """A kubelet that starts the next instance before the present one exits does so once."""
        ahead = exit_ns - self.behaviour.starts_ahead_ns
        if self.behaviour.starts_ahead_ns and pod.numbers[container.name] == 1 and ahead > self.loop.now:
            pod.numbers[container.name] = 2
            self.loop.at(ahead, lambda: self.loop.spawn(self._start_ahead(pod, container)))

    def _start_ahead(self, pod: SimPod, container: Container) -> Steps:
        yield from self.runtime.start(pod, container, 2, self.configuration.of(pod, container))

    def _new_backoffs(self) -> Backoffs:
        return Backoffs(self.effective.initial_ns, self.effective.max_ns, self.behaviour, self._phase(GC_PERIOD_NS))

    def _phase(self, period_ns: int) -> int:
        return self.loop.now + int(self.host.chance.random() * period_ns)
