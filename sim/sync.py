"""One pod sync, from the look at the pod cache to the last start: the work of the kubelet on one pod.

pkg/kubelet/kubelet.go SyncPod and pkg/kubelet/kuberuntime/kuberuntime_manager.go SyncPod, doBackOff @v1.37.1. A sync
works with the pod at its begin: containers that it kills itself still count as running.
"""

from collections.abc import Callable, Generator
from typing import Any

from crashloop.spec.pod import Container, ContainerKind
from sim.backoff import Backoffs, RestartDelays
from sim.behaviour import S
from sim.config import Effective, spell
from sim.dependency import Configuration, Puller
from sim.host import Steps, World
from sim.instance import InstanceState, PodView, SimulatedInstance
from sim.instrumentation import Metrics, PodLog
from sim.pod import SimPod
from sim.pod_actions import Actions, Kill, LateStarts, decide, reset_late_ns, reset_targets, restarts
from sim.pod_end import PodEnd, as_hooked
from sim.pod_status import TERMINAL
from sim.pod_worker import RETRY_NS, ActiveDeadline, Pleg, Worker
from sim.policy import Policies
from sim.prober import Prober
from sim.runtime import REFUSAL, Runtime
from sim.statements import Statements
from sim.status_manager import LateStatements, StatusWriter

FREE = 0
MOUNT_TIMEOUT_NS = 123 * S
"""pkg/kubelet/volumemanager/volume_manager.go@v1.37.1 podAttachAndMountTimeout."""
NETWORK_RETRY_NS = S
"""pkg/kubelet/pod_workers.go@v1.37.1 backOffOnTransientErrorPeriod."""
SECOND_INSTANCE = 2
"""The restart at which a faulty kubelet starts two instances: the first one that is delayed."""


class PodSync:
    """The kubelet's hold on one pod."""

    def __init__(
        self,
        world: World,
        runtime: Runtime,
        pod: SimPod,
        writer: StatusWriter,
        effective: Effective,
        policies: Policies,
        backoffs: Backoffs,
        configuration: Configuration,
        puller: Puller,
        tick_phase_ns: int,
    ) -> None:
        self.loop, self.host = world
        self.runtime = runtime
        self.pod = pod
        self.writer = writer
        self.effective = effective
        self.policies = policies
        self.behaviour = policies.behaviour
        self.configuration = configuration
        self.puller = puller
        self._failed_starts = 0
        self._resets = False
        self._second = False
        """Whether a faulty kubelet restarts all containers once more."""
        self._statements_out = LateStatements(world, self.behaviour, pod, writer)
        self.log = PodLog(pod, self.behaviour)
        self.delays = RestartDelays(pod, policies, backoffs)
        self.statements = Statements(pod, policies, lambda: self.loop.now)
        self.pleg = Pleg(world, runtime, pod)
        self.pleg.on_relist = self._relisted
        self.worker = Worker(world, self.pleg, self.behaviour, effective.release, tick_phase_ns)
        self.worker.sync = self._sync
        self._late = LateStarts(world, self.behaviour, pod, self.worker.wake)
        self.prober = Prober(
            world,
            self.behaviour,
            pod,
            effective.release,
            wake=self.worker.wake,
            is_over=lambda: self.worker.halted,
            has_runtime=lambda: not runtime.is_away,
        )
        self.statements.is_ready = self.prober.is_ready
        self.statements.has_started = self.prober.states_started
        self.statements.carries_started = effective.release >= (1, 35)
        self.statements.states_sandbox_at_once = effective.release >= (1, 36)
        self._end = PodEnd(world, runtime, self.worker, self.prober, self.statements, writer, self._start)
        self._deadline = ActiveDeadline(world, self.behaviour, pod, wake=self.worker.wake)
        self.is_alone: Callable[[], bool] = lambda: False
        """Whether the node has no control plane."""
        self.has_network: Callable[[], bool] = lambda: True
        """Whether the kubelet sees that its node has a pod network."""
        self._lacked_network = False
        self.metrics = Metrics(self.behaviour)
        """Of the kubelet."""

    def exited(self, instance: SimulatedInstance) -> None:
        """The runtime saw an exit."""
        if not self.worker.halted:
            container = self.pod.spec.container(instance.name)
            # No status shows the end of what a RestartAllContainers kills, nor of what the sync that kills it starts anew: its
            # workers go by the status.
            is_killed = instance.container_id in self.prober.probed.failed
            is_anew = is_killed and self.policies.restarts_after_kill(container, self.pod.spec.restart_policy)
            for_good = not (self._resets or is_anew or restarts(instance, container, self.pod, self.policies))
            self.prober.ended(container, for_good=for_good)

    def _relisted(self, changed: bool, died: list[SimulatedInstance]) -> None:
        """Look at the pod as the cache has it now, and remove dead instances of a container but the newest."""
        self.worker.relisted(changed)
        for name in {instance.name for instance in died}:
            exited = [each for each in self.pod.instances if each.name == name and each.seen is InstanceState.EXITED]
            for older in exited[: -self.behaviour.keeps_exited]:
                if not self.behaviour.keeps_each or older.ordinal % self.behaviour.keeps_each:
                    self.runtime.remove(self.pod, older)

    def _sync(self) -> Steps:
        if self.pod.sandbox_id is None:
            self.pleg.refresh()  # a relist tells the end of a sandbox, and with it every exit before that
        view = PodView(self.pod.instances, has_sandbox=self.pod.sandbox_id is not None)
        yield self.host.step_ms(self.host.model.sync_ms, self.loop.now)
        if self._deadline.passed and self.behaviour.deadline == "kills only":
            self._deadline.passed = False
            yield from self._end.kill_all()
        self.statements.past_deadline = self._deadline.passed
        status, phase = self.statements.status(view)
        self.metrics.stated(self.pod.uid, phase)
        self._state(status)
        ephemeral = {each.name for each in self.pod.ephemerals} if self.behaviour.awaits_ephemerals else set()
        if phase in TERMINAL and not any(each.name in ephemeral for each in self.pod.alive()):
            yield from self._end.terminate()
            return
        if self.behaviour.awaits_network and not self.has_network():
            self._lacked_network = True
            self.worker.completed(failed=True, retry_ns=NETWORK_RETRY_NS)
            return
        if self._lacked_network:
            self._lacked_network = False
            self._waited(self.behaviour.network_wait_steps)
        self.prober.add_pod()
        actions = decide(self.pod, view, self.policies, self.prober.probed)
        if actions.reset is None and self._second and not actions.starts:
            actions.reset = self.pod.regulars[0]
        if actions.reset is not None:
            yield from self._reset(actions.reset)
            return
        if self.behaviour.siblings_too:
            self._take_siblings_along(view, actions)
        self._resize(actions)
        for kill in actions.kills:
            grace_s = self.prober.grace_s(kill.container, kill.instance)
            container = as_hooked(kill.container, kill.instance, self.behaviour.runs_hooks, at_end=False)
            hard = self.behaviour.resizes_hard and kill.instance.resources != self.pod.resources[container.name]
            yield from self.runtime.kill(self.pod, container, kill.instance, grace_s, hard=hard)
        if actions.kill_pod:
            yield from self._end.kill_all()
            yield from self.runtime.stop_sandbox(self.pod)
        if self.behaviour.awaits_volumes and not (yield from self._mounts()):
            self.worker.completed(failed=True)
            return
        if actions.create_sandbox:
            self._purge_inits()
            self.metrics.pods += 1
            yield from self.runtime.create_sandbox(self.pod)
            if (at_once := self.statements.with_sandbox()) is not None:
                self._state(at_once, apart=True)
        yield from self._start_all(actions, view)

    def _state(self, status: dict[str, Any], *, apart: bool = False) -> None:
        # What has ended for good leaves no terminated state: pkg/kubelet/status/status_manager.go@v1.37.1 updateStatusInternal.
        if any(each.name in self.pod.forgotten for each in self.pod.regulars):
            return
        self._statements_out.state(status, apart=apart)

    def _mounts(self) -> Generator[int, None, bool]:
        """Wait for the volumes, each of which is tried again after twice the time; whether they are there."""
        waited_ns, retry_ns = 0, S // 2
        while not self.configuration.is_mounted(self.pod) and waited_ns < MOUNT_TIMEOUT_NS:
            self.pod.awaits_volumes = True
            yield retry_ns
            waited_ns, retry_ns = waited_ns + retry_ns, 2 * retry_ns
        self.pod.awaits_volumes = False
        if waited_ns:
            self._waited(self.behaviour.volume_wait_steps)
        return self.pod.is_mounted

    def _waited(self, steps: int) -> None:
        for container in self.pod.spec.containers:
            self.delays.step(container, self.loop.now, steps)

    def _purge_inits(self) -> None:
        """A new sandbox begins without the init containers of the last one: kuberuntime_manager.go SyncPod."""
        inits = {each.name for each in self.pod.inits}
        for instance in [each for each in self.pod.instances if each.name in inits and each.exited_ns is not None]:
            self.pod.purged.add(instance.name)
            self.runtime.remove(self.pod, instance)

    def _start_all(self, actions: Actions, view: PodView) -> Steps:
        if self.pod.sandbox_id is None and actions.starts:
            # It has gone since the sync began, so no container can be created.
            self.worker.completed(failed=True)
            return
        if self.behaviour.siblings_wait and (longest_ns := self._longest_wait_ns(actions, view)) > FREE:
            self.worker.completed(failed=True, held_ns=longest_ns)
            return
        alone = self.is_alone()
        if alone and not self.behaviour.restarts_alone and actions.starts:
            self.worker.completed(failed=True)
            return
        if alone and self.behaviour.forgets_alone:
            self.delays.forget()
        held_ns: int | None = None
        failed = actions.kill_pod
        acted = bool(actions.kills or actions.kill_pod)
        for container in self._in_order(self._late.due(actions.starts)):
            wait_ns = self._backoff(container, view)
            is_init = container.kind is ContainerKind.INIT and not container.is_sidecar
            if wait_ns <= FREE:
                yield from self.puller.ensure(self.pod, container)
                problem = self._problem(container)
                if problem is not None:
                    failed = True
                    self._failed_starts += 1
                    self.statements.failed[container.name] = problem
                    self.log.add(self.loop.now, container, problem, "an image or an object is missing")
                    continue
            self.statements.failed.pop(container.name, None)
            if wait_ns <= FREE and self.pod.sandbox_id is None:
                failed = True  # it has gone meanwhile: containerd internal/cri/server/container_create.go@v2.3.7 CreateContainer
                break
            if wait_ns <= FREE:
                acted = True
                self.metrics.started()
                self.statements.reasons.pop(container.name, None)
                self.statements.refused.discard(container.name)
                yield from self._start(container, has_record=bool(view.of(container.name)))
                if container.program.is_refused:
                    failed = True
                    self._note_refused(container)
                    if is_init:
                        break
                continue
            chosen = max if self.behaviour.retries_by_longest else min
            held_ns = wait_ns if held_ns is None else chosen(held_ns, wait_ns)
            if is_init or self.behaviour.held_ends_starts:
                break
        if held_ns is not None:
            # The shortest backoff as of now: starting the others took time.
            retry_ns = self.behaviour.alone_retry_ns if alone else None
            self.worker.completed(failed=True, held_ns=held_ns, retry_ns=retry_ns, acted=acted)
        else:
            self.worker.completed(failed=failed, retry_ns=self._retry_ns() if failed else None, acted=acted)

    def _note_refused(self, container: Container) -> None:
        self.statements.refused.add(container.name)
        self.statements.reasons[container.name] = REFUSAL
        self.log.add(self.loop.now, container, "RunContainerError", REFUSAL)

    def _problem(self, container: Container) -> str | None:
        """Why the container cannot be created, as the kubelet states it; None if it can."""
        pull_error = self.pod.pull_errors.get(container.name)
        complete = self.configuration.is_complete(self.pod, container)
        return pull_error or (None if complete else "CreateContainerConfigError")

    def _retry_ns(self) -> int | None:
        """When a faulty kubelet tries a failed start again."""
        behaviour = self.behaviour
        if behaviour.failed_start_factor > 1 and self._failed_starts:
            return int(RETRY_NS * behaviour.failed_start_factor ** (self._failed_starts - 1))
        return behaviour.failed_start_retry_ns if self._failed_starts else None

    def _in_order(self, starts: list[Container]) -> list[Container]:
        orders = {"declared": starts, "reverse": starts[::-1], "names": sorted(starts, key=lambda each: each.name)}
        return orders[self.behaviour.start_order]

    def _longest_wait_ns(self, actions: Actions, view: PodView) -> int:
        exited = [(each, last) for each in actions.starts if (last := view.newest_exited(each.name)) is not None]
        return max((self.delays.remaining_ns(*each, self.loop.now) for each in exited), default=FREE)

    def _backoff(self, container: Container, view: PodView) -> int:
        """For how long the start is held back, in nanoseconds; FREE counts as a start attempt."""
        last = view.newest_exited(container.name)
        if last is None or last.exited_ns is None:
            return FREE
        wait_ns = self.delays.remaining_ns(container, last, self.loop.now)
        if wait_ns <= FREE:
            self.delays.attempt(container, last, self.loop.now, self.host.chance.random())
            return FREE
        self._log_backoff(container)
        self.metrics.held_back()
        self.delays.looked(container)
        return wait_ns

    def _log_backoff(self, container: Container) -> None:
        stated_ns = self.delays.stated_ns(container, self.loop.now)
        delay = spell(int(stated_ns * self.behaviour.message_factor))
        self.statements.refused.discard(container.name)
        text = f"back-off {delay} restarting failed container={container.name} pod={self.pod.stem}"
        self.statements.reasons[container.name] = text
        self.log.add(self.loop.now, container, "CrashLoopBackOff", text, delay_s=stated_ns / 1e9)

    def _start(self, container: Container, *, has_record: bool = True) -> Steps:
        pod, name = self.pod, container.name
        env = self.configuration.of(pod, container) | self.puller.variables(pod, container)
        forgets = not self.behaviour.counts_beyond_records and name in self.statements.lost | pod.forgotten
        # Neither a record nor a log says how often it ran: kuberuntime_container.go@v1.37.1 calcRestartCountByLogDir.
        if name in pod.purged and not has_record:
            pod.counted_anew.add(name)
            forgets = True
        pod.purged.discard(name)
        number = 0 if forgets else pod.numbers.get(name, -1) + 1
        pod.numbers[name] = number
        pod.reruns.discard(name)
        pod.repeated |= {name} if pod.exit_codes.get(name) == 0 else set()
        uncounted = (
            (self.is_alone() and not self.behaviour.counts_alone)
            or (pod.exit_codes.get(name) == 0 and not self.behaviour.counts_after_0)
            or (container.program.is_refused and not self.behaviour.counts_refused)
        )
        if number and uncounted:
            self.statements.uncounted[name] = self.statements.uncounted.get(name, 0) + 1
        if number and self.behaviour.init_starts_over and container in pod.inits:
            earlier = pod.inits[: pod.inits.index(container)]
            pod.reruns |= {each.name for each in earlier if not each.is_sidecar}
        if number and self.behaviour.restart_takes_done_along:
            pod.reruns |= {each.name for each in pod.regulars} - {name, *(each.name for each in pod.alive())}
        if number and self._wants_new_sandbox(number):
            yield from self._replace_sandbox()
        if self.behaviour.starts_twice and number == SECOND_INSTANCE:
            self.loop.spawn(self.runtime.start(pod, container, number, env))
        if number and self.behaviour.spare_create:
            yield from self.runtime.create_spare(pod, container)
        yield from self.runtime.start(pod, container, number, env)

    def _wants_new_sandbox(self, number: int) -> bool:
        behaviour = self.behaviour
        if behaviour.new_sandbox_each is not None and number % behaviour.new_sandbox_each == 0:
            return True
        if behaviour.forgotten == "all in a new sandbox" and self.pod.forgotten:
            return True
        ruled = any(each.rules for each in self.pod.spec.containers)
        return behaviour.new_sandbox or (behaviour.new_sandbox_without_rules and not ruled)

    def _replace_sandbox(self) -> Steps:
        yield from self.runtime.stop_sandbox(self.pod, remove=True)
        yield from self.runtime.create_sandbox(self.pod)
        for instance in self.pod.instances:
            instance.sandbox = self.pod.sandboxes

    def _reset(self, source: Container) -> Steps:
        """Remove every instance, one after the other, the container that exited last; a new start-up follows."""
        pod = self.pod
        removed = set()
        killed = False
        self._resets = True
        exited = [each for each in pod.instances if each.exited_ns is not None]
        together = sum(self.policies.resets(pod.spec.container(each.name), pod.spec, each) for each in exited) > 1
        if late_ns := reset_late_ns(pod, self.behaviour):
            yield late_ns
        for container in reset_targets(pod, source, self.statements.reasons, self.behaviour):
            for instance in [each for each in pod.instances if each.name == container.name]:
                removed.add(container.name)
                if instance.exited_ns is None:
                    killed = True
                    yield container.pre_stop_s * S if self.behaviour.reset_runs_hooks else 0
                    yield from self.runtime.kill(pod, container, instance, self.behaviour.reset_grace_s)
                self.runtime.remove(pod, instance, keep_log=self._keeps_log(container, source))
        if source.name not in removed:
            for instance in [each for each in pod.instances if each.name == source.name]:
                self.runtime.remove(pod, instance, keep_log=self._keeps_log(source, source))
        if not self.behaviour.reset_keeps_sandbox:
            yield from self._replace_sandbox()
        yield from self._meddle_with_ephemerals()
        if self.behaviour.reset_empties_volumes:
            pod.marked_volume.clear()
        if self.behaviour.reset_forgets:
            self.delays.forget()
        self._second = self.behaviour.triggers_together == "two" and together
        pod.was_reset = True
        self._resets = False
        if self.behaviour.reset_counts_anew:
            self.statements.uncounted |= {name: number + 1 for name, number in pod.numbers.items()}
        self.statements.mark_reset(removed)
        self.worker.completed(failed=False)
        if killed or self.effective.release >= (1, 36):
            self.worker.wake()

    def _keeps_log(self, container: Container, source: Container) -> bool:
        which = self.behaviour.reset_keeps_logs
        return which == "all" or which == ("source" if container is source else "others")

    def _meddle_with_ephemerals(self) -> Steps:
        """What a faulty kubelet does to ephemeral containers on RestartAllContainers."""
        for container in self.pod.ephemerals:
            if self.behaviour.reset_kills_ephemeral:
                for instance in [each for each in self.pod.alive() if each.name == container.name]:
                    yield from self.runtime.kill(self.pod, container, instance)
            if self.behaviour.reset_repeats_ephemeral:
                yield from self._start(container)

    def _resize(self, actions: Actions) -> None:
        """What a faulty kubelet makes of a resize while another container crashes."""
        resized = [each for each in actions.kills if each.instance.resources != self.pod.resources[each.container.name]]
        crashed = {name for name, ns in self.pod.exited_ns.items() if self.loop.now - ns < 10 * S}
        match self.behaviour.resize_meets_delay if resized and crashed else "nothing":
            case "late":
                actions.kills = [each for each in actions.kills if each not in resized]
                actions.starts = [each for each in actions.starts if each.name in crashed]
            case "forgets":
                self.delays.forget()

    def _take_siblings_along(self, view: PodView, actions: Actions) -> None:
        if not any(view.newest(each.name) for each in actions.starts):
            return
        for container in self.pod.regulars:
            newest = view.newest(container.name)
            if newest is not None and newest.state is InstanceState.RUNNING:
                actions.kills.append(Kill(container, newest.instance))
                actions.starts.append(container)

    def delete(self) -> Steps:
        """The pod was deleted."""

        def delay_ns() -> int:
            view = PodView(self.pod.instances)
            waiting = Actions(starts=[each for each in self.pod.regulars if view.newest_exited(each.name)])
            return max(FREE, self._longest_wait_ns(waiting, view))

        return self._end.delete(delay_ns)
