"""The simulated container runtime and the containers' programs: the true events, and their records."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from crashloop.history.event import Kind
from crashloop.spec.pod import GRACE_PERIOD_S, Container
from crashloop.spec.program import KILLED, REFUSED, LifeEnd
from sim.behaviour import S
from sim.host import MS, Steps, World, ignore
from sim.instance import SimulatedInstance
from sim.pod import SimPod

HOOK_MS = (10, 80)
LAST_WORDS_MS = (1, 8)
"""From the journal's last stamp to the exit."""
PUBLISH_MS = (1, 25)
"""From the start of the process to the runtime's start event: a very short life exits before it."""
REAP_MS = (1, 12)
TERM_MS = (5, 60)
LOOK_NS = S // 20
NEVER_NS = 10_000 * S
"""Longer than any scenario."""
SANDBOX_MS = (80, 400)
REFUSAL = "OCI runtime create failed: no such file or directory"


class Runtime:
    """Creates, starts, stops and removes containers in virtual time."""

    def __init__(self, world: World) -> None:
        self.loop, self.host = world
        self.ready_ns = self.loop.now
        """The runtime does not answer before this time."""
        self.on_change: Callable[[], None] = ignore
        """Called when an instance started or exited."""
        self.on_exit: Callable[[SimPod, SimulatedInstance], None] = ignore
        self.on_create: Callable[[SimPod, SimulatedInstance], None] = ignore
        self.on_start: Callable[[SimPod, Container, SimulatedInstance], None] = ignore
        self.on_exit_planned: Callable[[SimPod, Container, int], None] = ignore
        self.kills_hard = "nothing"
        """Whether its kubelet lets no container end by itself."""
        self.hook_in_grace = True
        """Whether its kubelet takes the time of a preStop hook off the grace period."""
        self.repeats_kills = True
        """Whether its kubelet ends a container again whose end a restart of the runtime has broken off."""
        self._ids = 0

    def create_sandbox(self, pod: SimPod) -> Steps:
        yield self._ready() + self.host.step_ms(SANDBOX_MS, self.loop.now)
        sandbox_id = pod.sandbox_id = self._new_id()
        pod.sandboxes += 1
        self._sandbox(pod, sandbox_id, "created")
        yield self.host.takes_ms(PUBLISH_MS)
        self._sandbox(pod, sandbox_id, "started")  # which has gone meanwhile, if something killed it

    def stop_sandbox(self, pod: SimPod, *, remove: bool = False) -> Steps:
        sandbox_id, pod.sandbox_id = pod.sandbox_id, None
        if sandbox_id is not None:
            yield self._ready() + self.host.takes_ms(TERM_MS)
            self._sandbox(pod, sandbox_id, "exited")
            if remove:
                self._sandbox(pod, sandbox_id, "removed")

    def start(self, pod: SimPod, container: Container, number: int, env: dict[str, str]) -> Steps:
        """Create the container's next instance under that restartCount, with that of objects, and start it."""
        ready_ns = self._ready()
        yield ready_ns + self.host.create_ms(self.loop.now + ready_ns)
        now = self.loop.now
        ordinal = pod.made.get(container.name, 0)
        pod.made[container.name] = ordinal + 1
        container_id = self._new_id()
        instance = SimulatedInstance(
            name=container.name,
            ordinal=ordinal,
            number=number,
            image=pod.images[container.name],
            sandbox=pod.sandboxes,
            created_ns=now,
            container_id=container_id,
            root=container_id,
            resources=pod.resources[container.name],
            env=env,
            pid=1_000 + self._ids,
            previous_code=pod.exit_codes.get(container.name),
            earlier_words=pod.last_words.get(container.name, ()),
        )
        pod.logs.setdefault(container.name, set()).add(number)
        self.on_create(pod, instance)
        pod.instances.append(instance)
        self._event(pod, instance, now, Kind.CREATED, image=instance.image)
        self.on_change()
        yield self.host.step_ms(self.host.model.start_ms, now)
        if container.program.is_refused:
            self._exit(pod, instance, REFUSED, LifeEnd.START)
        else:
            self._run(pod, container, instance)

    def create_spare(self, pod: SimPod, container: Container) -> Steps:
        """Create a container, and remove it without a start."""
        yield self._ready() + self.host.create_ms(self.loop.now)
        of: dict[str, Any] = {"pod_uid": pod.uid, "container": container.name, "instance": pod.made[container.name]}
        spare = {"container_id": self._new_id()}
        pod.tape.runtime(self.loop.now, Kind.CREATED, spare | {"image": pod.images[container.name]}, **of)
        yield self.host.takes_ms(TERM_MS)
        pod.tape.runtime(self.loop.now, Kind.REMOVED, spare, **of)

    def _run(self, pod: SimPod, container: Container, instance: SimulatedInstance) -> None:
        born = self.loop.now
        instance.started_ns = self.host.awake(born + self.host.takes_ms(PUBLISH_MS))
        self._event(pod, instance, instance.started_ns, Kind.STARTED, pid=instance.pid)
        speaks_ns = born + self.host.program_ms(self.host.model.speak_ms, born)
        spoke = instance.spoke_ns = self.host.awake(self.host.thawed(speaks_ns))
        instance.life, life = pod.next_life(container, spoke)
        pod.tape.journal(spoke, Kind.STARTED, f"start {instance.life}", pod.uid, instance)
        for name, value in _found(pod, container, instance):
            pod.tape.noted(spoke, name, value, pod.uid, instance)
        instance.hook_fails = life is not None and life.end is LifeEnd.HOOK
        if life is not None and not instance.hook_fails:
            ends_ns = spoke + int(life.run_s * 1e9)
            if container.program.aims_at_s is not None:
                aim_ms = pod.aim_ms(container, spoke)
                pod.tape.noted(spoke, "aim", str(aim_ms), pod.uid, instance)
                ends_ns = max(spoke, instance.created_ns + aim_ms * MS)
            exit_ns = self.host.awake(ends_ns + self.host.takes_ms(LAST_WORDS_MS))
            self.loop.at(exit_ns, lambda: self._exit(pod, instance, life.exit_code, life.end))
            self.on_exit_planned(pod, container, exit_ns)
        self.loop.at(instance.started_ns, self.on_change)
        self.on_start(pod, container, instance)

    def hook(
        self, pod: SimPod, container: Container, instance: SimulatedInstance, name: str, kills_after_ns: int | None
    ) -> None:
        """The kubelet executes the postStart hook, which notes that it ran if its container still does.

        `kills_after_ns`: how long after its failure the kubelet kills the container; None: it does not.
        """
        ran_ns = self.host.awake(instance.spoke_ns + self.host.takes_ms(HOOK_MS))

        def ran() -> None:
            if instance.exited_ns is None:
                pod.tape.noted(ran_ns, name, "ran", pod.uid, instance)
                if instance.hook_fails and kills_after_ns is not None:
                    self.loop.after(kills_after_ns, lambda: self.loop.spawn(self.kill(pod, container, instance)))

        self.loop.at(ran_ns, ran)

    def kill(
        self,
        pod: SimPod,
        container: Container,
        instance: SimulatedInstance,
        grace_s: int | None = None,
        *,
        hard: bool = False,
    ) -> Steps:
        """SIGTERM, and SIGKILL after the grace period, the pod's if none is given; SIGKILL alone if `hard`, or if that is 0 s."""
        yield self._ready() + self.host.takes_ms(TERM_MS)
        instance.killed = True
        given_s = pod.spec.grace_s if grace_s is None else grace_s
        hook_s = min(container.pre_stop_s, given_s)
        # containerd internal/cri/server/container_stop.go@v2.3.7 stopContainer
        if hard or grace_s == 0 or pod.is_among(self.kills_hard, container):
            self._exit(pod, instance, KILLED, LifeEnd.SIGNAL)
        elif container.exit_code_on_term == KILLED:
            asked_ns = self.loop.now
            longest_s = max(given_s, hook_s + GRACE_PERIOD_S) if self.hook_in_grace else hook_s + given_s
            yield from self._while_it_runs(instance, longest_s * S)
            while self.ready_ns > asked_ns:
                asked_ns = self.loop.now
                yield given_s * S if self.repeats_kills else NEVER_NS
            self._exit(pod, instance, KILLED, LifeEnd.SIGNAL)
        else:
            if hook_s:
                yield from self._while_it_runs(instance, hook_s * S)
            if instance.spoke_ns <= self.loop.now:
                self._exit(pod, instance, container.exit_code_on_term, by_itself=False)
            else:  # the first process of a container that has no handler yet hears no SIGTERM; its journal is written already
                grace_ns = max(given_s - hook_s, GRACE_PERIOD_S) * S
                yield from self._while_it_runs(instance, max(grace_ns, instance.spoke_ns - self.loop.now))
                self._exit(pod, instance, KILLED, LifeEnd.SIGNAL)
        yield from self._until_told(instance)

    def _until_told(self, instance: SimulatedInstance) -> Steps:
        """A stop answers when the runtime knows of the exit."""
        if instance.cleared_ns > self.loop.now:
            yield instance.cleared_ns - self.loop.now

    def _while_it_runs(self, instance: SimulatedInstance, longest_ns: int) -> Steps:
        """A wait that ends with the instance: a hook goes with its container, and a stop with the exit."""
        until_ns = self.loop.now + longest_ns
        while instance.exited_ns is None and self.loop.now < until_ns:
            yield min(LOOK_NS, until_ns - self.loop.now)

    def end(self, pod: SimPod, instances: Sequence[tuple[Container, SimulatedInstance, int | None]]) -> Steps:
        """Kill instances, each with its grace period: one after the other, but those that take their time beside each other."""
        slow = [each for each in instances if each[0].exit_code_on_term == KILLED or each[0].pre_stop_s][1:]
        for each in slow:
            self.loop.spawn(self.kill(pod, *each))
        for each in instances:
            if each not in slow:
                yield from self.kill(pod, *each)
        while any(instance.exited_ns is None for _, instance, _ in slow):
            yield LOOK_NS
        for instance in pod.instances:
            yield from self._until_told(instance)

    def _exit(
        self,
        pod: SimPod,
        instance: SimulatedInstance,
        exit_code: int,
        end: LifeEnd = LifeEnd.EXIT,
        *,
        by_itself: bool = True,
    ) -> None:
        """The end of an instance; one that ends by itself leaves its last words, also while a hook of its kill runs."""
        if instance.exited_ns is not None:
            return
        now = self.loop.now
        instance.exited_ns, instance.exit_code = now, exit_code
        instance.out_of_memory = end is LifeEnd.MEMORY
        pod.exit_codes[instance.name] = exit_code
        pod.exited_ns[instance.name] = now
        said = max(instance.spoke_ns, now - self.host.takes_ms(LAST_WORDS_MS))
        if end is LifeEnd.EXIT:
            told = {"told": True} if by_itself else {}
            instance.last_words = f"{instance.name} life {instance.life}" if told else ""
            words = f"exit {instance.life} {exit_code}{' told' if told else ''}"
            pod.tape.journal(said, Kind.EXITED, words, pod.uid, instance, exit_code=exit_code, **told)
        pod.last_words[instance.name] = (*instance.earlier_words, instance.last_words)
        published = self.host.awake(now + self.host.takes_ms(REAP_MS))
        of_exit = {"refused": REFUSAL} if end is LifeEnd.START else {"published_ns": published}
        self._event(pod, instance, now, Kind.EXITED, published, exit_code=exit_code, **of_exit)
        if self.host.model.clear_ms[1]:
            instance.cleared_ns = self.host.awake(published + self.host.takes_ms(self.host.model.clear_ms))
            self.loop.at(instance.cleared_ns, self.on_change)
            self._event(pod, instance, instance.cleared_ns, Kind.CLEARED)
        self.on_change()
        self.on_exit(pod, instance)
        pod.on_exit(instance)

    def remove(self, pod: SimPod, instance: SimulatedInstance, *, keep_log: bool = False) -> None:
        """Remove an exited instance, with its log unless that is kept."""
        if not keep_log:
            pod.logs[instance.name].discard(instance.number)
        instance.removed_ns = self.loop.now
        pod.instances.remove(instance)
        self._event(pod, instance, max(self.loop.now, instance.cleared_ns), Kind.REMOVED)

    def forget(self, pod: SimPod, name: str) -> None:
        """Remove the newest instance of a container at once; one that runs is killed."""
        for instance in [each for each in pod.instances if each.name == name][-1:]:
            pod.forgotten |= {name} if instance.exited_ns is not None else set()
            self._exit(pod, instance, KILLED, LifeEnd.SIGNAL)
            self.remove(pod, instance, keep_log=True)

    def restart(self, down_ns: int) -> None:
        """The runtime's daemon goes and comes back; containers live on."""
        self.ready_ns = self.loop.now + down_ns

    @property
    def is_away(self) -> bool:
        return self._ready() > 0

    def _ready(self) -> int:
        """Nanoseconds until the runtime answers."""
        return max(0, self.ready_ns - self.loop.now)

    def _new_id(self) -> str:
        self._ids += 1
        return f"{self._ids:064x}"

    def _sandbox(self, pod: SimPod, sandbox_id: str, phase: str) -> None:
        pod.tape.runtime(self.loop.now, Kind.SANDBOX, {"container_id": sandbox_id, "phase": phase}, pod_uid=pod.uid)

    def _event(
        self,
        pod: SimPod,
        instance: SimulatedInstance,
        t_ns: int,
        kind: Kind,
        sent_ns: int | None = None,
        **data: object,
    ) -> None:
        pod.tape.runtime(
            t_ns,
            kind,
            {"container_id": instance.container_id, **data},
            sent_ns,
            pod_uid=pod.uid,
            container=instance.name,
            instance=instance.ordinal,
        )


def _found(pod: SimPod, container: Container, instance: SimulatedInstance) -> Iterator[tuple[str, str]]:
    """What the life that begins finds around it, and leaves there."""
    program = container.program
    if program.marks_root:
        yield "root", "used" if instance.root in pod.marked_roots else "fresh"
        pod.marked_roots.add(instance.root)
    if program.marks_volume:
        yield "volume", "used" if container.name in pod.marked_volume else "fresh"
        pod.marked_volume.add(container.name)
    yield from instance.env.items()
    if program.passes:
        yield "passes", str(program.passes)
    if pod.skipped(container):
        yield "skipped", str(pod.skipped(container))
