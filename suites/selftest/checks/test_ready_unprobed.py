"""`ready` of a container that no readiness probe asks: while it runs, and only then."""

from typing import Any

import pytest

from crashloop.history.event import Kind
from crashloop.spec.pod import Container, ContainerKind, Probe, ProbeKind, RestartPolicy
from crashloop.spec.program import exits_with
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

CRASHES = exits_with(1, after_s=9, times=1)
SIDECAR = app(CRASHES, kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS)
STARTING = app(CRASHES, probes=(Probe(kind=ProbeKind.STARTUP, pattern="FFF"),))
PROBED = app(CRASHES, probes=(Probe(kind=ProbeKind.READINESS, pattern="FFF"),))


def lives(
    *said: tuple[float, bool], container: Container | None = None, started: bool = True, ends_s: float = 60, **more: Any
) -> History:
    """Two lives, from 1 s to 10 s and from 12 s on; statuses that say whether it is ready."""
    asked = container or app(CRASHES)
    beside = () if asked.kind is ContainerKind.REGULAR else (app(name="beside"),)
    history = History(scenario(asked, *beside)).lives("app", (1.0, 10.0, 1), (12.0, None, 0), status=False)
    for at_s, ready in said:
        history.status(at_s, {"app": shown(history, at_s, started) | {"ready": ready}}, **more)
    return history.ends(ends_s)


def shown(history: History, at_s: float, started: bool) -> dict[str, Any]:
    """Running until 10 s, terminated until 11 s, waiting until 12 s, running."""
    if at_s < 10:
        return history.running("app", 0, 1.0) | {"started": started}
    if at_s > 12:
        return history.running("app", 1, 12.0) | {"started": started}
    ended = history.exited("app", 0, 1.0, 10.0, 1)
    return ended if at_s < 11 else ended | {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}


RIGHT = ((1.5, True), (10.5, False), (11.5, False), (12.5, True))


@pytest.mark.parametrize("container", [app(CRASHES), app(CRASHES, post_start=True), SIDECAR])
def test_a_container_that_is_ready_while_it_runs_is_right(container: Container) -> None:
    answer = checked("ready-unprobed", lives(*RIGHT, container=container), min_restarted=1, min_down=2)
    assert told(answer) == []
    waiting_behind_it = 0 if container.kind is ContainerKind.REGULAR else len(RIGHT)
    assert answer.facts == {"running": 2, "restarted": 1, "down": 2 + waiting_behind_it}


@pytest.mark.parametrize(("code", "ready"), [(0, True), (1, False), (0, False), (1, True)])
def test_an_init_container_is_ready_once_it_has_succeeded(code: int, ready: bool) -> None:
    asked = app(name="setup", kind=ContainerKind.INIT)
    history = History(scenario(asked, app())).lives("setup", (1.0, 2.0, code), status=False)
    history.status(2.5, {"setup": history.exited("setup", 0, 1.0, 2.0, code) | {"ready": ready}}, phase="Pending").ends(
        60
    )
    line = history.line_of(Kind.STATUS)
    said = {
        (
            0,
            False,
        ): f'a status says that "setup" is not ready (history line {line}); an init container is once it has succeeded.',
        (
            1,
            True,
        ): f'a status says that "setup" is ready (history line {line}); an init container is once it has succeeded, not '
        "before.",
    }
    wrong = [f"FAIL: {said[code, ready]}"] if (code, ready) in said else []
    assert [each for each in told(checked("ready-unprobed", history)) if "FAIL" in each] == wrong


@pytest.mark.parametrize(("at_s", "state"), [(10.5, "terminated"), (11.5, "waiting")])
def test_ready_while_it_does_not_run_is_a_fail(at_s: float, state: str) -> None:
    history = lives((1.5, True), (at_s, True))
    assert told(checked("ready-unprobed", history)) == [
        f'FAIL: a status says that "app" is ready (history line {history.line_of(Kind.STATUS, 1)}); by its state it is {state}.'
    ]


@pytest.mark.parametrize("container", [app(CRASHES), SIDECAR])
def test_not_ready_after_the_first_restart_is_a_fail(container: Container) -> None:
    history = lives(*RIGHT[:3], (12.5, False), container=container)
    assert told(checked("ready-unprobed", history)) == [
        f'FAIL: a status says that "app" is not ready (history line {history.line_of(Kind.STATUS, 3)}); '
        "it runs, has started and has no readiness probe."
    ]


def test_what_has_not_started_need_not_be_ready() -> None:
    """That it has not is for another checker."""
    assert told(checked("ready-unprobed", lives((1.5, False), started=False))) == []


def test_a_success_of_a_startup_probe_may_be_written_before_it_makes_the_container_ready() -> None:
    assert told(checked("ready-unprobed", lives((1.5, False), container=STARTING))) == []
    wrong = lives((1.5, True), (11.5, True), container=STARTING)
    assert "FAIL: " in told(checked("ready-unprobed", wrong))[0]


def test_a_container_with_a_readiness_probe_is_not_judged() -> None:
    assert told(checked("ready-unprobed", lives((1.5, False), (11.5, True), container=PROBED))) == [
        "INCONCLUSIVE: 0 statements about a running container seen, 1 needed: the scenario was complete."
    ]


def test_the_statuses_of_a_pod_that_ends_are_not_judged() -> None:
    ending = [{"type": "ContainersReady", "status": "False", "reason": "PodFailed"}]
    for history in (lives((1.5, False), phase="Failed"), lives((1.5, False), conditions=ending)):
        assert (
            "INCONCLUSIVE: 0 statements about a running container seen" in told(checked("ready-unprobed", history))[0]
        )


def test_a_start_that_makes_nothing_ready_for_a_minute_is_a_fail() -> None:
    starting = app(probes=(Probe(kind=ProbeKind.STARTUP, pattern="FFS"),))
    history = lives((4.5, False), container=starting, started=False).note(4.0, "app", 0, "startup.2", "S")
    late = lives((4.5, False), container=starting, started=False, ends_s=20).note(4.0, "app", 0, "startup.2", "S")
    assert told(checked("ready-unprobed", late)) == []
    assert told(checked("ready-unprobed", history)) == [
        f'FAIL: a status says that "app" is not ready (history line {history.line_of(Kind.STATUS)}); '
        "that stood for 55.5 s after its startup probe had succeeded, and it has no readiness probe."
    ]
