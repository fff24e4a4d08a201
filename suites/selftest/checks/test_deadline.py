"""A pod fails at its deadline, and nothing of it runs on or starts again."""

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.pod import Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.cases import app, checked, told
from suites.selftest.kit.histories import History, stamp

PATIENT = PodScenario(
    name="made-up",
    profile="max-2s",
    pod=Pod(containers=(app(exits_with(1, times=40)),), active_deadline_s=10),
    until=Until(phase="Failed"),
)
"""Its pod is there from 0.5 s on, which startTime says as 0 s: the deadline is 10 s."""
EARLIER = ((1, 2, 1), (2.5, 3.5, 1), (5.5, 6.5, 1))


def ended(
    *lives: tuple[float, float | None, int], said_s: float = 11, reason: str = "DeadlineExceeded", ends_s: float = 60
) -> History:
    history = History(PATIENT).status(0.9, {}, phase="Pending", startTime=stamp(0.5)).lives("app", *lives, status=False)
    return history.status(said_s, {}, phase="Failed", reason=reason, startTime=stamp(0.5)).ends(ends_s)


@pytest.mark.parametrize(
    "last", [(8.5, 9.5, 1), (8.5, 14, 143), (10.5, 12, 143)], ids=["exited", "killed", "started-just-then"]
)
def test_a_pod_that_ends_at_its_deadline_is_right(last: tuple[float, float, int]) -> None:
    answer = checked("deadline", ended(*EARLIER, last, said_s=15), min_restarts=2)
    assert told(answer) == []
    assert answer.facts["restarts"] in (2, 3)


def test_a_start_after_the_deadline_is_a_fail() -> None:
    history = ended(*EARLIER, (40, 41, 1))
    lines = [history.line_of(kind, 3, channel=Channel.RUNTIME) for kind in (Kind.CREATED, Kind.EXITED)]
    assert told(checked("deadline", history)) == [
        'FAIL: instance 3 of "app" ran until 31 s after the deadline of its pod '
        f"(history lines {lines[0]} and {lines[1]}); 7 s are enough to end it."
    ]


def test_a_container_that_runs_on_is_a_fail() -> None:
    history = ended(*EARLIER, (8.5, None, 0))
    created = history.line_of(Kind.CREATED, 3, channel=Channel.RUNTIME)
    assert told(checked("deadline", history)) == [
        'FAIL: instance 3 of "app" ran until 50 s after the deadline of its pod '
        f"(history line {created}); 7 s are enough to end it."
    ]


def test_an_end_before_the_deadline_is_a_fail() -> None:
    history = ended(*EARLIER, said_s=7)
    assert told(checked("deadline", history)) == [
        f"FAIL: the pod was said to have failed 3 s before its deadline (history line {history.line_of(Kind.STATUS, 1)})."
    ]


def test_a_failure_without_its_reason_is_a_fail() -> None:
    history = ended(*EARLIER, reason="")
    assert told(checked("deadline", history)) == [
        "FAIL: the last status of a pod whose deadline has passed says Failed without a reason "
        f"(history line {history.line_of(Kind.STATUS, 1)}); Failed, DeadlineExceeded was due."
    ]


def test_a_restart_is_needed_and_ten_seconds_after_the_deadline() -> None:
    assert told(checked("deadline", ended((1, 2, 1)))) == [
        "INCONCLUSIVE: 0 restarts before the deadline seen, 1 needed: the scenario was complete."
    ]
    assert told(checked("deadline", ended(*EARLIER, ends_s=19))) == [
        "INCONCLUSIVE: 9 s were watched after the deadline, 10 s needed: the scenario was complete."
    ]


def test_without_a_start_time_there_is_no_deadline_to_judge() -> None:
    assert told(checked("deadline", History(PATIENT).lives("app", *EARLIER).ends(60))) == [
        "INCONCLUSIVE: no status with a startTime was seen: the scenario was complete."
    ]
