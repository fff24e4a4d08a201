"""The checker of the time without a kubelet: nothing starts in it, and what had exited starts after it."""

from typing import Any

import msgspec

from crashloop.history.event import Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from suites.selftest.kit.cases import CRASHING, checked, told
from suites.selftest.kit.histories import History, Life

DOWN: dict[str, Any] = {"down_s": 30.0}
AWAY = msgspec.structs.replace(
    CRASHING,
    name="away",
    interventions=(
        Intervention(
            trigger=Trigger(container="app", after_restart=0), action=InterventionKind.RESTART_KUBELET, arguments=DOWN
        ),
    ),
)


def away(*lives: Life, back_s: float | None = 40.0, end_s: float = 60.0) -> History:
    """The kubelet is stopped at 5 s, and the next one starts at `back_s`."""
    history = History(AWAY).lives("app", *lives).intervention(5.0, "restart-kubelet", **DOWN)
    if back_s is not None:
        history.node(back_s + 1.0, started_s=back_s)
    return history.ends(end_s)


def test_accepts_a_container_that_waits_for_the_kubelet() -> None:
    answer = checked("no-start-while", away((0.5, 1.5, 1), (2.0, 4.0, 1), (41.0, None, 0)))
    assert told(answer) == []
    assert answer.facts == {"without_kubelet_s": [30.0]}


def test_a_start_without_a_kubelet_is_a_fail() -> None:
    history = away((0.5, 1.5, 1), (2.0, 4.0, 1), (20.0, 21.0, 1), (41.0, None, 0))
    stopped, created = history.line_of(Kind.INTERVENTION), history.line_of(Kind.CREATED, 3)
    assert told(checked("no-start-while", history)) == [
        f'FAIL: "app" was started (history lines {stopped} and {created}) while its node had no kubelet.'
    ]


def test_a_kubelet_that_never_came_back_shows_nothing() -> None:
    history = away((0.5, 1.5, 1), (2.0, 4.0, 1), back_s=None)
    assert told(checked("no-start-while", history)) == [
        "INCONCLUSIVE: 0 s without a kubelet seen, 10 s needed: the scenario was complete."
    ]


def test_a_container_that_ran_all_the_time_shows_nothing() -> None:
    history = away((0.5, 1.5, 1), (2.0, None, 0))
    stopped = history.line_of(Kind.INTERVENTION)
    assert told(checked("no-start-while", history)) == [
        "INCONCLUSIVE: no container had exited while the node had no kubelet."
    ]
    assert checked("no-start-while", history).findings[0].lines == (stopped,)


def test_a_container_that_stays_down_afterwards_shows_no_return() -> None:
    history = away((0.5, 1.5, 1), (2.0, 4.0, 1))
    assert told(checked("no-start-while", history)) == [
        'INCONCLUSIVE: no start of "app" was seen after the kubelet had come back: the scenario was complete.'
    ]


def said_to_run(*, kubelet_away: bool) -> History:
    """Instance 1 exits at 4 s, and the last thing said of it until 41 s is that it runs."""
    history = History(AWAY).lives("app", (0.5, 1.5, 1)).lives("app", (2.0, 4.0, 1), status=False, first=1)
    history.status(2.3, {"app": history.running("app", 1, 2.0)})
    history.status(41.2, {"app": history.exited("app", 1, 2.0, 4.0, 1)}).lives("app", (41.0, None, 0), first=2)
    if kubelet_away:
        history.intervention(5.0, "restart-kubelet", **DOWN).node(41.0, started_s=40.0)
    return history.ends(60)


def test_nobody_says_anything_while_there_is_no_kubelet() -> None:
    assert told(checked("last-exit", said_to_run(kubelet_away=True))) == []
    (finding,) = told(checked("last-exit", said_to_run(kubelet_away=False)))
    assert finding.startswith('FAIL: instance 1 of "app" was said to be running until 37.2 s after its exit')
