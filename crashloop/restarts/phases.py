"""The phases of a pod that follow from the true states of its containers.

Theory of operation. Ground truth gives the states of all containers over time, and the model the phase for those states.
"""

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.after_restart import may_be_hidden
from crashloop.model.pod_status import (
    FAILED,
    IS_RUNNING,
    NEVER_STARTED,
    PENDING,
    KnownState,
    StateKind,
    phase,
    terminated,
)
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import ended_by_node
from crashloop.restarts.lives import ran, was_killed
from crashloop.restarts.restart_all import Replacement, replacements
from crashloop.spec.pod import Container, ContainerKind


class PhaseChange(msgspec.Struct, frozen=True):
    """From `t_ns` on the containers' states stand for this phase."""

    t_ns: int
    phase: str
    line: int
    stamped_late: bool = False
    """A start that only the journal recorded."""


def phases_of(case: Case, pod: PodHistory) -> tuple[PhaseChange, ...]:
    """The phases that follow from ground truth, in order; Pending before anything started."""
    states: dict[str, KnownState] = {
        each.name: NEVER_STARTED for each in case.scenario.pod.containers if each.kind is not ContainerKind.EPHEMERAL
    }
    changes = [PhaseChange(0, PENDING, 0)]
    initialized = False
    for t_ns, line, name, state in sorted((*_transitions(case, pod), *_reconfigured(case)), key=lambda each: each[0]):
        if name is not None:
            states[name] = state
            kind = case.scenario.pod.container(name).kind
            initialized = initialized or (kind is ContainerKind.REGULAR and state.kind is StateKind.RUNNING)
        kubelet = case.in_force_at(t_ns)
        now = phase(
            case.scenario.pod,
            states,
            gates=kubelet.gates,
            version=kubelet.version,
            initialized=initialized,
            deviations=case.prediction.deviations,
        )
        by_journal = state.kind is StateKind.RUNNING and Channel.RUNTIME not in pod.channels
        changes.append(PhaseChange(t_ns, now, line, by_journal))
    ended = ended_by_node(pod)
    if ended is None:
        return tuple(changes)
    return (*(each for each in changes if each.t_ns <= ended.t_ns), PhaseChange(ended.t_ns, FAILED, ended.line))


def _reconfigured(case: Case) -> Iterator[tuple[int, int, None, KnownState]]:
    """Another configuration of the kubelet, by which the same states may stand for another phase."""
    for before, after in pairwise(case.recording.nodes):
        if case.in_force_at(before.since_ns) is not case.in_force_at(after.since_ns):
            yield after.since_ns, after.line, None, NEVER_STARTED


def _transitions(case: Case, pod: PodHistory) -> Iterator[tuple[int, int, str, KnownState]]:
    for spec in case.scenario.pod.containers:
        if spec.kind is ContainerKind.EPHEMERAL:
            continue
        instances = ran(pod, spec.name)
        followers = (*instances, None)[1:]
        replaced = replacements(case, pod, spec.name)
        for number, (each, following) in enumerate(zip(instances, followers, strict=True)):
            started = each.begun
            if started is not None and started.utc_ns is not None:
                yield started.utc_ns, started.line, spec.name, IS_RUNNING
            if each.exit is not None and each.exit.utc_ns is not None and each.exit_code is not None:
                probed = bool(spec.killing_probes) and was_killed(case, spec.name, number, each)
                yield each.exit.utc_ns, each.exit.line, spec.name, terminated(each.exit_code, killed=probed)
            removed = _removed_by_reset(case, each, replaced.get(each.ordinal), following)
            purged = _purged(case, spec, each, following)
            if purged is not None and purged.utc_ns is not None:
                yield purged.utc_ns, purged.line, spec.name, NEVER_STARTED
            if removed is not None and removed.utc_ns is not None:
                gone = KnownState(kind=StateKind.WAITING, last_exit_code=each.exit_code, being_reset=True)
                yield removed.utc_ns, removed.line, spec.name, gone


def _purged(case: Case, spec: Container, instance: Instance, following: Instance | None) -> Fact | None:
    """The removal of a sidecar for another sandbox, from which on, by a variant, it counts as one that has not started."""
    known = spec.is_sidecar and may_be_hidden(spec, case.prediction.deviations)
    return instance.removed if known and case.lost_sandbox(instance, following) else None


def _removed_by_reset(
    case: Case, instance: Instance, reset: Replacement | None, following: Instance | None
) -> Fact | None:
    """The removal of an instance by RestartAllContainers; None if there was none, as where no rule can restart all.

    The kubelet removes others only after their successors began, or with the pod. Where the runtime's events are missing, the
    exits of the instance and of the one that triggered the removal stand for it.
    """
    if not case.restarts_all:
        return None
    removed, begun = instance.removed, following.begun if following else None
    if removed is not None:
        by_reset = reset is not None if begun is None else (removed.utc_ns or 0) <= (begun.utc_ns or 0)
        return removed if by_reset else None
    if reset is None or instance.exit is None:
        return None
    exited = max(instance.exit, reset.trigger.exited, key=lambda each: each.utc_ns or 0)
    until_ns = case.recording.end_ns if begun is None else begun.utc_ns
    return exited if _is_runtime_lost(case, exited.utc_ns, until_ns) else None


def _is_runtime_lost(case: Case, from_ns: int | None, to_ns: int | None) -> bool:
    """Whether the runtime's events of that time may be missing."""
    if from_ns is None or to_ns is None or not any(Channel.RUNTIME in pod.channels for pod in case.pods):
        return True
    return any(case.recording.gaps_of(Channel.RUNTIME, from_ns, to_ns))
