"""Restarts and exits are counted from the runtime where there is one, and a scenario is complete when all was seen."""

from typing import Any

import msgspec
import pytest

from crashloop.history.event import Channel, Event, Kind
from crashloop.record.channels.channel import gap
from crashloop.record.pod_progress import Counts, PodCounts, due_ns, is_reported, missing
from crashloop.spec.intervention import Trigger
from crashloop.spec.scenario import Until

RUNNING = {"running": {"startedAt": "2026-11-21T16:00:00Z"}}
EXITED = {"terminated": {"exitCode": 1}}
WAITING = {"waiting": {"reason": "CrashLoopBackOff"}}


def runtime(kind: Kind, t_ns: int, *, pod: str = "uid", container: str | None = "app") -> Event:
    return Event(
        seq=0, t_ns=t_ns, received_ns=t_ns, channel=Channel.RUNTIME, kind=kind, pod_uid=pod, container=container
    )


def lived(counts: Counts, *exits_ns: int, pod: str = "uid") -> None:
    for exit_ns in exits_ns:
        counts.take(runtime(Kind.STARTED, exit_ns - 1, pod=pod))
        counts.take(runtime(Kind.EXITED, exit_ns, pod=pod))


def status(
    restarts: int, state: Any, last: Any = None, *, phase: str = "Running", field: str = "container"
) -> PodCounts:
    container = {"name": "app", "restartCount": restarts, "state": state, "lastState": last or {}}
    return msgspec.convert({"phase": phase, f"{field}Statuses": [container]}, type=PodCounts)


def with_runtime() -> Counts:
    return Counts(has_runtime_events=True)


def without_runtime() -> Counts:
    return Counts(has_runtime_events=False)


def test_a_start_that_is_not_the_first_is_a_restart() -> None:
    counts = with_runtime()
    lived(counts, 10, 20)
    counts.take(runtime(Kind.STARTED, 29))
    assert (counts.restarts("app"), counts.exits("app")) == (2, 2)
    assert (counts.restarts("other"), counts.exits("other")) == (0, 0)


def test_a_start_that_the_runtime_refused_is_a_restart_and_no_start_of_the_program() -> None:
    """Its program keeps no journal, though the statuses count it."""
    counts = with_runtime()
    counts.take(msgspec.structs.replace(runtime(Kind.EXITED, 10), data={"exit_code": 128, "refused": "no such file"}))
    counts.take(runtime(Kind.STARTED, 20))
    counts.take_status("uid", status(1, RUNNING), 21)
    assert (counts.restarts("app"), counts.exits("app"), counts.starts("app", "uid")) == (1, 1, 1)


def test_every_restart_and_every_exit_is_a_move() -> None:
    counts, seen = with_runtime(), [0]
    for t_ns, kind in enumerate((Kind.STARTED, Kind.EXITED, Kind.STARTED, Kind.EXITED)):
        counts.take(runtime(kind, t_ns))
        seen.append(counts.moves)
    assert seen == [0, 0, 1, 2, 3]


def test_a_recreated_pod_starts_anew_but_counts_go_on() -> None:
    counts = with_runtime()
    lived(counts, 10, 20)
    lived(counts, 30, 40, pod="second")
    assert (counts.restarts("app"), counts.exits("app")) == (2, 4)
    assert counts.starts("app", "second") == 2


def test_sandboxes_do_not_count() -> None:
    counts = with_runtime()
    counts.take(runtime(Kind.EXITED, 10, container=None))
    assert counts.exits("app") == 0


@pytest.mark.parametrize(
    ("reported", "restarts", "exits", "starts"),
    [
        (status(0, WAITING), 0, 0, 0),
        (status(0, RUNNING), 0, 0, 1),
        (status(0, EXITED), 0, 1, 1),
        (status(2, RUNNING, EXITED), 2, 2, 3),
        (status(2, WAITING, EXITED), 2, 3, 3),
        (status(2, EXITED, EXITED, field="initContainer"), 2, 3, 3),
    ],
    ids=["never-ran", "runs", "exited", "runs-again", "in-backoff", "init-exited-again"],
)
def test_a_status_tells_restarts_exits_and_starts(reported: PodCounts, restarts: int, exits: int, starts: int) -> None:
    counts = without_runtime()
    counts.take_status("uid", reported, 5)
    assert (counts.restarts("app"), counts.exits("app"), counts.starts("app", "uid")) == (restarts, exits, starts)


def test_statuses_do_not_count_while_the_runtime_is_heard() -> None:
    counts = with_runtime()
    counts.take_status("uid", status(5, RUNNING), 5)
    assert (counts.restarts("app"), counts.reported_restarts("app")) == (0, 5)


def test_statuses_count_as_well_once_events_of_the_runtime_were_lost() -> None:
    counts = with_runtime()
    lived(counts, 10)
    counts.take(gap(Channel.API, from_ns=1, to_ns=2, reason="none of its business"))
    counts.take_status("uid", status(3, RUNNING), 50)
    assert counts.restarts("app") == 0
    counts.take(gap(Channel.RUNTIME, from_ns=1, to_ns=2, reason="restarted"))
    assert (counts.restarts("app"), counts.exits("app"), counts.exit_ns("app", 2)) == (3, 3, 50)


def test_an_exit_has_the_time_that_its_channel_gives_it() -> None:
    counts = with_runtime()
    lived(counts, 10, 20)
    assert [counts.exit_ns("app", index) for index in range(3)] == [10, 20, None]


UNTIL = Until(restarts={"app": 2}, exits={"app": 3}, phase="Failed", at_least_s=30)


def test_what_is_missing_is_said_with_what_was_seen() -> None:
    counts = with_runtime()
    lived(counts, 10)
    counts.take_status("uid", status(0, EXITED, phase="Running"), 11)
    assert missing(UNTIL, counts, age_s=12.3) == (
        "restarts of 'app': 0 of 2",
        "exits of 'app': 1 of 3",
        "phase Failed (seen: Running)",
        "30 s since the pod was created (12 s so far)",
    )


def test_nothing_is_missing_once_all_was_seen() -> None:
    counts = with_runtime()
    lived(counts, 10, 20, 30)
    counts.take_status("uid", status(0, EXITED, phase="Failed"), 31)
    assert missing(UNTIL, counts, age_s=30) == ()
    assert missing(Until(), with_runtime(), age_s=0) == ()


def test_a_scenario_is_reported_once_the_statuses_have_caught_up() -> None:
    counts = with_runtime()
    lived(counts, 10, 20, 30)
    counts.take_status("uid", status(1, RUNNING, EXITED), 25)
    assert not is_reported(UNTIL, counts)
    counts.take_status("uid", status(2, EXITED, EXITED), 31)
    assert is_reported(UNTIL, counts)


S = 1_000_000_000


def test_an_intervention_without_a_restart_counts_from_the_creation() -> None:
    assert due_ns(Trigger(after_s=1.5), created_ns=7, counts=with_runtime()) == 7 + 1_500_000_000


def test_an_intervention_after_a_restart_counts_from_the_exit_of_that_instance() -> None:
    counts = with_runtime()
    trigger = Trigger(container="app", after_restart=1, after_s=5)
    lived(counts, 10 * S)
    assert due_ns(trigger, created_ns=0, counts=counts) is None
    lived(counts, 20 * S)
    assert due_ns(trigger, created_ns=0, counts=counts) == 25 * S
