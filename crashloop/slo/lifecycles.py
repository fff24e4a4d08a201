"""Lifecycles of pods from histories: ground truth and watch events, with the due delay after every exit."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory, Recording
from crashloop.history.stamps import Fact
from crashloop.history.statuses import ContainerReport, StatusReport
from crashloop.model.backoff import Due, dues
from crashloop.model.config import Curve
from crashloop.model.lives import CounterLost, Lived, Observed
from crashloop.slo.types import Lifecycle, Restart, RestartAll
from crashloop.spec.pod import ContainerKind
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

Decides = Callable[[str, int | None], bool]
"""A predicate of a container's name and exit code."""
Expects = Callable[[str, int | None], bool | None]
"""The same; None where it is not known."""


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of the due delays."""

    curve: Curve
    version: KubernetesVersion
    mode: Mode = Mode.NATURAL
    counter_lost_ns: tuple[int, ...] = ()
    """Restarts of the node's kubelet, which reset all counters."""


def lifecycles(
    recording: Recording,
    *,
    group: str = "",
    stateless: bool = True,
    promise: Promise | None = None,
    expects: Expects | None = None,
    triggers: Decides | None = None,
    until_ns: int | None = None,
) -> tuple[Lifecycle, ...]:
    """Every pod of a history file, with the scenario's name, until `until_ns` (UTC) at most; see `lifecycle`."""
    begin = recording.begin
    node = (begin.node if begin else None) or ""
    name = begin.scenario.name if begin else ""
    spec = begin.scenario.pod_spec if begin else None
    ends = [moment_ns for moment_ns in (recording.end_ns, until_ns) if moment_ns]
    return tuple(
        lifecycle(
            pod,
            pod_name=name,
            node=node,
            group=group,
            stateless=stateless,
            has_init=spec is not None and bool(spec.of_kind(ContainerKind.INIT)),
            promise=promise,
            expects=expects,
            triggers=triggers,
            seen_until_ns=min(ends, default=None),
        )
        for pod in recording.pods
    )


def lifecycle(
    pod: PodHistory,
    *,
    pod_name: str,
    node: str,
    group: str = "",
    stateless: bool = True,
    has_init: bool = False,
    promise: Promise | None = None,
    expects: Expects | None = None,
    triggers: Decides | None = None,
    seen_until_ns: int | None = None,
) -> Lifecycle:
    """One pod. `expects`: exits that a restart has to follow; `triggers`: exits that restart all containers."""
    gone_ns = pod.deleted.utc_ns if pod.deleted else None
    ends = [moment_ns for moment_ns in (gone_ns, seen_until_ns) if moment_ns is not None]
    until_ns = min(ends, default=None)
    counts = _counts([each for each in pod.statuses if until_ns is None or each.t_ns <= until_ns])
    ran = {name: tuple(_that_ran(instances)) for name, instances in pod.containers.items()}
    starts_ns = {name: tuple(_starts_ns(instances)) for name, instances in ran.items()}
    restarts_all = tuple(_restarts_all(ran, triggers)) if triggers else ()
    asked = _Asked(expects, tuple(each.exited_ns for each in restarts_all)) if expects else None
    return Lifecycle(
        pod=pod_name,
        uid=pod.uid,
        node=node,
        group=group,
        stateless=stateless,
        has_init=has_init,
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
            restart for name, instances in ran.items() for restart in _restarts(name, instances, promise, asked)
        ),
        restarts_all=restarts_all,
        finals_ns=tuple(sorted(_finals_ns(ran, asked))) if asked else (),
    )


class _Asked:
    """Whether a restart was due: by a rule or a policy, or by a RestartAllContainers of the pod."""

    def __init__(self, expects: Expects, all_ns: Sequence[int]) -> None:
        self._expects = expects
        self._all_ns = all_ns

    def after(self, container: str, exited: Instance, following: Instance | None) -> bool | None:
        """Whether a restart is due after an exit; None where its exit code, or what that means, is not known.

        A RestartAllContainers makes one start of every container due, whether it still ran or had exited before.
        """
        if exited.exit_code is None:
            return None
        expected = self._expects(container, exited.exit_code)
        return None if expected is None else expected or self._with_all(exited, following)

    def _with_all(self, exited: Instance, following: Instance | None) -> bool:
        began_ns, again_ns = exited.begun_ns, following.begun_ns if following else None
        if began_ns is None:
            return False
        return any(began_ns < all_ns and (again_ns is None or all_ns < again_ns) for all_ns in self._all_ns)


def _restarts(
    container: str, instances: Sequence[Instance], promise: Promise | None, asked: _Asked | None
) -> Iterator[Restart]:
    """The restart after every exit of a container; the last may still be open, and is left out where none is expected.

    Exits whose time cannot be converted to UTC are left out.
    """
    due = _dues(instances, promise) if promise else {}
    for number, exited in enumerate(instances, start=1):
        exited_ns = _utc_ns(exited.exit)
        if exited_ns is None:
            continue
        following = instances[number] if number < len(instances) else None
        expected = asked.after(container, exited, following) if asked else None
        if following is None and expected is False:
            continue
        yield Restart(
            container=container,
            number=number,
            exited_ns=exited_ns,
            exit_code=exited.exit_code,
            created_ns=_utc_ns(following.created) if following else None,
            started_ns=_utc_ns(following.start) if following else None,
            due_s=due[number].delay_s if number in due else None,
            due_at_most_s=_longest_s(due[number]) if number in due else None,
            latest_s=_latest_s(due[number]) if number in due else None,
            expected=expected,
        )


def _that_ran(instances: Sequence[Instance]) -> Iterator[Instance]:
    """Without instances that never ran; the newest may still start."""
    return (each for each in instances if each.has_run or each is instances[-1])


def _finals_ns(ran: Mapping[str, Sequence[Instance]], asked: _Asked) -> Iterator[int]:
    """Exits after which no restart was due."""
    for name, instances in ran.items():
        for exited, following in zip(instances, (*instances[1:], None), strict=True):
            exited_ns = _utc_ns(exited.exit)
            if exited_ns is not None and asked.after(name, exited, following) is False:
                yield exited_ns


def _dues(instances: Sequence[Instance], promise: Promise) -> dict[int, Due]:
    """The due delay by the number of the restart, up to a life that is not known or began before the last one ended."""
    lives: list[Observed] = []
    before_ns: int | None = None
    for each in instances:
        began_ns, ended_ns = each.begun_ns, _utc_ns(each.exit)
        if began_ns is None or ended_ns is None or not (before_ns or began_ns) <= began_ns <= ended_ns:
            break
        if before_ns is not None:
            lost = (lost_ns for lost_ns in promise.counter_lost_ns if before_ns <= lost_ns < ended_ns)
            lives += [CounterLost(lost_ns / 1e9) for lost_ns in lost]
        lives.append(Lived(began_ns / 1e9, ended_ns / 1e9))
        before_ns = ended_ns
    found = dues(promise.curve, lives, version=promise.version, mode=promise.mode)
    return {due.restart: due for due in found}


def _longest_s(due: Due) -> float | None:
    """The longest possible due delay, if it is not the shortest."""
    longest_s = max(each.delay_s for each in due.windows)
    return longest_s if longest_s > due.delay_s else None


def _latest_s(due: Due) -> float | None:
    """The upper bound of exit to create, by the window that allows most; None where none is promised."""
    latest_s = max(each.latest_s for each in due.windows)
    return latest_s if math.isfinite(latest_s) else None


def _restarts_all(ran: dict[str, tuple[Instance, ...]], triggers: Decides) -> Iterator[RestartAll]:
    starts_ns = sorted(start_ns for instances in ran.values() for start_ns in _starts_ns(instances))
    for name, instances in ran.items():
        for each in instances:
            exited_ns = _utc_ns(each.exit)
            if exited_ns is not None and triggers(name, each.exit_code):
                first_ns = next((start_ns for start_ns in starts_ns if start_ns > exited_ns), None)
                yield RestartAll(container=name, exited_ns=exited_ns, started_ns=first_ns)


def _starts_ns(instances: Sequence[Instance]) -> Iterator[int]:
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
