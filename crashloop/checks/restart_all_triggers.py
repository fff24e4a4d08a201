"""RestartAllContainers in a recorded pod: which exits triggered it, and which instances it replaced."""

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from crashloop.checks.case import Case
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.restart import Decided, Decision
from crashloop.spec.program import Program
from crashloop.spec.scenario import ContainerKind

KILLED = 137
SYNC_NS = 500_000_000
"""The least time from the trigger to the first start after it, where its removal was not seen: a relist, a sync, a kill."""


class RestartAllTrigger(msgspec.Struct, frozen=True, kw_only=True):
    """An exit that the model answers with RestartAllContainers."""

    container: str
    exited: Fact
    t_ns: int
    until_ns: int
    """When it was carried out; what was started in between, by the sync that went on, is replaced as well."""
    decided: Decided


def ran(pod: PodHistory, container: str) -> tuple[Instance, ...]:
    """The container's instances whose process ran; one that was only created is a start that failed."""
    return tuple(each for each in pod.instances(container) if each.has_run)


def exited_by_itself(case: Case, container: str, number: int, instance: Instance) -> bool:
    """Whether instance `number` ended as its program says it does."""
    codes = _exit_codes(case.scenario.pod.container(container).program)
    return number < len(codes) and instance.exit_code == codes[number]


@lru_cache(maxsize=64)
def _exit_codes(program: Program) -> tuple[int, ...]:
    return tuple(life.exit_code for life in program.each_life())


def was_killed(case: Case, container: str, number: int, instance: Instance) -> bool:
    """Whether somebody ended it before its program did."""
    term = case.scenario.pod.container(container).exit_code_on_term
    return not exited_by_itself(case, container, number, instance) and instance.exit_code in (term, KILLED)


def resets_of(case: Case, pod: PodHistory) -> tuple[RestartAllTrigger, ...]:
    """Every trigger in the pod, in order of time."""
    return tuple(sorted(_triggers(case, pod), key=lambda each: each.t_ns)) if case.restarts_all else ()


def _triggers(case: Case, pod: PodHistory) -> Iterator[RestartAllTrigger]:
    for spec in case.scenario.pod.containers:
        for number, instance in enumerate(ran(pod, spec.name)):
            exited = instance.exit
            if exited is None or exited.utc_ns is None or was_killed(case, spec.name, number, instance):
                continue
            decided = case.decided(spec.name, instance)
            if decided.decision is Decision.RESTART_ALL:
                removed = instance.removed.utc_ns if instance.removed else None
                until_ns = max(exited.utc_ns, removed or exited.utc_ns + SYNC_NS)
                yield RestartAllTrigger(
                    container=spec.name, exited=exited, t_ns=exited.utc_ns, until_ns=until_ns, decided=decided
                )


def reset_during(
    resets: tuple[RestartAllTrigger, ...], instance: Instance, following: Instance | None, end_ns: int
) -> RestartAllTrigger | None:
    """The trigger that was carried out after an instance was started and before it was replaced; None if there was none."""
    began = instance.created or instance.start
    replaced = following and (following.created or following.start)
    until_ns = replaced.utc_ns if replaced and replaced.utc_ns is not None else end_ns
    return next(
        (
            each
            for each in resets
            if began and began.utc_ns is not None and began.utc_ns < each.until_ns and each.t_ns <= until_ns
        ),
        None,
    )


def decided_after(
    case: Case, container: str, number: int, instance: Instance, reset: RestartAllTrigger | None
) -> Decided:
    """What the model decides after the exit of instance `number`; a reset of the pod restarts it in any case."""
    if reset is not None and case.scenario.pod.container(container).kind is not ContainerKind.EPHEMERAL:
        return reset.decided
    return case.decided(container, instance, killed=was_killed(case, container, number, instance))
