"""Checks the reset of the counter: the delays after an event that may have reset it."""

from collections.abc import Iterator

from crashloop.checks.checker import Need, Seen, checker
from crashloop.checks.delays import judged
from crashloop.checks.finding import Finding
from crashloop.history.recording import PodHistory
from crashloop.model.lives import CounterLost, KeyChanged, Lived
from crashloop.restarts.case import Case
from crashloop.restarts.model_input import observed
from crashloop.restarts.restart import restarts_of
from crashloop.spec.pod import Container
from crashloop.spec.program import Program


@checker("reset", Need("turned", 2, "delay", "after what may reset the counter", is_shown=False))
def check_reset(case: Case, seen: Seen) -> Iterator[Finding]:
    """The delays after a turning point MUST be those due: the delay in which it fell or that follows it, and the next.

    Turning points are a life longer than all others, a recreated pod, an edited static pod, a kubelet restart and a changed
    container.
    """
    around = (
        each
        for pod in case.pods
        for container in case.scenario.pod.containers
        for turns in [set(_turning_points(case, pod, container))]
        for each in restarts_of(case, pod, container.name)
        if {each.due.restart, each.due.restart - 1} & turns
    )
    yield from judged(case, seen, around, "turned", counts=lambda each: each.shortest is not None)


def _turning_points(case: Case, pod: PodHistory, container: Container) -> Iterator[int]:
    """Numbers of the restarts that are the first to show it."""
    longest = _longest_life(container.program)
    if longest is not None:
        yield longest + 1
    if pod is not case.pods[0]:
        yield 1
    events = observed(case, pod, container.name)
    finished_s = [each.finished_s for each in events if isinstance(each, Lived) and each.finished_s is not None]
    for mark in events:
        if isinstance(mark, CounterLost | KeyChanged):
            waiting = sum(1 for at_s in finished_s if at_s < mark.at_s)
            running = any(
                isinstance(each, Lived)
                and each.started_attempt_s < mark.at_s
                and each.finished_s not in finished_s[:waiting]
                for each in events
            )
            yield waiting + 1 if running else max(waiting, 1)


def _longest_life(program: Program) -> int | None:
    """The number of the one life that is longer than all others."""
    by_length = sorted(enumerate(program.each_life()), key=lambda life: -life[1].run_s)
    if len(by_length) < 2 or by_length[0][1].run_s == by_length[1][1].run_s:
        return None
    return by_length[0][0]
