"""A restart keeps the log of the instance before, which `kubectl logs --previous` shows."""

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.pod import ContainerKind, RestartPolicy
from crashloop.spec.program import exits_with
from suites.selftest.kit.cases import CRASHING, GOOD, app, checked, scenario, told
from suites.selftest.kit.histories import History, Life

NOT_ENOUGH = ["INCONCLUSIVE: 0 restarted containers in a list of logs seen, 1 needed: the scenario was complete."]


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
    assert told(checked("previous-log", listed(3, lives=(*GOOD[:3], (8.6, 9.6, 1))))) == NOT_ENOUGH


def test_logs_that_were_not_listed_are_inconclusive() -> None:
    assert told(checked("previous-log", History(CRASHING).lives("app", *GOOD).ends(30))) == NOT_ENOUGH


def test_a_log_that_goes_from_a_late_restart_on_is_a_fail() -> None:
    lives = tuple((3.0 * number, 3.0 * number + 1, 1) for number in range(7))
    history = listed(7, lives=(*lives, (21.0 - 2, None, 0)))
    exited = history.line_of(Kind.EXITED, 6, channel=Channel.RUNTIME, container="app")
    assert told(checked("previous-log", history)) == [
        'FAIL: the log of instance 6 of "app" was gone while its successor ran '
        f"(history lines {exited} and {history.line_of(Kind.LOG_FILES)}); it was to be kept."
    ]


def test_of_several_containers_each_is_judged() -> None:
    sidecar = app(exits_with(1, times=3), name="sidecar", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS)
    history = History(scenario(sidecar, app(exits_with(1, times=3)))).lives("sidecar", *GOOD).lives("app", *GOOD)
    logs = {"sidecar": (3,), "app": (2, 3)}
    history.add(20.0, Channel.KUBELET, Kind.LOG_FILES, {"logs": logs}, pod=True).ends(30)
    answer = checked("previous-log", history)
    assert [each.split(" (")[0] for each in told(answer)] == [
        'FAIL: the log of instance 2 of "sidecar" was gone while its successor ran'
    ]
    assert answer.facts == {"previous": {"sidecar": 2, "app": 2}}


def test_a_container_that_restarts_after_the_list_is_judged_by_what_ran_then() -> None:
    later = (*GOOD[:3], (8.6, 21.0, 1), (23.3, None, 0))
    assert checked("previous-log", listed(2, 3, lives=later)).facts == {"previous": {"app": 2}}
    assert "the log of instance 2" in told(checked("previous-log", listed(3, lives=later)))[0]


@pytest.mark.parametrize("numbers", [(0,), (0, 1), (4, 5)])
def test_logs_with_other_numbers_than_the_instances_have_accuse_nobody(numbers: tuple[int, ...]) -> None:
    """An instance may have gone unseen."""
    assert told(checked("previous-log", listed(*numbers))) == NOT_ENOUGH


def test_the_logs_of_init_containers_go_with_their_sandbox() -> None:
    sidecar = app(exits_with(1, times=3), name="sidecar", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS)
    history = History(scenario(sidecar, app(exits_with(1, times=3)))).lives("sidecar", *GOOD).lives("app", *GOOD)
    history.add(7.0, Channel.RUNTIME, Kind.SANDBOX, {"container_id": "sandbox-1", "phase": "created"}, pod=True)
    history.add(20.0, Channel.KUBELET, Kind.LOG_FILES, {"logs": {"sidecar": (3,), "app": (2, 3)}}, pod=True).ends(30)
    answer = checked("previous-log", history)
    assert (told(answer), answer.facts) == ([], {"previous": {"app": 2}})


def test_an_instance_that_never_ran_takes_the_log_before_it_along() -> None:
    """It is the newest that exited."""
    history = History(CRASHING).lives("app", *GOOD[:3]).lives("app", GOOD[3], first=4, journal=False)
    history.runtime(7.0, Kind.CREATED, "app", "app-3")
    history.add(20.0, Channel.KUBELET, Kind.LOG_FILES, {"logs": {"app": (4,)}}, pod=True).ends(30)
    assert told(checked("previous-log", history)) == NOT_ENOUGH


def test_the_logs_of_a_pod_that_is_deleted_are_not_judged() -> None:
    history = listed(3).intervention(15.0, "delete-pod")
    assert told(checked("previous-log", history)) == NOT_ENOUGH
