"""The checkers of restartCount and of the last exit judge what a status says by the instances that really were."""

from typing import Any

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import ContainerKind
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import CRASHING, GOOD, STAYS_FAILED, app, checked, good, scenario, told
from suites.selftest.kit.histories import History, stamp


def counting(*counts: tuple[float, int], ends_s: float = 30) -> History:
    """The good lives, with these values of restartCount instead of the right ones."""
    history = History(CRASHING).lives("app", *GOOD, status=False)
    for at_s, count in counts:
        history.counts(at_s, "app", count)
    return history.ends(ends_s)


def status_line(history: History, nth: int) -> int:
    return history.line_of(Kind.STATUS, nth)


def test_accepts_a_count_that_rises_with_each_restart() -> None:
    answer = checked("restart-count", good())
    assert told(answer) == []
    assert answer.facts == {"restarts": {"app": 3}, "restart_counts": {"app": 3}}


def test_accepts_statuses_that_skip_values_because_they_were_merged() -> None:
    assert told(checked("restart-count", counting((1.0, 0), (9.0, 3)))) == []


def test_a_count_ahead_of_the_truth_is_a_fail() -> None:
    history = counting((1.0, 0), (2.5, 2), (9.0, 3))
    assert told(checked("restart-count", history)) == [
        f'FAIL: the status said restartCount 2 of "app" (history line {status_line(history, 1)}) '
        "when 1 restart had been seen."
    ]


@pytest.mark.parametrize(("removed", "accused"), [("app", False), ("other", True)])
def test_a_container_that_the_runtime_has_forgotten_counts_before_its_next_instance(
    removed: str, accused: bool
) -> None:
    remove = Intervention(
        trigger=Trigger(after_s=2), action=InterventionKind.REMOVE_CONTAINER, arguments={"container": removed}
    )
    history = History(msgspec.structs.replace(CRASHING, interventions=(remove,)))
    history.lives("app", (0.5, 2.0, 137), (3.0, None, 0), status=False)
    waiting = {"name": "app", "restartCount": 1, "state": {"waiting": {"reason": "ContainerCreating"}}}
    history.status(2.5, {"app": waiting}).counts(3.5, "app", 1)
    answer = checked("restart-count", history.ends(30))
    assert [f"history line {history.line_of(Kind.STATUS)}" in each for each in told(answer)] == [True] * accused


def test_a_count_that_only_seems_ahead_because_the_wall_clock_jumped_back_is_inconclusive() -> None:
    """The clock jumps back by 3 s at 8.5 s: the status of restart 3, which was created at 8.5 s, is received at 6 s."""
    history = History(CRASHING).clock(0).clock_step(8.4, -3.0).lives("app", *GOOD, status=False, journal=False)
    history.counts(6.0, "app", 3)
    (finding,) = told(checked("restart-count", history.ends(30)))
    assert finding.startswith('INCONCLUSIVE: the status said restartCount 3 of "app"')
    assert finding.endswith("The wall clock jumped meanwhile.")


def test_a_count_ahead_of_what_was_seen_is_inconclusive_if_something_could_have_gone_unseen() -> None:
    history = History(CRASHING).lives("app", *GOOD[:2], status=False).counts(2.5, "app", 2)
    history.gap(Channel.RUNTIME, 1, 2).gap(Channel.JOURNAL, 1, 30)
    (finding,) = told(checked("restart-count", history.ends(30)))
    assert finding.startswith('INCONCLUSIVE: the status said restartCount 2 of "app"')


def test_a_journal_that_is_stamped_after_the_create_does_not_accuse() -> None:
    history = History(CRASHING).lives("app", *GOOD, status=False, runtime=False)
    history.counts(1.9, "app", 1).counts(9, "app", 3)
    assert told(checked("restart-count", history.ends(30))) == []


def test_a_count_that_falls_is_a_fail() -> None:
    history = counting((1.0, 0), (6.0, 2), (7.0, 1), (9.0, 3))
    first, second = status_line(history, 1), status_line(history, 2)
    assert told(checked("restart-count", history)) == [
        f'FAIL: restartCount of "app" fell from 2 to 1 (history lines {first} and {second}); '
        "it counts every restart and never falls."
    ]


def test_a_count_that_stays_behind_is_a_fail() -> None:
    history = counting((1.0, 0), (9.0, 2), ends_s=60)
    created = history.line_of(Kind.CREATED, 4)
    assert told(checked("restart-count", history)) == [
        f'FAIL: the last status said restartCount 2 of "app" after 3 restarts '
        f"(history lines {created} and {status_line(history, 1)}); 3 was to be said."
    ]


def test_a_count_that_had_no_time_to_arrive_is_not_behind() -> None:
    assert told(checked("restart-count", counting((1.0, 0), (6.0, 2), ends_s=12))) == []


def test_a_count_behind_during_a_watch_gap_is_inconclusive() -> None:
    history = History(CRASHING).lives("app", *GOOD, status=False).counts(1, "app", 0).gap(Channel.API, 5, 30).ends(31)
    (finding,) = told(checked("restart-count", history))
    assert finding.startswith('INCONCLUSIVE: the last status said restartCount 0 of "app" after 3 restarts')


def test_without_a_status_nothing_is_counted() -> None:
    (finding,) = told(checked("restart-count", counting()))
    assert finding.endswith("No pod status was seen at all.")
    assert finding.startswith("INCONCLUSIVE: ")


def test_accepts_statuses_that_show_the_last_exit() -> None:
    answer = checked("last-exit", good())
    assert told(answer) == []
    assert answer.facts == {"last_exits_shown": 3}


def test_a_status_without_a_last_exit_is_a_fail() -> None:
    history = History(CRASHING).lives("app", *GOOD, status=False)
    history.status(9.0, {"app": {**history.running("app", 3, 8.6), "lastState": {}}}).ends(30)
    assert told(checked("last-exit", history)) == [
        f'FAIL: a status of "app" (history line {status_line(history, 0)}) shows no last exit; restart 3 was running.'
    ]
    created = history.line_of(Kind.CREATED, 4)
    assert created in checked("last-exit", history).findings[0].lines


def test_a_status_whose_last_exit_is_the_one_before_the_last_is_a_fail() -> None:
    history = History(CRASHING).lives("app", *GOOD, status=False)
    behind = history.exited("app", 1, *GOOD[1])["state"]
    history.status(9.0, {"app": {**history.running("app", 3, 8.6), "lastState": behind}}).ends(30)
    lines = history.line_of(Kind.CREATED, 4), status_line(history, 0)
    assert told(checked("last-exit", history)) == [
        f'FAIL: a status of "app" (history lines {lines[0]} and {lines[1]}) shows the exit of another instance than 2 as the '
        "last; restart 3 was running."
    ]


WAITS = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}


def after_instance_2(**said: Any) -> History:
    """A status at 6.8 s, while instance 3 is due at 8.5 s, that says this instead of what is right."""
    history = History(CRASHING).lives("app", *GOOD, status=False)
    ended = history.exited("app", 2, *GOOD[2])
    return history.status(6.8, {"app": ended | WAITS | {"lastState": ended["state"]} | said}).ends(30)


def test_accepts_a_waiting_container_that_shows_its_exit_as_the_last() -> None:
    assert told(checked("last-exit", after_instance_2())) == []


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"containerID": ""}, "names no container ID; by its state it is waiting."),
        (
            {"state": {"running": {"startedAt": stamp(8.6)}}, "containerID": ""},
            "names no container ID; by its state it is running.",
        ),
        ({"lastState": {}}, "shows no last exit; it waits to be restarted."),
        (
            {"containerID": "containerd://other"},
            "shows the exit of another container than the one that it names as the last.",
        ),
    ],
)
def test_a_status_that_leaves_out_which_container_it_is_about_or_how_that_ended_is_a_fail(
    said: dict[str, Any], wrong: str
) -> None:
    history = after_instance_2(**said)
    assert told(checked("last-exit", history)) == [
        f'FAIL: a status of "app" (history line {status_line(history, 0)}) {wrong}'
    ]


@pytest.mark.parametrize(("kind", "accused"), [(ContainerKind.INIT, False), (ContainerKind.REGULAR, True)])
def test_an_init_container_that_was_removed_for_another_sandbox_has_no_id_until_it_starts_again(
    kind: ContainerKind, accused: bool
) -> None:
    kill = Intervention(trigger=Trigger(after_s=2.0), action=InterventionKind.KILL_SANDBOX)
    made = msgspec.structs.replace(scenario(app(name="setup", kind=kind), app()), interventions=(kill,))
    history = History(made).lives("setup", (0.5, 1.5, 1), status=False)
    said = history.exited("setup", 0, 0.5, 1.5, 1) | WAITS | {"containerID": ""}
    history.status(2.5, {"setup": said}, phase="Pending").ends(30)
    found = [each for each in told(checked("last-exit", history)) if "names no container ID" in each]
    assert bool(found) is accused


@pytest.mark.parametrize(("code", "reason"), [(1, "Completed"), (0, "Error")])
def test_a_reason_that_contradicts_the_exit_code_is_a_fail(code: int, reason: str) -> None:
    history = History(CRASHING).lives("app", (0.5, 1.5, code), status=False)
    ended = history.exited("app", 0, 0.5, 1.5, code)
    ended["state"]["terminated"]["reason"] = reason
    history.status(1.7, {"app": ended}).ends(30)
    assert told(checked("last-exit", history))[0] == (
        f'FAIL: a status of "app" (history line {status_line(history, 0)}) gives {reason} as the reason of exit code {code}.'
    )


def test_a_reason_of_another_name_contradicts_no_code() -> None:
    history = History(CRASHING).lives("app", (0.5, 1.5, 1), status=False)
    ended = history.exited("app", 0, 0.5, 1.5, 1)
    ended["state"]["terminated"]["reason"] = "Crashed"
    assert [
        each for each in told(checked("last-exit", history.status(1.7, {"app": ended}).ends(30))) if "FAIL" in each
    ] == []


def running_on(*statuses_s: float) -> History:
    """An instance that exits at 1.5 s and that these statuses still say to be running."""
    history = History(STAYS_FAILED).lives("app", (0.5, 1.5, 1), status=False)
    for at_s in statuses_s:
        history.status(at_s, {"app": history.running("app", 0, 0.5)})
    return history


@pytest.mark.parametrize("statuses_s", [(0.8,), (0.8, 5.0, 20.0)], ids=["nothing-newer", "said-again"])
def test_an_exited_instance_that_is_said_to_run_is_a_fail(statuses_s: tuple[float, ...]) -> None:
    history = running_on(*statuses_s).ends(60)
    finding, *_ = told(checked("last-exit", history))
    assert finding.startswith('FAIL: instance 0 of "app" was said to be running until ')


def test_an_exit_that_is_stated_three_seconds_later_is_a_fail_where_the_api_server_was_quick() -> None:
    history = running_on(0.8).api_controls(30)
    history.status(4.6, {"app": history.exited("app", 0, 0.5, 1.5, 1)}).ends(30)
    stated, exited = status_line(history, 0), history.line_of(Kind.EXITED, 1)
    assert told(checked("last-exit", history)) == [
        f'FAIL: instance 0 of "app" was said to be running until 3.1 s after its exit (history lines {stated} and {exited}).'
    ]


@pytest.mark.parametrize("slow_s", [(2, 5), None], ids=["slow-meanwhile", "nobody-asked"])
def test_an_exit_that_is_stated_three_seconds_later_may_be_the_api_servers_fault(
    slow_s: tuple[float, float] | None,
) -> None:
    history = running_on(0.8)
    history = history if slow_s is None else history.api_controls(30, slow_s=slow_s)
    history.status(4.6, {"app": history.exited("app", 0, 0.5, 1.5, 1)}).ends(30)
    assert "FAIL" not in " ".join(told(checked("last-exit", history)))


def test_what_is_stated_within_two_relists_is_in_time() -> None:
    history = running_on(0.8).api_controls(30)
    history.status(3.7, {"app": history.exited("app", 0, 0.5, 1.5, 1)}).ends(30)
    assert "FAIL" not in " ".join(told(checked("last-exit", history)))


def test_an_exit_that_had_no_time_to_arrive_is_not_missing() -> None:
    assert checked("last-exit", running_on(0.8).ends(11)).outcome is Outcome.INCONCLUSIVE


def test_an_exit_lost_in_a_watch_gap_is_inconclusive() -> None:
    (finding,) = told(checked("last-exit", running_on(0.8).gap(Channel.API, 1.0, 29).ends(30)))
    assert finding.endswith("The watch was lost meanwhile.")


def test_a_wrong_exit_code_in_the_status_is_a_fail() -> None:
    history = History(CRASHING).lives("app", *GOOD, status=False)
    history.status(1.8, {"app": history.exited("app", 0, 0.5, 1.5, 2)}).ends(30)
    ended = history.line_of(Kind.EXITED, 1)
    assert told(checked("last-exit", history)) == [
        f'FAIL: a status says exit code 2 of instance 0 of "app" (history lines {ended} and '
        f"{status_line(history, 0)}); it exited with 1."
    ]


def test_a_last_state_that_is_still_the_one_before_the_last_is_known_by_its_id() -> None:
    """Only the journal has the instances; while the third is being created, the last state is still the first's."""
    lives = ((0.5, 1.5, 255), (2.0, 3.0, 143), (5.3, None, 0))
    history = History(CRASHING).lives("app", *lives, runtime=False, status=False).without(Kind.SANDBOX)
    history.status(0.8, {"app": history.running("app", 0, 0.5)})
    first = history.exited("app", 0, 0.5, 1.5, 255)
    history.status(1.8, {"app": first}).status(2.3, {"app": history.running("app", 1, 2.0)})
    creating = {"name": "app", "restartCount": 2, "containerID": "containerd://app-2", "lastState": first["state"]}
    history.status(5.2, {"app": creating})
    assert checked("last-exit", history.ends(30)).outcome is not Outcome.FAIL


def test_a_wrong_time_in_the_status_is_a_fail() -> None:
    history = History(CRASHING).lives("app", *GOOD, status=False)
    history.status(1.8, {"app": history.exited("app", 0, 0.5, 7.0, 1)}).ends(30)
    (finding,) = told(checked("last-exit", history))
    assert finding.startswith('FAIL: a status says finishedAt of instance 0 of "app" 5.5 s after the runtime\'s time')


def test_a_wrong_time_during_a_stall_is_inconclusive() -> None:
    history = History(CRASHING).lives("app", *GOOD, status=False).stall(1.0, 6.0)
    history.status(1.8, {"app": history.exited("app", 0, 0.5, 7.0, 1)}).ends(30)
    (finding,) = told(checked("last-exit", history))
    assert finding.endswith("The host held the runtime up meanwhile.")


def test_an_instance_that_is_said_to_have_ended_and_still_runs_is_a_fail() -> None:
    history = History(CRASHING).lives("app", *GOOD, status=False)
    history.status(20, {"app": history.exited("app", 3, 8.6, 19.0, 1)}).ends(30)
    assert told(checked("last-exit", history)) == [
        f'FAIL: a status says that instance 3 of "app" has ended (history line {status_line(history, 0)}); '
        "it had not exited."
    ]


def cut_off(reason: str, *, started: bool) -> History:
    """Instance 3 was created, and a status says that it has ended; the runtime knows of no exit."""
    history = History(CRASHING).lives("app", *GOOD[:3], status=False)
    history.runtime(8.5, Kind.CREATED, "app", "app-3")
    if started:
        history.runtime(8.6, Kind.STARTED, "app", "app-3")
    ended = history.exited("app", 3, 8.6, 8.6, 128)
    ended["state"]["terminated"]["reason"] = reason
    history.status(9, {"app": ended}).lives("app", (18.6, 19.6, 1), first=4)
    return history.ends(30)


def test_a_start_that_was_cut_off_leaves_a_state_and_no_exit() -> None:
    assert checked("last-exit", cut_off("StartError", started=False)).outcome is not Outcome.FAIL


@pytest.mark.parametrize(("reason", "started"), [("Error", False), ("StartError", True)])
def test_an_end_of_what_ran_or_for_another_reason_needs_an_exit(reason: str, started: bool) -> None:
    (finding,) = told(checked("last-exit", cut_off(reason, started=started)))
    assert finding.endswith("it had not exited.")


def test_a_count_that_is_not_the_running_instances_is_a_fail() -> None:
    history = History(CRASHING).lives("app", *GOOD, status=False)
    says = {
        "name": "app",
        "restartCount": 0,
        "containerID": "containerd://app-1",
        "state": {"running": {"startedAt": "2026-01-01T00:00:02Z"}},
    }
    history.status(2.5, {"app": says}).counts(9, "app", 3).ends(30)
    (finding,) = told(checked("restart-count", history))
    assert finding.startswith('FAIL: the status said restartCount 0 of "app" while the instance of restart 1 ran')
