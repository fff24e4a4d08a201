"""A restart keeps the log of the instance before, which `kubectl logs --previous` shows."""

from crashloop.history.event import Channel, Kind
from suites.selftest.kit.cases import CRASHING, GOOD, checked, told
from suites.selftest.kit.histories import History, Life


def listed(*numbers: int, lives: tuple[Life, ...] = GOOD) -> History:
    """The lives of "app", whose logs with these numbers are listed at 20 s."""
    history = History(CRASHING).lives("app", *lives)
    return history.add(20.0, Channel.KUBELET, Kind.LOG_FILES, {"logs": {"app": numbers}}, pod=True).ends(30)


def test_accepts_the_logs_of_the_present_instance_and_of_the_one_before() -> None:
    answer = checked("previous-log", listed(2, 3))
    assert told(answer) == []
    assert answer.facts == {"previous": {"app": 2}}


def test_a_log_of_the_instance_before_that_is_gone_is_a_fail() -> None:
    history = listed(3)
    exited = history.line_of(Kind.EXITED, 2, channel=Channel.RUNTIME, container="app")
    assert told(checked("previous-log", history)) == [
        'FAIL: the log of instance 2 of "app" was gone while its successor ran '
        f"(history lines {exited} and {history.line_of(Kind.LOG_FILES)}); it was to be kept."
    ]


def test_logs_that_were_listed_after_the_last_exit_are_not_enough() -> None:
    assert told(checked("previous-log", listed(3, lives=(*GOOD[:3], (8.6, 9.6, 1))))) == [
        "INCONCLUSIVE: no list of logs shows a container after a restart: the scenario was complete."
    ]


def test_logs_that_were_not_listed_are_inconclusive() -> None:
    assert told(checked("previous-log", History(CRASHING).lives("app", *GOOD).ends(30))) == [
        "INCONCLUSIVE: no list of logs shows a container after a restart: the scenario was complete."
    ]
