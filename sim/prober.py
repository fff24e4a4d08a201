"""The probe workers of one pod: they ask with their periods, count answers in a row, and remember what follows from them.

pkg/kubelet/prober/worker.go doProbe and prober_manager.go AddPod @v1.37.1. A worker belongs to a container, not to an
instance: its count of failures goes on into the next instance. It ends when its container has exited for good.
"""

from collections.abc import Callable
from functools import partial

from crashloop.spec.pod import FAILS, Container, Handler, Probe, ProbeKind, RestartPolicy
from sim.behaviour import Behaviour, S
from sim.host import World
from sim.instance import SimulatedInstance
from sim.pod import SimPod
from sim.pod_actions import Probed

SYNC_MS = (20, 1_200)
"""Until the sync that a success of a startup probe causes, which asks the readiness probe: prober_manager.go UpdatePodStatus."""
KINDS = (ProbeKind.STARTUP, ProbeKind.READINESS, ProbeKind.LIVENESS)
"""In the order in which workers are added."""
FIRST_THAT_ADDS_FURTHER = (1, 37)
"""The first release that looks at the next container after one that has its worker."""

FIRST_THAT_KEEPS_READINESS = (1, 35)
"""The first release that goes on with what was said before its own restart: KEP-4781."""
RESTART_GRACE_NS = 10 * S
"""It does so of what has run for longer than that, in a pod that is ready: prober_manager.go setReadyStateOnKubeletRestart."""

Worker = tuple[str, ProbeKind]
"""Named by its container and its probe."""


class Prober:
    """All probe workers of a pod."""

    def __init__(
        self,
        world: World,
        behaviour: Behaviour,
        pod: SimPod,
        release: tuple[int, int],
        *,
        wake: Callable[[], None],
        is_over: Callable[[], bool],
        has_runtime: Callable[[], bool],
    ) -> None:
        self._loop, self._host = world
        self._behaviour = behaviour
        self._pod = pod
        self._release = release
        self._wake = wake
        self._is_over = is_over
        self._has_runtime = has_runtime
        self._phases: dict[Worker, int] = {}
        self._workers: set[Worker] = set()
        self._failures: dict[Worker, int] = {}
        """Failures in a row."""
        self._successes: dict[Worker, int] = {}
        """Successes in a row."""
        self._asked: dict[tuple[str, ProbeKind], int] = {}
        """Answers so far, by container id and kind."""
        self.probed = Probed()
        self._ready: set[str] = set()
        self._were_ready: set[str] = set()
        """Containers that are, or were in the life before, ready by their probe."""
        self._awaiting: dict[str, Callable[[], None]] = {}
        """What asks the readiness probe of a container that has not started yet, by its id."""
        self._over: set[Worker] = set()
        """Workers that a faulty kubelet does not begin again."""
        self.terminates = False
        """Whether the pod is being ended."""
        self._first_ns: dict[str, int] = {}
        """The first start of each container that was asked."""
        self.is_mute = False
        """Whether a faulty kubelet asks nothing more of what runs already."""
        self._started_before: set[str] = set()
        """Containers whose next life a faulty kubelet takes for started."""
        self._succeeded: set[str] = set()
        """Containers whose startup probe has succeeded in any life."""
        self._met: set[str] = set()
        """Instances that ran when this kubelet started and that it has not asked for their start."""
        self._unasked: set[str] = set()
        """The same of those that it takes for ready until it has asked."""

    def inherit(self, before: "Prober") -> None:
        """What the kubelet finds in the pod's status after its own restart."""
        keeps = self._behaviour.keeps_at_restart
        alive = {each.name: each for each in self._pod.alive()}
        if keeps == "nothing":
            return
        long_ns = self._loop.now - RESTART_GRACE_NS
        old = {each.container_id for each in alive.values() if (each.started_ns or self._loop.now) < long_ns}
        # No worker says yet that they have a startup probe: prober_manager.go@v1.37.2 isContainerStarted.
        self._met = {each.container_id for each in alive.values() if each.started_ns is not None}
        self._unasked = self._met - (old if self._release >= FIRST_THAT_KEEPS_READINESS else set())
        if self._release < FIRST_THAT_KEEPS_READINESS:
            return
        self.probed.started |= before.probed.started | old
        self._started_before = before._succeeded if keeps == "more" else set()
        kept = (*self._pod.regulars, *(each for each in self._pod.inits if each.is_sidecar))
        pod_is_ready = all(each.name in alive and before.is_ready(each, alive[each.name]) for each in kept)
        if keeps == "all" and pod_is_ready:
            # Ready in a status is enough, for whatever reason: prober_manager.go@v1.36.4 setReadyStateOnKubeletRestart.
            self._ready |= {alive[each.name].container_id for each in kept} & old

    def add_pod(self) -> None:
        """Make sure that every probe has its worker, as far as the kubelet looks."""
        probed = (*self._pod.regulars, *(each for each in self._pod.inits if each.is_sidecar))
        for container in probed if self._behaviour.probes_static or not self._pod.is_static else ():
            for probe in _in_order(container):
                worker = container.name, probe.kind
                which = self._behaviour.adds_workers
                if worker in self._workers:
                    if which != "all" and (which != "by release" or self._release < FIRST_THAT_ADDS_FURTHER):
                        return
                    if which != "all":
                        break
                    continue
                if worker in self._over:
                    continue
                self._workers.add(worker)
                for instance in () if self.is_mute else self._pod.alive():
                    if instance.name == container.name and instance.started_ns is not None:
                        self._plan(container, probe, instance)

    def watch(self, container: Container, instance: SimulatedInstance) -> None:
        """Probe an instance from now on."""
        for probe in _in_order(container):
            if self._behaviour.liveness_in_first_life and instance.number and probe.kind is ProbeKind.LIVENESS:
                continue
            if (container.name, probe.kind) in self._workers:
                self._plan(container, probe, instance)

    def ended(self, container: Container, *, for_good: bool) -> None:
        """An instance exited: its workers say so at their next ticks, and end if no other is to follow."""
        never = container.is_sidecar and self._pod.spec.restart_policy is RestartPolicy.NEVER
        for probe in container.probes:
            worker = container.name, probe.kind
            if never and probe.kind is ProbeKind.STARTUP and self._behaviour.startup_outlives_exits != "always":
                self._over.add(worker)
                self._workers.discard(worker)
            self._loop.at(self._tick(worker, probe, self._loop.now), partial(self._ended, worker, for_good))

    def is_ready(self, container: Container, instance: SimulatedInstance) -> bool:
        """What the status says of a running instance."""
        if container.is_sidecar and self._behaviour.sidecars_ready_unprobed:
            return True
        has_started = instance.container_id in self._met or self.has_started(container, instance)
        if self._behaviour.heeds_readiness and not has_started:
            return False
        if self._behaviour.never_ready:
            return False
        # A worker goes when the status shows the end, not before.
        has_all = not self._workers or instance.exited_ns is not None
        kinds = [each.kind for each in container.probes] if has_all else self._kinds_of(container)
        has_worker = ProbeKind.READINESS in kinds and self._behaviour.heeds_readiness
        kept = self._behaviour.stays_ready and container.name in self._were_ready
        return not has_worker or kept or instance.container_id in self._ready | self._unasked

    def states_started(self, container: Container, instance: SimulatedInstance) -> bool:
        """What the status says of a running instance: prober_manager.go@v1.37.1 isContainerStarted."""
        before = self._behaviour.states_started == "by any life" and container.name in self._succeeded
        return before or instance.container_id in self._met or self.has_started(container, instance)

    def grace_s(self, container: Container, instance: SimulatedInstance | None = None) -> int | None:
        """The grace period of the probe that an instance has failed; None: that of the pod (kuberuntime_container.go@v1.37.1)."""
        how, pod_s = self._behaviour.probe_grace, self._pod.spec.grace_s
        failed = self.probed.failed.get(instance.container_id) if instance is not None else None
        probe = next(iter(container.killing_probes), None) if how == "for every kill" else failed
        if how == "30 s" or probe is None or probe.grace_s is None:
            return 30 if how == "30 s" else None
        own_s = probe.grace_s
        graces = {"the pod's": pod_s, "the longer": max(own_s, pod_s), "the shorter": min(own_s, pod_s), "none": 0}
        return graces.get(how, own_s)

    def _kinds_of(self, container: Container) -> list[ProbeKind]:
        """What of it is asked by a worker."""
        return [kind for name, kind in self._workers if name == container.name]

    def _ended(self, worker: Worker, for_good: bool) -> None:
        if for_good and not any(each.name == worker[0] for each in self._pod.alive()):
            self._workers.discard(worker)
        self._wake()

    def _plan(self, container: Container, probe: Probe, instance: SimulatedInstance) -> None:
        behaviour = self._behaviour
        follows = probe.kind is ProbeKind.READINESS and behaviour.readiness_follows_start and behaviour.awaits_startup
        if follows and not self.has_started(container, instance):
            self._awaiting[instance.container_id] = partial(self._ask, container, probe, instance)
        elif behaviour.heeds_probes:
            tick = self._tick((container.name, probe.kind), probe, self._loop.now)
            self._loop.at(tick, lambda: self._ask(container, probe, instance))

    def _tick(self, worker: Worker, probe: Probe, after_ns: int) -> int:
        period = probe.period_s * 1_000_000_000
        phase = self._phases.setdefault(worker, int(self._host.chance.random() * period))
        return after_ns + period - (after_ns - phase) % period

    def has_started(self, container: Container, instance: SimulatedInstance) -> bool:
        has_startup = container.probe(ProbeKind.STARTUP) is not None
        spared = {
            "every start": False,
            "first start": instance.number > 0,
            "first success": container.name in self._succeeded,
        }
        if container.name in self._started_before:
            return True
        return not has_startup or spared[self._behaviour.startup_asked] or instance.container_id in self.probed.started

    def _ask(self, container: Container, probe: Probe, instance: SimulatedInstance) -> None:
        worker = container.name, probe.kind
        if self._behaviour.http_in_first_life and probe.handler is Handler.HTTP and instance.number:
            return
        if self._is_done(container, probe) or instance.exited_ns is not None or worker not in self._workers:
            return
        if self._pod.was_reset and container.is_sidecar and self._behaviour.sidecars_after_reset == "never started":
            return
        is_startup = probe.kind is ProbeKind.STARTUP
        started = self.has_started(container, instance)
        if is_startup and instance.container_id in self._met:
            self._met.discard(instance.container_id)
            self._wake()
        if probe.kind is ProbeKind.READINESS and instance.container_id in self._unasked:
            self._unasked.discard(instance.container_id)
            self._wake()
        if instance.container_id in self.probed.failed or (is_startup and started and self._behaviour.startup_ends):
            return
        if not is_startup and not started and self._behaviour.awaits_startup:
            self._plan(container, probe, instance)
            return
        if self._loop.now < self._asks_from_ns(probe, instance):
            self._plan(container, probe, instance)
            return
        if probe.handler is Handler.EXEC and not self._has_runtime():
            self._unanswered(container, probe, instance)
            return
        asked = instance.container_id, probe.kind
        number = self._asked.get(asked, 0)
        self._asked[asked] = number + 1
        stamped_ns = self._host.awake(
            self._loop.now + self._host.program_ms(self._host.model.answer_ms, self._loop.now)
        )
        answer = probe.answer(number, (stamped_ns - instance.spoke_ns) / 1e9)
        self._pod.tape.noted(stamped_ns, f"{probe.kind}.{number}", answer, self._pod.uid, instance)
        asked_ns, answered_ns = self._loop.now, stamped_ns + int(probe.answering_s(answer) * 1e9)
        self._loop.at(answered_ns, lambda: self._answered(container, probe, instance, answer, (asked_ns, answered_ns)))

    def _is_done(self, container: Container, probe: Probe) -> bool:
        """Whether the kubelet works on the pod no more; while it ends it, readiness probes and those of sidecars go on.

        pkg/kubelet/prober/prober_manager.go@v1.37.2 StopLivenessAndStartup looks at regular containers alone.
        """
        goes_on = self._behaviour.probes_at_end
        spared = probe.kind is ProbeKind.READINESS or container.is_sidecar
        asks = goes_on == "all" or (goes_on == "readiness" and spared)
        return self._is_over() and not (self.terminates and asks)

    def _asks_from_ns(self, probe: Probe, instance: SimulatedInstance) -> int:
        """When the initial delay has passed: pkg/kubelet/prober/worker.go@v1.37.1 doProbe, by a start in whole seconds."""
        how, started_ns = self._behaviour.initial_delay, instance.started_ns or self._loop.now
        if how == "since the first start":
            started_ns = self._first_ns.setdefault(instance.name, started_ns)
        delay_s = {"ignored": 0.0, "halved": probe.initial_delay_s / 2, "8 s more": probe.initial_delay_s + 8.0}.get(
            how, float(probe.initial_delay_s)
        )
        return started_ns - started_ns % S + int(delay_s * S)

    def _unanswered(self, container: Container, probe: Probe, instance: SimulatedInstance) -> None:
        """The runtime refuses the connection: pkg/kubelet/prober/prober.go probe, an error."""
        worker, kind = (container.name, probe.kind), self._behaviour.without_runtime
        if kind in ("a failure", "fatal"):
            self._failures[worker] = self._failures.get(worker, 0) + 1
            if kind == "fatal" or self._failures[worker] >= probe.failure_threshold:
                self._failures[worker] = 0
                self._fail(probe, instance)
        if kind != "the last question":
            self._plan(container, probe, instance)

    def _answered(
        self, container: Container, probe: Probe, instance: SimulatedInstance, answer: str, span_ns: tuple[int, int]
    ) -> None:
        asked_ns, answered_ns = span_ns
        worker, behaviour = (container.name, probe.kind), self._behaviour
        counter = (container.name, ProbeKind.LIVENESS) if behaviour.failures_shared else worker
        is_cut_off = instance.exited_ns is not None and instance.exited_ns < answered_ns
        if is_cut_off and probe.handler is Handler.HTTP:
            # A connection that its end cuts is a failure of a container that is gone already.
            self._failures[counter] = (self._failures.get(counter, 0) + 1) % probe.failure_threshold
            self._successes[worker] = 0
        if self._is_done(container, probe) or is_cut_off:
            return
        failed = answer == FAILS if behaviour.accepts_late_answers else probe.counts_as_failure(answer)
        failed &= not (behaviour.silence_succeeds and probe.handler is Handler.HTTP and probe.hangs)
        failures = self._failures.get(counter, 0) + 1 if failed else 0
        self._failures[counter] = (
            self._failures.get(counter, 0) if behaviour.failures_add_up and not failed else failures
        )
        if not failed or behaviour.ready_after != "in any order":
            self._successes[worker] = 0 if failed else self._successes.get(worker, 0) + 1
        chosen = {"least": min, "most": max}.get(behaviour.thresholds)
        threshold = chosen(each.failure_threshold for each in container.probes) if chosen else probe.failure_threshold
        if failed and failures >= max(1, threshold + behaviour.extra_failures):
            self._failures[counter] = 0
            self._fail(probe, instance)
        elif not failed and self._successes[worker] >= self._needed(probe):
            self._succeed(probe, instance)
        self._loop.at(
            max(self._loop.now, asked_ns + self._period_s(container, probe) * 1_000_000_000),
            lambda: self._ask(container, probe, instance),
        )

    def _period_s(self, container: Container, probe: Probe) -> int:
        of = container.probes[0] if self._behaviour.periods == "of the first" else probe
        return of.period_s * self._behaviour.probe_period_factor

    def _needed(self, probe: Probe) -> int:
        """Successes after which a probe has succeeded."""
        if probe.kind is not ProbeKind.READINESS:
            return 1
        threshold = probe.success_threshold
        return {"one": 1, "one more": threshold + 1}.get(self._behaviour.ready_after, threshold)

    def _succeed(self, probe: Probe, instance: SimulatedInstance) -> None:
        if probe.kind is ProbeKind.STARTUP:
            self._succeeded.add(instance.name)
        elif probe.kind is ProbeKind.READINESS:
            self._were_ready.add(instance.name)
        known = {ProbeKind.STARTUP: self.probed.started, ProbeKind.READINESS: self._ready}.get(probe.kind)
        if known is not None and instance.container_id not in known:
            known.add(instance.container_id)
            if probe.kind is not ProbeKind.STARTUP or self._behaviour.start_is_noticed:
                self._wake()
        if probe.kind is ProbeKind.STARTUP and (ask := self._awaiting.pop(instance.container_id, None)):
            self._loop.after(self._host.takes_ms(SYNC_MS), ask)

    def _fail(self, probe: Probe, instance: SimulatedInstance) -> None:
        if probe.kind is ProbeKind.READINESS:
            if not self._behaviour.ready_for_good:
                self._ready.discard(instance.container_id)
                self._were_ready.discard(instance.name)
            if self._behaviour.readiness_kills:
                self.probed.failed[instance.container_id] = probe
        elif not (
            self._behaviour.deaf_to_sidecars == probe.kind and self._pod.spec.container(instance.name).is_sidecar
        ):
            self.probed.failed[instance.container_id] = probe
        self._wake()


def _in_order(container: Container) -> list[Probe]:
    return sorted(container.probes, key=lambda probe: KINDS.index(probe.kind))
