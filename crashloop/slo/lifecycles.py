"""Lifecycles of pods from histories: ground truth and watch events, with what the one reading of restarts says of every exit."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory, Recording
from crashloop.history.stamps import Fact
from crashloop.history.statuses import ContainerReport, StatusReport
from crashloop.model.restart import Decision
from crashloop.restarts.bounds import LOST_AFTER_S, awaits_init, early, late, latest_s, overdue, stepped_s, why_late
from crashloop.restarts.case import Case
from crashloop.restarts.restart import Exit, exits_of
from crashloop.restarts.restart import Restart as Judged
from crashloop.restarts.restart_all import resets_of
from crashloop.slo.measurements import Lifecycle, Lost, Restart, RestartAll
from crashloop.spec.pod import ContainerKind


def lifecycles(
    recording: Recording,
    case: Case | None = None,
    *,
    group: str = "",
    stateless: bool = True,
    until_ns: int | None = None,
    has_known_delays: bool = True,
) -> tuple[Lifecycle, ...]:
    """Every pod of a history file, with the scenario's name, until `until_ns` (UTC) at most.

    Without a `case`, what was promised of it, nothing is known to be due. `has_known_delays`: False for a load not all of whose
    exits are its containers' own, so that lateness after them is no measure of the kubelet's retry.
    """
    begin = recording.begin
    ends = [moment_ns for moment_ns in (recording.end_ns, until_ns) if moment_ns]
    return tuple(
        _lifecycle(
            pod,
            case,
            pod_name=begin.scenario.name if begin else "",
            node=(begin.node if begin else None) or "",
            group=group,
            stateless=stateless,
            seen_until_ns=min(ends, default=None),
            has_known_delays=has_known_delays,
        )
        for pod in recording.pods
    )


def _lifecycle(
    pod: PodHistory,
    case: Case | None,
    *,
    pod_name: str,
    node: str,
    group: str,
    stateless: bool,
    seen_until_ns: int | None,
    has_known_delays: bool,
) -> Lifecycle:
    gone_ns = pod.deleted.utc_ns if pod.deleted else None
    ends = [moment_ns for moment_ns in (gone_ns, seen_until_ns) if moment_ns is not None]
    until_ns = min(ends, default=None)
    counts = _counts([each for each in pod.statuses if until_ns is None or each.t_ns <= until_ns])
    starts_ns = {name: tuple(_starts_ns(_that_ran(instances))) for name, instances in pod.containers.items()}
    declared = case.scenario.pod.containers if case is not None else ()
    exits = {name: tuple(_exits(case, pod, name)) for name in pod.containers}
    return Lifecycle(
        pod=pod_name,
        uid=pod.uid,
        node=node,
        group=group,
        stateless=stateless,
        has_init=any(each.kind is ContainerKind.INIT for each in declared),
        may_pull=any(not each.program.known for each in declared),
        asked_ns=pod.created.utc_ns if pod.created else None,
        seen_ns=pod.statuses[0].t_ns if pod.statuses else None,
        started_ns=_first(pod.statuses, _has_started),
        ready_ns=_first(pod.statuses, lambda each: each.ready),
        failed_ns=next((each.t_ns for each in pod.statuses if each.phase == "Failed"), None),
        deleted_ns=gone_ns,
        seen_until_ns=until_ns,
        restart_counts=counts,
        starts_ns=starts_ns,
        unseen_starts=dict(_unseen(counts, _counts(pod.statuses), starts_ns)),
        unstarted_ns={name: found for name, all_of in pod.containers.items() if (found := _unstarted_ns(all_of))},
        restarts=tuple(
            restart
            for name, of_container in exits.items()
            for each in of_container
            if (restart := _restart(case, name, each, until_ns, has_known_delays=has_known_delays)) is not None
        ),
        restarts_all=tuple(_restarts_all(case, pod, starts_ns)) if case is not None else (),
        finals_ns=tuple(sorted(_finals_ns(exits))),
    )


def _exits(case: Case | None, pod: PodHistory, container: str) -> Iterator[Exit]:
    """Every exit of a container; of one that the pod does not declare, as an admission plugin may add, nothing is known."""
    if case is not None and any(each.name == container for each in case.scenario.pod.containers):
        yield from exits_of(case, pod, container)
        return
    instances = tuple(_that_ran(pod.instances(container)))
    for number, (instance, following) in enumerate(zip(instances, (*instances[1:], None), strict=True), start=1):
        if instance.exit is not None:
            yield Exit(number=number, instance=instance, following=following, decided=None, restart=None)


def _restart(
    case: Case | None, container: str, each: Exit, until_ns: int | None, *, has_known_delays: bool
) -> Restart | None:
    """The restart after an exit, which may still be open; None where none is owed and none came, or the exit has no time."""
    exited_ns, following = _utc_ns(each.instance.exit), each.following
    expected = None if each.decided is None else each.decided.decision is not Decision.STOP
    if exited_ns is None or (following is None and expected is False):
        return None
    judged = each.restart
    is_own = case is not None and judged is None and not _is_known(case, container)
    found = Restart(
        container=container,
        number=each.number,
        exited_ns=exited_ns,
        exit_code=each.instance.exit_code,
        created_ns=_utc_ns(following.created) if following else None,
        started_ns=_utc_ns(following.start) if following else None,
        expected=None if is_own and following is None else expected,
    )
    return (
        found
        if case is None or judged is None
        else _with_bounds(case, found, judged, until_ns, has_known_delays=has_known_delays)
    )


def _is_known(case: Case, container: str) -> bool:
    return any(each.name == container and each.program.known for each in case.scenario.pod.containers)


def _with_bounds(
    case: Case, found: Restart, judged: Judged, until_ns: int | None, *, has_known_delays: bool
) -> Restart:
    """With its due delay and its bounds. Kubelets wait by the wall clock: how late one is where that jumped is not known."""
    lost = None if found.is_on_its_way else _lost(case, judged, until_ns)
    too_soon = early(case, judged)
    early_s = None if too_soon is None or too_soon.is_open else too_soon.due.delay_s - too_soon.taken.seconds
    if not has_known_delays or (stepped_s(case, judged) > 0 and early_s is None):
        return msgspec.structs.replace(found, lost=lost)
    bound_s, longest_s = latest_s(judged), max(due.delay_s for due in judged.due.windows)
    return msgspec.structs.replace(
        found,
        due_s=judged.due.delay_s,
        due_at_most_s=longest_s if longest_s > judged.due.delay_s else None,
        latest_s=bound_s if math.isfinite(bound_s) else None,
        early_s=early_s,
        lost=lost,
    )


def _lost(case: Case, judged: Judged, until_ns: int | None) -> Lost | None:
    """Whether it was missing long after its latest moment, however it came in the end."""
    missing, slow = overdue(case, judged, until_ns), late(case, judged)
    if missing is not None and missing.waited_s > missing.due.latest_s + LOST_AFTER_S:
        return Lost(waited_s=missing.waited_s, latest_s=missing.due.latest_s, doubt=missing.doubt or "")
    if slow is not None and slow.excess_s > LOST_AFTER_S and not awaits_init(case, judged):
        return Lost(waited_s=slow.taken.seconds, latest_s=slow.due.latest_s, doubt=why_late(case, judged, slow) or "")
    return None


def _that_ran(instances: Sequence[Instance]) -> Iterator[Instance]:
    """Without instances that never ran; the newest may still start."""
    return (each for each in instances if each.has_run or each is instances[-1])


def _finals_ns(exits: Mapping[str, Sequence[Exit]]) -> Iterator[int]:
    """Exits after which no restart is owed."""
    for each in (one for of_container in exits.values() for one in of_container):
        exited_ns = _utc_ns(each.instance.exit)
        if exited_ns is not None and each.decided is not None and each.decided.decision is Decision.STOP:
            yield exited_ns


def _restarts_all(case: Case, pod: PodHistory, starts_ns: Mapping[str, Sequence[int]]) -> Iterator[RestartAll]:
    all_ns = sorted(start_ns for starts in starts_ns.values() for start_ns in starts)
    for each in resets_of(case, pod):
        first_ns = next((start_ns for start_ns in all_ns if start_ns > each.t_ns), None)
        yield RestartAll(container=each.container, exited_ns=each.t_ns, started_ns=first_ns)


def _starts_ns(instances: Iterable[Instance]) -> Iterator[int]:
    return (start_ns for each in instances if (start_ns := _utc_ns(each.start)) is not None)


def _unstarted_ns(instances: Sequence[Instance]) -> tuple[int, ...]:
    never = (_utc_ns(each.created) for each in instances if not each.has_run)
    return tuple(created_ns for created_ns in never if created_ns is not None)


def _first(statuses: Sequence[StatusReport], holds: Callable[[ContainerReport], bool]) -> int | None:
    """When the watch first delivered a status in which a predicate holds for all containers."""
    return next(
        (
            each.t_ns
            for each in statuses
            if each.containers and all(holds(container) for container in each.containers.values())
        ),
        None,
    )


def _has_started(container: ContainerReport) -> bool:
    return container.state.kind != "waiting" or container.last_state is not None or container.restart_count > 0


def _counts(statuses: Sequence[StatusReport]) -> dict[str, int]:
    return {name: each.restart_count for name, each in statuses[-1].containers.items()} if statuses else {}


def _unseen(
    counts: Mapping[str, int], later_counts: Mapping[str, int], starts_ns: Mapping[str, Sequence[int]]
) -> Iterator[tuple[str, int]]:
    for name, count in later_counts.items():
        unseen = count - max(counts.get(name, 0), len(starts_ns.get(name, ())) - 1)
        if unseen > 0:
            yield name, unseen


def _utc_ns(fact: Fact | None) -> int | None:
    return None if fact is None else fact.utc_ns
