"""The kubelet's backoff counters, one entry per container, kept in memory; and for how long they hold a start back.

client-go util/flowcontrol/backoff.go@v0.37.1 (IsInBackOffSince, Next, GC); pkg/kubelet/kuberuntime/kuberuntime_manager.go
doBackOff and helpers.go GetBackoffKey @v1.37.1. An entry is touched at each start attempt that follows an exit; an exit without
an entry is free.
"""

from collections.abc import Hashable, Iterable

from crashloop.spec.pod import Container, ContainerKind, ProbeKind
from crashloop.spec.program import KILLED
from sim.behaviour import Behaviour, S
from sim.instance import SimulatedInstance
from sim.pod import SimPod
from sim.policy import Policies

GC_PERIOD_NS = 2 * S
"""Housekeeping of the kubelet: kubelet.go housekeepingPeriod."""
SIGNALLED = 128
"""Exit codes from here on are those of a process that a signal ended."""


class BackoffEntry:
    """The delay due before the next start, and when the last start was attempted."""

    __slots__ = ("delay_ns", "exit_code", "luck", "updated_ns")

    def __init__(self, delay_ns: int, updated_ns: int, exit_code: int, luck: float) -> None:
        self.delay_ns = delay_ns
        self.updated_ns = updated_ns
        self.exit_code = exit_code
        """Of the exit before the last start attempt; only a faulty kubelet uses it."""
        self.luck = luck
        """Drawn at each start attempt, from 0 to 1; only a faulty kubelet uses it."""


class Backoffs:
    """All entries of one kubelet process."""

    def __init__(self, initial_ns: int, max_ns: int, behaviour: Behaviour, gc_phase_ns: int) -> None:
        self.initial_ns = initial_ns
        self.max_ns = max_ns
        self.behaviour = behaviour
        self._gc_phase_ns = gc_phase_ns
        self.attempted_ns = 0
        """When the last restart of any container was attempted."""
        self._entries: dict[Hashable, BackoffEntry] = {}
        self._expiry_ns = behaviour.expiry_ns
        if behaviour.expiry_in_max is not None:
            self._expiry_ns = int(max_ns * behaviour.expiry_in_max)
        if behaviour.second_curve_expiry_ns is not None and initial_ns <= S:
            self._expiry_ns = behaviour.second_curve_expiry_ns

    def entry(self, key: Hashable, now_ns: int) -> BackoffEntry | None:
        """The entry, unless housekeeping has collected it by now."""
        entry = self._entries.get(key)
        if entry is None or self._expiry_ns is None:
            return entry
        last_gc_ns = now_ns - (now_ns - self._gc_phase_ns) % GC_PERIOD_NS
        if last_gc_ns - entry.updated_ns > self._expiry_ns:
            del self._entries[key]
            return None
        return entry

    def remaining_ns(self, key: Hashable, since_ns: int, now_ns: int, exit_code: int) -> int:
        """For how long a start of what ended at `since_ns` is still held back; 0 or less: it may start now."""
        entry = self.entry(key, now_ns)
        if entry is None or self._expired(entry, since_ns):
            return since_ns + self.behaviour.first_late_ns - now_ns
        return since_ns + self._due_ns(entry, exit_code) - now_ns

    def throttled_ns(self, now_ns: int) -> int:
        """For how long any restart is held back because another has just come; 0 or less: it is not."""
        return self.attempted_ns + self.behaviour.restarts_apart_ns - now_ns

    def total_ns(self, keys: Iterable[Hashable], now_ns: int) -> int:
        """The sum of the delays of these entries."""
        return sum(entry.delay_ns for key in keys if (entry := self.entry(key, now_ns)) is not None)

    def next(
        self, key: Hashable, since_ns: int, now_ns: int, exit_code: int, luck: float, *, grows: bool = True
    ) -> None:
        """A start is attempted after an exit at `since_ns`: the entry begins, or takes its next step."""
        entry = self.entry(key, now_ns)
        fresh = entry is None or self._expired(entry, since_ns)
        delay_ns = self.initial_ns if entry is None or fresh else entry.delay_ns
        if grows and not fresh:
            delay_ns = self._step(delay_ns)
        self._entries.pop(key, None)
        self._entries[key] = BackoffEntry(delay_ns, now_ns, exit_code, luck)
        if self.behaviour.most_counters is not None and len(self._entries) > self.behaviour.most_counters:
            del self._entries[next(iter(self._entries))]

    def begin(self, key: Hashable, now_ns: int) -> None:
        """Make an entry without a start attempt."""
        if self.entry(key, now_ns) is None:
            self._entries[key] = BackoffEntry(self.initial_ns, now_ns, 0, 0.5)

    def restart_curve(self, key: Hashable) -> None:
        """Set the delay back to the initial one."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.delay_ns = self.initial_ns

    def double(self, key: Hashable) -> None:
        """Take the next step without a start attempt."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.delay_ns = self._step(entry.delay_ns)

    def forget(self, key: Hashable) -> None:
        self._entries.pop(key, None)

    def clear(self) -> None:
        self._entries.clear()

    def _due_ns(self, entry: BackoffEntry, exit_code: int) -> int:
        behaviour = self.behaviour
        if not behaviour.delays or (exit_code == 0 and not behaviour.delays_success):
            return 0
        if entry.luck < behaviour.skipped_share:
            return 0
        factor = behaviour.delay_factor * (1.0 + behaviour.jitter * entry.luck)
        if entry.delay_ns >= self.max_ns:
            factor *= 1.0 + behaviour.cap_jitter * entry.luck
        if exit_code == 0:
            factor *= behaviour.success_factor
        elif exit_code >= SIGNALLED:
            factor *= behaviour.code_factor
        late = entry.luck < behaviour.late_share and entry.delay_ns >= behaviour.late_from_ns
        return int(entry.delay_ns * factor) + late * behaviour.late_ns - behaviour.early_ns

    def _expired(self, entry: BackoffEntry, since_ns: int) -> bool:
        return self._expiry_ns is not None and since_ns - entry.updated_ns > self._expiry_ns

    def _step(self, delay_ns: int) -> int:
        behaviour = self.behaviour
        if behaviour.linear:
            grown = delay_ns + self.initial_ns
        elif behaviour.cap_before_step and delay_ns >= self.max_ns:
            return delay_ns
        else:
            grown = int(delay_ns * behaviour.factor)
        if not behaviour.capped or behaviour.cap_before_step:
            return grown
        return min(grown, self.max_ns)


class RestartDelays:
    """The delays of one pod's containers; times are virtual nanoseconds."""

    def __init__(self, pod: SimPod, policies: Policies, backoffs: Backoffs) -> None:
        self.pod = pod
        self.policies = policies
        self.behaviour = policies.behaviour
        self.backoffs = backoffs
        self._unlimited = Backoffs(10 * S, 300 * S, policies.behaviour, 0)
        """Of containers for which a faulty kubelet takes the default maximum."""

    def key(self, container: Container) -> tuple[str, ...]:
        """What a counter belongs to."""
        pod, name, behaviour = self.pod, container.name, self.behaviour
        by_uid = behaviour.keyed_by_uid and (behaviour.static_keyed_by_uid or not pod.is_static)
        owner = pod.uid if by_uid else pod.name
        owner = owner if behaviour.keyed_by_pod else ""
        own = name[: behaviour.keyed_by_chars] if behaviour.keyed_by_container else ""
        if not behaviour.keyed_by_kind:
            own = str((pod.inits if container in pod.inits else pod.regulars).index(container))
        if behaviour.inits_share_counter and container in pod.inits and not container.is_sidecar:
            own = "init"
        image = pod.images[name] if behaviour.keyed_by_image else ""
        sandbox = str(pod.sandboxes) if behaviour.sandbox_forgets else ""
        return owner, own, image, pod.resources[name], sandbox

    def forget(self, but: Container | None = None) -> None:
        """Forget the counters of all containers of the pod but one."""
        for container in self.pod.spec.containers:
            if container is not but:
                self.backoffs.forget(self.key(container))

    def remaining_ns(self, container: Container, last: SimulatedInstance, now_ns: int) -> int:
        """For how long a start after the exit of `last` is still held back; 0 or less: it may come now."""
        return max(self._own_remaining_ns(container, last, now_ns), self.backoffs.throttled_ns(now_ns))

    def _own_remaining_ns(self, container: Container, last: SimulatedInstance, now_ns: int) -> int:
        assert last.exited_ns is not None
        flat_ns = self._flat_ns(container, last)
        if flat_ns is not None:
            return last.exited_ns + flat_ns - now_ns
        key, behaviour = self.key(container), self.behaviour
        since_ns = self._since_ns(last)
        self._meddle(container, key, last, now_ns)
        remaining_ns = self._of(container).remaining_ns(key, since_ns, now_ns, last.exit_code)
        if not self._may_be_late(container, last):
            remaining_ns -= behaviour.late_ns
        if last.number == 0:
            remaining_ns += self._first_late_ns(container, last)
        if not behaviour.caps_pod_total:
            return remaining_ns
        others = [self.key(each) for each in self.pod.spec.containers if each is not container]
        left_ns = max(0, self.backoffs.max_ns - self.backoffs.total_ns(others, now_ns))
        return min(remaining_ns, since_ns + left_ns - now_ns)

    def _may_be_late(self, container: Container, last: SimulatedInstance) -> bool:
        behaviour, restart = self.behaviour, last.number + 1
        if restart < behaviour.late_from_restart or restart % behaviour.late_every:
            return False
        return not behaviour.late_only or self._is_one_of(behaviour.late_only, container, last)

    def _first_late_ns(self, container: Container, last: SimulatedInstance) -> int:
        """By how much a faulty kubelet delays the first restart of this container in particular."""
        by_rule = self.policies.by_rule(container, self.pod.spec, last)
        is_init = container.kind is ContainerKind.INIT
        behaviour = self.behaviour
        return behaviour.first_late_by_rule_ns * by_rule + behaviour.first_late_init_ns * is_init

    def _since_ns(self, last: SimulatedInstance) -> int:
        """From when a delay counts: from the exit, but for a faulty kubelet."""
        behaviour, exited_ns = self.behaviour, last.exited_ns
        assert exited_ns is not None
        if behaviour.from_last_exit_of_pod:
            return max(self.pod.exited_ns.values())
        if behaviour.from_start and last.started_ns is not None:
            return last.started_ns
        if behaviour.from_detection and last.exit_seen_ns is not None:
            return last.exit_seen_ns
        return exited_ns - exited_ns % S if behaviour.from_whole_second else exited_ns

    def attempt(self, container: Container, last: SimulatedInstance, now_ns: int, luck: float) -> None:
        """A start is attempted."""
        assert last.exited_ns is not None
        self.backoffs.attempted_ns = now_ns
        if {"always": True, "killed": last.killed}.get(self.behaviour.sibling_forgets, False):
            self.forget(but=container)
        if self._flat_ns(container, last) is None:
            grows = not self._is_one_of(self.behaviour.never_grows, container, last)
            self._of(container).next(self.key(container), last.exited_ns, now_ns, last.exit_code, luck, grows=grows)
            if self._is_one_of(self.behaviour.grows_twice, container, last):
                self._of(container).double(self.key(container))

    def _of(self, container: Container) -> Backoffs:
        """The counters of the container's curve: one for all, but for a faulty kubelet."""
        which, pod = self.behaviour.max_not_for, self.pod.spec
        apart = (
            (which in ("init", "sidecars") and self._is_kind(which, container))
            or (which == "ruled" and bool(container.rules))
            or (which == "on failure" and self.policies.runs_once(container, pod.restart_policy))
            or which == pod.qos
        )
        return self._unlimited if apart else self.backoffs

    def _is_one_of(self, which: str, container: Container, last: SimulatedInstance) -> bool:
        """Whether a restart is of those that a faulty kubelet treats in another way."""
        pod = self.pod.spec
        return (
            (which == "by rule" and self.policies.by_rule(container, pod, last))
            or (which == "on failure" and self.policies.runs_once(container, pod.restart_policy))
            or (which == "out of memory" and last.out_of_memory)
            or (which == "success" and last.exit_code == 0)
            or (which == "success by rule" and last.exit_code == 0 and self.policies.by_rule(container, pod, last))
            or (which == "killed" and last.killed)
            or (which == "probed" and bool(container.probes) and not last.killed)
            or (which == "hooked" and container.post_start)
            or (which == "exit code 137" and last.exit_code == KILLED)
            or (which in ("init", "sidecars") and self._is_kind(which, container))
        )

    def _is_kind(self, which: str, container: Container) -> bool:
        return container.kind is ContainerKind.INIT and container.is_sidecar is (which == "sidecars")

    def stated_ns(self, container: Container, now_ns: int) -> int:
        """The delay that the kubelet logs of a container that it holds back."""
        entry = self.backoffs.entry(self.key(container), now_ns)
        return entry.delay_ns if entry else 0

    def step(self, container: Container, now_ns: int, steps: int) -> None:
        """So many steps of the counter without a start attempt, which only a faulty kubelet takes."""
        if steps:
            self.backoffs.begin(self.key(container), now_ns)
        for _ in range(steps - 1):
            self.backoffs.double(self.key(container))

    def looked(self, container: Container) -> None:
        """A look found the container waiting."""
        if self.behaviour.doubles_at_look:
            self.backoffs.double(self.key(container))

    def _flat_ns(self, container: Container, last: SimulatedInstance) -> int | None:
        """The delay of a faulty kubelet that ignores the counter; None if it uses the counter."""
        behaviour = self.behaviour
        if last.number < behaviour.free_restarts - 1:
            return 0
        if self.pod.is_static and not behaviour.delays_static:
            return 0
        if self.pod.spec.qos is behaviour.undelayed_qos:
            return 0
        if (last.killed and not behaviour.delays_killed) or (last.out_of_memory and not behaviour.delays_oom):
            return 0
        if last.killed and not behaviour.delays_startup_kills and container.probe(ProbeKind.STARTUP):
            return 0
        if (last.hook_fails and not behaviour.delays_hook_kills) or (last.refused and not behaviour.delays_refused):
            return 0
        if behaviour.free_from is not None and last.number + 1 >= behaviour.free_from:
            return 0
        if container in self.pod.spec.containers[behaviour.delayed_containers :] and behaviour.delayed_containers:
            return 0
        is_init = container.kind is ContainerKind.INIT
        if is_init and not (behaviour.delays_sidecars if container.is_sidecar else behaviour.delays_init):
            return 0
        if behaviour.rule_delay_ns is not None and self.policies.by_rule(container, self.pod.spec, last):
            return behaviour.rule_delay_ns if last.number else 0
        return None

    def _meddle(self, container: Container, key: tuple[str, ...], last: SimulatedInstance, now_ns: int) -> None:
        """Where a faulty kubelet meddles with its counters."""
        behaviour, backoffs = self.behaviour, self.backoffs
        entry = backoffs.entry(key, now_ns)
        if (
            (behaviour.success_forgets and last.exit_code == 0)
            or (behaviour.code_change_forgets and entry is not None and entry.exit_code != last.exit_code)
            or (behaviour.forgets_ready and any(each.kind is ProbeKind.READINESS for each in container.probes))
            or (behaviour.forgets_after_run_ns is not None and _run_ns(last) >= behaviour.forgets_after_run_ns)
            or (behaviour.forgets_every is not None and (last.number + 1) % behaviour.forgets_every == 0)
        ):
            backoffs.forget(key)
        if behaviour.resets_at_sync:
            backoffs.restart_curve(key)
        if behaviour.free_restarts == 0:
            backoffs.begin(key, now_ns)


def _run_ns(instance: SimulatedInstance) -> int:
    """How long it has run."""
    return (instance.exited_ns or 0) - (instance.started_ns or instance.exited_ns or 0)
