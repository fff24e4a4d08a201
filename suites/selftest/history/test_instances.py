"""Instances are put together from both ground truths, and what the two say differently is kept as a contradiction."""

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from suites.selftest.kit.cases import CRASHING, GOOD, app, good, scenario
from suites.selftest.kit.histories import History, ns


def pod(history: History) -> PodHistory:
    (only,) = history.recording().pods
    return only


def app_of(history: History) -> tuple[Instance, ...]:
    return pod(history).instances("app")


def problems(history: History) -> list[str]:
    return [each.problem for each in pod(history).contradictions]


def test_both_channels_tell_of_the_same_instances() -> None:
    instances = app_of(good())
    assert [(each.ordinal, each.container_id, each.life, each.exit_code) for each in instances] == [
        (0, "app-0", 0, 1),
        (1, "app-1", 1, 1),
        (2, "app-2", 2, 1),
        (3, "app-3", 3, None),
    ]
    assert problems(good()) == []


def test_a_fact_keeps_its_channel_its_clock_and_its_line() -> None:
    history = good()
    second = app_of(history)[1]
    assert second.started is not None
    assert second.journal_started is not None
    assert second.started.utc_ns == ns(2.0)
    assert second.started.line == history.line_of(Kind.STARTED, 1, channel=Channel.RUNTIME)
    assert second.journal_started.channel is Channel.JOURNAL
    assert second.journal_started.resolution_ns == 10_000_000
    assert second.journal_started.own_ns != second.journal_started.utc_ns == ns(2.01)


def test_one_channel_alone_is_enough() -> None:
    by_runtime = app_of(History(CRASHING).lives("app", *GOOD, journal=False).ends(30))
    by_journal = app_of(History(CRASHING).lives("app", *GOOD, runtime=False).ends(30))
    assert [each.life for each in by_runtime] == [None] * 4
    assert [each.container_id for each in by_journal] == [None] * 4
    assert [each.exit_code for each in by_journal] == [1, 1, 1, None]


def test_an_exit_stamped_before_its_start_belongs_to_its_container() -> None:
    history = History(CRASHING).runtime(0.4, Kind.CREATED, "app", "a").runtime(0.5, Kind.EXITED, "app", "a", 1)
    history.runtime(0.51, Kind.STARTED, "app", "a").lives("app", (1.0, None, 0), journal=False, first=1)
    first, second = app_of(history.ends(10))
    assert first.exited is not None
    assert first.started is not None
    assert first.exited.own_ns < first.started.own_ns
    assert second.container_id == "app-1"


def test_an_instance_that_the_runtime_missed_is_known_from_the_journal() -> None:
    history = History(CRASHING).lives("app", GOOD[0]).lives("app", GOOD[1], runtime=False, first=1)
    instances = app_of(history.lives("app", *GOOD[2:], first=2).ends(30))
    assert [(each.container_id, each.life) for each in instances] == [
        ("app-0", 0),
        (None, 1),
        ("app-2", 2),
        ("app-3", 3),
    ]
    assert problems(history) == []


def test_a_container_that_never_ran_is_a_start_that_failed() -> None:
    history = History(CRASHING).lives("app", GOOD[0]).runtime(1.9, Kind.CREATED, "app", "x")
    history.lives("app", (9.0, None, 0), journal=False, first=1).journal(9.01, Kind.STARTED, "app", 1)
    instances = app_of(history.ends(30))
    assert [each.has_run for each in instances] == [True, False, True]
    assert [each.life for each in instances] == [0, None, 1]
    assert problems(history) == []


def test_a_start_that_was_refused_is_a_life_without_a_start() -> None:
    history = History(CRASHING)
    for number, at_s in enumerate((1.0, 1.5, 4.0)):
        history.runtime(at_s, Kind.CREATED, "app", f"app-{number}")
        history.runtime(at_s + 0.1, Kind.EXITED, "app", f"app-{number}", 128)
    instances = app_of(history.ends(30))
    assert [(each.has_run, each.was_refused, each.life) for each in instances] == [(True, True, None)] * 3
    assert problems(history) == []


def test_a_start_that_was_refused_has_no_number() -> None:
    """A sandbox that went during the start; the next life is the first that the program counts."""
    history = (
        History(CRASHING).runtime(1.0, Kind.CREATED, "app", "app-x").runtime(1.1, Kind.EXITED, "app", "app-x", 128)
    )
    history.lives("app", (5.0, 6.0, 1))
    assert [(each.was_refused, each.life) for each in app_of(history.ends(30))] == [(True, None), (False, 0)]
    assert problems(history) == []


def test_a_create_at_the_end_of_a_recording_is_that_of_the_last_life_however_slow_its_start() -> None:
    history = History(CRASHING).lives("app", (0.5, 1.5, 1)).runtime(2.0, Kind.CREATED, "app", "app-1")
    history.journal(4.9, Kind.STARTED, "app", 1)
    assert [(each.container_id, each.life) for each in app_of(history.ends(5))] == [("app-0", 0), ("app-1", 1)]


def test_a_life_that_began_before_a_create_is_not_of_it_however_near() -> None:
    """The program got no CPU for three seconds, and the restart was free."""
    history = History(CRASHING).runtime(0.1, Kind.CREATED, "app", "app-0").runtime(1.2, Kind.STARTED, "app", "app-0")
    history.journal(4.25, Kind.STARTED, "app", 0).journal(4.26, Kind.EXITED, "app", 0, 1)
    history.runtime(4.27, Kind.EXITED, "app", "app-0", 1)
    history.runtime(5.1, Kind.CREATED, "app", "app-1").runtime(5.2, Kind.STARTED, "app", "app-1")
    history.journal(5.21, Kind.STARTED, "app", 1)
    assert [(each.container_id, each.life) for each in app_of(history.ends(9))] == [("app-0", 0), ("app-1", 1)]


def test_as_many_lives_as_instances_are_matched_by_their_order_though_another_is_nearer() -> None:
    """The clock of the journal is 0.3 s ahead, and the instances follow each other at once."""
    history = History(CRASHING).lives("app", (0.5, 0.55, 1), (0.8, 0.85, 1), (2.9, None, 0), journal=False)
    history.lives("app", (0.8, 0.82, 1), (1.1, 1.12, 1), (3.2, None, 0), runtime=False, status=False)
    assert [(each.container_id, each.life) for each in app_of(history.ends(30))] == [
        ("app-0", 0),
        ("app-1", 1),
        ("app-2", 2),
    ]


def test_without_a_common_clock_lives_are_matched_by_their_order() -> None:
    history = History(CRASHING).lives("app", *GOOD).ends(30).without(Kind.CLOCK)
    assert [(each.container_id, each.life) for each in app_of(history)] == [
        ("app-0", 0),
        ("app-1", 1),
        ("app-2", 2),
        ("app-3", 3),
    ]


def test_a_log_that_repeats_earlier_lives_adds_nothing() -> None:
    history = History(CRASHING).lives("app", *GOOD)
    repeated = history.add(
        0.51, Channel.JOURNAL, Kind.STARTED, {}, pod=True, container="app", instance=0, boot=True, received_s=9
    )
    assert len(app_of(repeated.ends(30))) == 4
    assert problems(repeated) == []


def test_a_life_stamped_twice_differently_is_a_contradiction() -> None:
    history = History(CRASHING).lives("app", *GOOD).journal(0.9, Kind.STARTED, "app", 0).ends(30)
    assert problems(history) == ["the journal stamps life 0 as started twice, differently"]


def test_two_exit_codes_are_a_contradiction() -> None:
    history = History(CRASHING).lives("app", GOOD[0], journal=False)
    history.journal(0.51, Kind.STARTED, "app", 0).journal(1.49, Kind.EXITED, "app", 0, 7).ends(9)
    assert problems(history) == ["instance 0 exited with 1 by the runtime and with 7 by the journal"]


def test_exits_that_are_far_apart_are_a_contradiction() -> None:
    history = History(CRASHING).lives("app", GOOD[0], journal=False)
    history.journal(0.51, Kind.STARTED, "app", 0).journal(4.0, Kind.EXITED, "app", 0, 1).ends(9)
    assert problems(history) == ["runtime and journal place the exit of instance 0 more than 2 s apart"]


def test_a_life_number_that_does_not_fit_is_a_contradiction() -> None:
    history = History(CRASHING).lives("app", *GOOD[:2], journal=False)
    history.journal(0.51, Kind.STARTED, "app", 0).journal(2.01, Kind.STARTED, "app", 4).ends(9)
    assert problems(history) == ["the journal numbers a life 4 before which 1 were seen to start"]


def test_a_life_that_gets_a_cpu_long_after_its_start_is_that_of_the_instance_that_runs() -> None:
    history = History(CRASHING).lives("app", (0.5, 6.0, 1), (8.0, None, 0), journal=False)
    history.journal(3.2, Kind.STARTED, "app", 0).journal(5.9, Kind.EXITED, "app", 0, 1)
    history.journal(11.5, Kind.STARTED, "app", 1)
    assert [(each.container_id, each.life) for each in app_of(history.ends(12))] == [("app-0", 0), ("app-1", 1)]
    assert problems(history) == []


@pytest.mark.parametrize("exit_code", [137, 143, 2])
def test_a_life_that_a_signal_ended_before_its_first_line_has_no_number(exit_code: int) -> None:
    history = History(CRASHING).lives("app", (0.5, 0.6, exit_code), (2.0, 4.5, 1), journal=False)
    history.journal(2.01, Kind.STARTED, "app", 0).journal(4.49, Kind.EXITED, "app", 0, 1)
    assert [each.life for each in app_of(history.ends(9))] == [None, 0]
    assert problems(history) == []


def test_a_life_that_ended_by_itself_has_a_number() -> None:
    history = History(CRASHING).lives("app", (0.5, 1.6, 1), (4.0, 6.5, 1), journal=False)
    history.journal(4.01, Kind.STARTED, "app", 0).journal(6.49, Kind.EXITED, "app", 0, 1)
    assert problems(history.ends(9)) == ["the journal numbers a life 0 before which 1 were seen to start"]


def test_a_recreated_pod_starts_anew() -> None:
    history = History(CRASHING).lives("app", *GOOD).recreated(20, "other").lives("app", (21, None, 0)).ends(30)
    first, second = history.recording().pods
    assert (len(first.instances("app")), len(second.instances("app"))) == (4, 1)
    assert second.uid == "other"


def test_containers_of_a_pod_are_kept_apart() -> None:
    two = scenario(app(name="one"), app(name="two"))
    history = History(two).lives("one", (0.5, None, 0)).lives("two", (0.6, 1.6, 1), (2.0, None, 0)).ends(9)
    assert {name: len(each) for name, each in pod(history).containers.items()} == {"one": 1, "two": 2}


def test_a_life_that_was_over_when_the_next_instance_was_created_is_of_the_one_before() -> None:
    """The program had no CPU for five seconds. It ran when its container was told to end; the next container began soon after."""
    history = History(CRASHING, create_s=1.3)
    history.lives("app", (31.0, 35.99, 143), (37.3, 40.0, 1), journal=False, status=False)
    for life, started_s, exited_s in ((0, 35.98, 35.98), (1, 37.4, 40.0)):
        history.journal(started_s, Kind.STARTED, "app", life)
        history.journal(exited_s, Kind.EXITED, "app", life, 143 - 142 * life)
    assert [(each.container_id, each.life) for each in app_of(history.ends(50))] == [("app-0", 0), ("app-1", 1)]


def test_an_exit_whose_start_the_runtime_missed_is_that_of_the_last_life_before_it() -> None:
    history = History(CRASHING).lives("app", (1.0, 2.0, 1)).runtime(18.1, Kind.EXITED, "app", "app-3", 137)
    history.journal(9.1, Kind.STARTED, "app", 1).journal(12.0, Kind.STARTED, "app", 2)
    history.journal(12.5, Kind.EXITED, "app", 2, 1).journal(16.1, Kind.STARTED, "app", 3)
    assert [(each.container_id, each.life) for each in app_of(history.ends(30))] == [
        ("app-0", 0),
        (None, 1),
        (None, 2),
        ("app-3", 3),
    ]


def test_what_sigkill_ends_is_matched_by_its_order_too_where_stamps_are_coarse() -> None:
    """Both instances are stamped at the same tenth of a second, and their journals hold no exit."""
    history = History(CRASHING)
    for instance, at_s in (("app-0", 0.3), ("app-1", 0.4)):
        history.runtime(0.3, Kind.CREATED, "app", instance).runtime(at_s, Kind.STARTED, "app", instance)
        history.runtime(at_s, Kind.EXITED, "app", instance, 137)
    history.journal(0.33, Kind.STARTED, "app", 0).journal(0.42, Kind.STARTED, "app", 1)
    assert [(each.container_id, each.life) for each in app_of(history.ends(9))] == [("app-0", 0), ("app-1", 1)]
