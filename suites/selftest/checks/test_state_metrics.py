"""kube-state-metrics states of a container what a status of that time does."""

from typing import Any

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.program import exits_with
from crashloop.spec.state_metrics import LAST_CODE, LAST_REASON, RESTARTS, WAITING
from suites.selftest.kit.cases import STOCK, app, checked, scenario, told
from suites.selftest.kit.histories import UID, History

CRASHING = scenario(app(exits_with(3, times=25)), profile=STOCK)
READ_S = 29.0
ENOUGH = {"min_restarts": 2}


def status_of(restarts: int, **state: Any) -> dict[str, Any]:
    ended = {"terminated": {"exitCode": 3, "reason": "Error"}}
    report = {"name": "app", "restartCount": restarts, "containerID": "", "ready": False}
    return {
        "phase": "Running",
        "containerStatuses": [report | {"state": state, "lastState": ended if restarts else {}}],
    }


BACKING_OFF = status_of(2, waiting={"reason": "CrashLoopBackOff"})
RUNNING = status_of(2, running={})


def sampled(
    *series: tuple[str, dict[str, str], float], states: tuple[tuple[float, dict[str, Any]], ...] = ((5.0, BACKING_OFF),)
) -> History:
    """A pod with these statuses, of which kube-state-metrics states these values."""
    history = History(CRASHING)
    for number, (at_s, status) in enumerate(states):
        data = {"resource_version": str(number), "status": status}
        history.add(at_s, Channel.API, Kind.STATUS, data, pod=True)
    of_pod = {"uid": UID, "container": "app"}
    values = [{"name": name, "labels": of_pod | labels, "value": value} for name, labels, value in series]
    return history.add(READ_S, Channel.API, Kind.SAMPLE, {"series": values}).ends(40)


def values(restarts: int = 2, reason: str | None = "CrashLoopBackOff", code: int = 3) -> tuple[Any, ...]:
    waiting: tuple[Any, ...] = () if reason is None else ((WAITING, {"reason": reason}, 1.0),)
    last: tuple[Any, ...] = ((LAST_REASON, {"reason": "Error"}, 1.0), (LAST_CODE, {}, float(code)))
    return (RESTARTS, {}, float(restarts)), *waiting, *last


def answer(history: History) -> Any:
    return checked("state-metrics", history, STOCK, **ENOUGH)


def test_accepts_what_the_status_says() -> None:
    accepted = answer(sampled(*values()))
    assert told(accepted) == []
    assert accepted.facts == {"restarts": 2}


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        (values(restarts=1), '_restarts_total of "app" is 1 (history line {}); by the statuses of that time 2 was due'),
        (
            values(reason=None),
            '_waiting_reason of "app" is not stated (history line {}); by the statuses of that time CrashLoopBackOff was due',
        ),
        (
            values(code=0),
            '_last_terminated_exitcode of "app" is 0 (history line {}); by the statuses of that time 3 was due',
        ),
    ],
    ids=["restarts", "waiting", "code"],
)
def test_what_no_status_of_that_time_says_is_a_fail(stated: tuple[Any, ...], sentence: str) -> None:
    history = sampled(*stated)
    line, status = history.line_of(Kind.SAMPLE), history.line_of(Kind.STATUS)
    assert told(answer(history)) == [f"FAIL: kube_pod_container_status{sentence.format(line)} (history line {status})."]


def test_a_status_that_came_within_a_second_of_the_reading_may_be_the_one_that_was_read() -> None:
    for at_s, accused in ((READ_S + 0.5, False), (READ_S + 1.5, True)):
        states = ((5.0, RUNNING), (at_s, BACKING_OFF))
        assert any(each.startswith("FAIL") for each in told(answer(sampled(*values(), states=states)))) is accused


def test_a_status_of_long_ago_is_not_the_one_that_was_read() -> None:
    assert len(told(answer(sampled(*values(), states=((5.0, BACKING_OFF), (20.0, RUNNING)))))) == 1


def test_a_container_that_does_not_wait_proves_nothing() -> None:
    assert told(answer(sampled(*values(reason=None), states=((5.0, RUNNING),)))) == [
        "INCONCLUSIVE: 0 restarts of a container that waits seen, 2 needed: the scenario was complete."
    ]


def test_metrics_that_were_not_read_prove_nothing() -> None:
    unread = History(CRASHING).add(READ_S, Channel.API, Kind.SAMPLE, {"unread": "it did not start"}).ends(40)
    line = unread.line_of(Kind.SAMPLE)
    assert told(answer(unread)) == [
        f"INCONCLUSIVE: the metrics of kube-state-metrics could not be read (history line {line}): it did not start."
    ]
    assert told(answer(History(CRASHING).ends(40))) == [
        "INCONCLUSIVE: the metrics of kube-state-metrics were not read."
    ]
