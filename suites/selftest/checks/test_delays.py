"""The checkers of delays accept what is due, and object to each way of breaking it, with the facts that prove it."""

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.program import exits_with, runs
from crashloop.spec.scenario import Mode, Until
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import CRASHING, GOOD, STOCK, app, checked, good, scenario, told
from suites.selftest.kit.histories import BOOTED_NS, History, ns

SAYS_2S = "the counter says 2 s"
FREE = "the counter is empty, so the restart is free"
THIRD_EARLY = ((0.5, 1.5, 1), (2.0, 3.0, 1), (4.2, 5.2, 1), (7.5, None, 0))
"""Restart 2 comes 1.2 s after the exit."""
THIRD_LATE = ((0.5, 1.5, 1), (2.0, 3.0, 1), (8.6, 9.6, 1), (11.9, None, 0))
"""Restart 2 is created 5.5 s after the exit."""


def test_accepts_delays_within_their_bounds() -> None:
    answer = checked("delays", good())
    assert told(answer) == []
    assert answer.facts["delays"][1] == {
        "container": "app",
        "restart": 2,
        "due_s": 2.0,
        "latest_s": 4.15,
        "seen_s": 2.3,
        "created_s": 2.2,
        "stalled_s": 0.001,
        "channel": "runtime",
        "reason": SAYS_2S,
    }


def test_a_restart_that_comes_early_is_a_fail() -> None:
    history = History(CRASHING).lives("app", *THIRD_EARLY).ends(30)
    ended = history.line_of(Kind.EXITED, 1, channel=Channel.RUNTIME)
    started = history.line_of(Kind.STARTED, 2, channel=Channel.RUNTIME)
    finding = (
        f'FAIL: restart 2 of "app" came 1.2 s after the exit (history lines {ended} and {started}); '
        f"2 s was due: {SAYS_2S}."
    )
    assert told(checked("delays", history)) == [finding]
    assert told(checked("never-early", history)) == [finding]
    assert told(checked("never-late", history)) == []


def test_a_finding_carries_the_numbers_of_its_sentence() -> None:
    (early,) = checked("never-early", History(CRASHING).lives("app", *THIRD_EARLY).ends(30)).findings
    missed = early.missed
    assert missed is not None
    assert (missed.number, missed.container, missed.verb, missed.latest_s) == (2, "app", "came", None)
    assert missed.taken_s == pytest.approx(1.2)
    assert missed.due_s == 2.0


def test_delays_are_judged_up_to_an_instance_that_another_one_joined() -> None:
    history = History(CRASHING).lives("app", (0.5, 1.5, 1), (2.0, None, 0), (2.1, 3.1, 1), (3.2, None, 0)).ends(30)
    assert told(checked("first-restart-free", history)) == []
    assert told(checked("never-early", history)) == [
        "INCONCLUSIVE: 0 delays seen, 2 needed: the scenario was complete."
    ]


def test_the_journal_alone_proves_a_restart_too_early() -> None:
    history = History(CRASHING).lives("app", *THIRD_EARLY, runtime=False).ends(30)
    (finding,) = told(checked("never-early", history))
    assert finding.startswith('FAIL: restart 2 of "app" came 1.22 s after the exit')


@pytest.mark.parametrize(
    ("start_s", "outcome"),
    [pytest.param(5.0, Outcome.PASS, id="in-time"), pytest.param(4.99, Outcome.FAIL, id="one-step-short")],
)
def test_the_journal_is_exact_to_its_own_step(start_s: float, outcome: Outcome) -> None:
    history = History(CRASHING)
    for number, (begun_s, ended_s, code) in enumerate(
        ((0.5, 1.5, 1), (2.0, 3.0, 1), (start_s, 6.0, 1), (8.3, None, 0))
    ):
        history.journal(begun_s, Kind.STARTED, "app", number)
        if ended_s is not None:
            history.journal(ended_s, Kind.EXITED, "app", number, code)
    assert checked("never-early", history.ends(30)).outcome is outcome


def test_the_runtime_is_exact_to_the_nanosecond() -> None:
    lives = ((0.5, 1.5, 1), (2.0, 3.0, 1), (4.999999999, 6.0, 1), (8.3, None, 0))
    history = History(CRASHING).lives("app", *lives, journal=False).ends(30)
    (finding,) = told(checked("never-early", history))
    assert finding.startswith('FAIL: restart 2 of "app" came 1.999999999 s after the exit')


def test_a_create_that_comes_early_is_a_fail_though_a_slow_start_hides_it() -> None:
    """Restart 2 is created 1.9 s after the exit and starts 2.4 s after it."""
    history = History(CRASHING, create_s=0.5).lives("app", (0.9, 1.9, 1), (2.6, 3.6, 1), (6.0, 7.0, 1), (9.8, None, 0))
    history.ends(30)
    ended = history.line_of(Kind.EXITED, 1, channel=Channel.RUNTIME)
    created = history.line_of(Kind.CREATED, 3)  # the first is the pod's
    assert told(checked("delays", history)) == [
        f'FAIL: restart 2 of "app" was created 1.9 s after the exit (history lines {ended} and {created}); '
        f"2 s was due: {SAYS_2S}."
    ]


SLEWED = scenario(app(exits_with(1, times=3)), profile=STOCK, until=Until(restarts={"app": 3}), name="slewed")


@pytest.mark.parametrize(
    ("slewed_s", "outcome"), [(0.03, Outcome.PASS), (0.0, Outcome.FAIL)], ids=["slewed-by-30-ms", "steady"]
)
def test_a_kubelet_that_waits_by_a_slewed_clock_is_not_early(slewed_s: float, outcome: Outcome) -> None:
    """By boot time, the journal's, restart 3 comes 19.98 s after the exit; 20 s were due by UTC."""
    history = History(SLEWED).clock(0)
    for number, (begun_s, ended_s, code) in enumerate(((0.5, 1.5, 1), (2.0, 3.0, 1), (14, 15, 1), (34.98, None, 0))):
        history.journal(begun_s, Kind.STARTED, "app", number)
        if ended_s is not None:
            history.journal(ended_s, Kind.EXITED, "app", number, code)
    history.clock(40 + slewed_s, boot_ns=ns(40) - BOOTED_NS)
    assert checked("never-early", history.ends(50), STOCK).outcome is outcome


def test_a_restart_that_comes_late_is_a_fail() -> None:
    history = History(CRASHING).lives("app", *THIRD_LATE).ends(30)
    ended = history.line_of(Kind.EXITED, 1, channel=Channel.RUNTIME)
    created = history.line_of(Kind.CREATED, 3)  # the first is the pod's
    finding = (
        f'FAIL: restart 2 of "app" was created 5.5 s after the exit (history lines {ended} and {created}); '
        f"2 s was due, and 4.15 s at the latest: {SAYS_2S}."
    )
    assert told(checked("delays", history)) == [finding]
    assert told(checked("never-late", history)) == [finding]
    assert told(checked("punctual", history)) == [finding]
    assert told(checked("never-early", history)) == []


def test_a_restart_that_does_not_come_is_not_late_but_missing() -> None:
    history = History(CRASHING).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1), (5.5, 6.5, 1), (9, 10, 1)).ends(60)
    (finding,) = told(checked("never-late", history))
    assert finding.startswith('FAIL: restart 4 of "app" did not come within 50 s after the exit')
    assert told(checked("punctual", history)) == []


def test_create_to_start_is_the_hosts_and_not_judged() -> None:
    history = (
        History(CRASHING, create_s=1.8).lives("app", (2, 3, 1), (6.5, 7, 1), (11.8, 12, 1), (16, None, 0)).ends(40)
    )
    assert told(checked("delays", history)) == []


def test_a_stall_does_not_excuse_a_restart_that_comes_early() -> None:
    history = History(CRASHING).lives("app", *THIRD_EARLY).stall(3.2, 5.0).ends(30)
    assert checked("delays", history).outcome is Outcome.FAIL


def test_a_late_restart_without_a_heartbeat_is_inconclusive() -> None:
    history = History(CRASHING).lives("app", *THIRD_LATE).ends(30, heartbeat=False)
    (finding,) = told(checked("delays", history))
    assert finding.endswith("No heartbeat covers that time, so the host may have stood still.")


def test_a_jump_of_the_wall_clock_voids_what_it_could_explain() -> None:
    history = History(CRASHING).clock(0).clock_step(4.5, 0.9).lives("app", *THIRD_EARLY).ends(30)
    (finding,) = told(checked("never-early", history))
    assert finding.startswith("INCONCLUSIVE: ")
    assert finding.endswith("The wall clock jumped by 0.9 s meanwhile.")


def test_a_delay_in_which_the_wall_clock_jumped_proves_nothing() -> None:
    history = History(CRASHING).clock(0).clock_step(4.5, 0.9).lives("app", *GOOD).ends(30)
    assert told(checked("delays", history)) == ["INCONCLUSIVE: 1 delay seen, 2 needed: the scenario was complete."]


@pytest.mark.parametrize(
    ("start_s", "outcome"),
    [
        pytest.param(6.9, Outcome.PASS, id="in-time"),
        pytest.param(11.0, Outcome.INCONCLUSIVE, id="the-start-may-have-taken-it"),
        pytest.param(13.0, Outcome.FAIL, id="no-start-takes-that-long"),
    ],
)
def test_without_a_create_the_start_gets_its_own_share(start_s: float, outcome: Outcome) -> None:
    lives = ((0.5, 1.5, 1), (2.0, 3.0, 1), (start_s, start_s + 1, 1), (start_s + 3.5, None, 0))
    history = History(CRASHING).lives("app", *lives, runtime=False).ends(40)
    assert checked("delays", history).outcome is outcome


@pytest.mark.parametrize(
    ("start_s", "has_events", "outcome"),
    [(7.4, False, Outcome.PASS), (7.7, False, Outcome.INCONCLUSIVE), (7.4, True, Outcome.INCONCLUSIVE)],
    ids=["usual-start", "longer-than-usual", "events-were-to-be-had"],
)
def test_a_usual_start_is_tolerated_where_the_runtime_tells_nothing_at_all(
    start_s: float, has_events: bool, outcome: Outcome
) -> None:
    lives = ((0.5, 1.5, 1), (2.0, 3.0, 1), (start_s, start_s + 1, 1), (start_s + 3.5, None, 0))
    history = History(CRASHING).lives("app", *lives, runtime=False).ends(40)
    told_all = history if has_events else history.without(Kind.SANDBOX)
    assert checked("delays", told_all).outcome is outcome


def test_a_restart_that_never_comes_is_a_fail() -> None:
    history = History(CRASHING).lives("app", *GOOD[:2], GOOD[2]).ends(90, "deadline")
    ended = history.line_of(Kind.EXITED, 2, channel=Channel.RUNTIME)
    assert told(checked("delays", history)) == [
        f'FAIL: restart 3 of "app" did not come within 83.7 s after the exit (history line {ended}); '
        f"2 s was due, and 4.15 s at the latest: {SAYS_2S}."
    ]


def test_too_few_delays_are_inconclusive_and_say_why() -> None:
    history = History(CRASHING).lives("app", *GOOD[:2], (5.3, None, 0)).ends(8, "interrupted")
    assert told(checked("delays", history)) == ["INCONCLUSIVE: 1 delay seen, 2 needed: the recording was interrupted."]
    assert told(checked("delays", history, min_delays=1)) == []


def test_nothing_at_all_is_inconclusive() -> None:
    history = History(CRASHING).ends(90, "deadline")
    assert told(checked("delays", history)) == [
        "INCONCLUSIVE: 0 delays seen, 2 needed: the watch ended at its deadline of 90 s."
    ]


def test_a_missing_restart_that_could_have_gone_unseen_is_inconclusive() -> None:
    history = (
        History(CRASHING)
        .lives("app", *GOOD[:3])
        .gap(Channel.RUNTIME, 7, 20, reason="connection lost")
        .gap(Channel.JOURNAL, 6.5, 60)
        .ends(90, "deadline")
    )
    (finding,) = told(checked("delays", history))
    assert finding.startswith('INCONCLUSIVE: restart 3 of "app" did not come within 83.7 s')
    assert "A start could have gone unseen: runtime lost for 13 s" in finding


def test_a_missing_restart_is_a_fail_if_one_ground_truth_watched_all_the_time() -> None:
    history = History(CRASHING).lives("app", *GOOD[:3]).gap(Channel.RUNTIME, 7, 20).ends(90, "deadline")
    assert checked("delays", history).outcome is Outcome.FAIL


def test_a_created_container_that_never_ran_leaves_open_whose_fault_it_is() -> None:
    history = History(CRASHING).lives("app", *GOOD[:3]).runtime(8.5, Kind.CREATED, "app", "app-3").ends(90, "deadline")
    (finding,) = told(checked("delays", history))
    assert finding.startswith("INCONCLUSIVE: ")
    assert finding.endswith("A container was created for it and never ran.")


ANNOTATED = scenario(
    app(exits_with(1, times=3)), profile=STOCK, until=Until(restarts={"app": 3}), mode=Mode.ANNOTATED, name="annotated"
)
"""Restarts due after 0, 10 and 20 s, and created within 2 s of that while the pod is patched."""
ANNOTATED_LATE = ((0.5, 1.5, 1), (2.0, 3.0, 1), (16.1, 17.1, 1), (38.0, None, 0))


@pytest.mark.parametrize(
    ("pokes", "outcome"),
    [
        pytest.param((0.5, 45.0, 1.1), Outcome.FAIL, id="all-the-time"),
        pytest.param((0.5, 45.0, 2.1), Outcome.INCONCLUSIVE, id="with-a-pause"),
        pytest.param((0.5, 12.0, 1.1), Outcome.INCONCLUSIVE, id="stopped-early"),
        pytest.param(None, Outcome.INCONCLUSIVE, id="not-at-all"),
    ],
)
def test_the_short_bound_holds_only_while_the_pod_is_patched(
    pokes: tuple[float, float, float] | None, outcome: Outcome
) -> None:
    history = History(ANNOTATED).lives("app", *ANNOTATED_LATE)
    if pokes is not None:
        history.pokes(*pokes[:2], longest_s=pokes[2])
    assert checked("delays", history.ends(50), STOCK).outcome is outcome


def test_a_first_restart_that_waits_is_a_fail() -> None:
    lives = ((0.5, 1.5, 1), (11.6, 12.6, 1), (14.9, 15.9, 1), (18.2, None, 0))
    history = History(CRASHING).lives("app", *lives).ends(40)
    ended = history.line_of(Kind.EXITED, 0, channel=Channel.RUNTIME)
    created = history.line_of(Kind.CREATED, 2)
    assert told(checked("first-restart-free", history)) == [
        f'FAIL: restart 1 of "app" was created 10 s after the exit (history lines {ended} and {created}); '
        f"0 s was due, and 2 s at the latest: {FREE}."
    ]
    assert told(checked("first-restart-free", good())) == []


def test_without_a_restart_there_is_no_free_one() -> None:
    history = History(CRASHING).lives("app", (0.5, None, 0)).ends(3, "interrupted")
    assert told(checked("first-restart-free", history)) == [
        "INCONCLUSIVE: 0 free restarts seen, 1 needed: the recording was interrupted."
    ]


DOUBLING = scenario(app(exits_with(1, times=4)), profile=STOCK, until=Until(restarts={"app": 4}), name="doubling")
"""Restarts due after 0, 10, 20 and 40 s."""


def test_accepts_delays_that_double() -> None:
    lives = ((0.5, 1.5, 1), (2.0, 3.0, 1), (14, 15, 1), (40, 41, 1), (90, None, 0))
    assert told(checked("doubling", History(DOUBLING).lives("app", *lives).ends(100), STOCK)) == []


def test_a_delay_that_does_not_double_is_a_fail() -> None:
    lives = ((0.5, 1.5, 1), (2.0, 3.0, 1), (14, 15, 1), (26, 27, 1), (70, None, 0))
    (finding,) = told(checked("doubling", History(DOUBLING).lives("app", *lives).ends(100), STOCK))
    assert finding.startswith('FAIL: restart 3 of "app" came 11 s after the exit')
    assert finding.endswith("; 20 s was due: the counter says 20 s.")


def test_a_delay_that_doubles_twice_is_a_fail() -> None:
    lives = ((0.5, 1.5, 1), (2.0, 3.0, 1), (14, 15, 1), (56, 57, 1), (100, None, 0))
    (finding,) = told(checked("doubling", History(DOUBLING).lives("app", *lives).ends(120), STOCK))
    assert finding.startswith('FAIL: restart 3 of "app" was created 40.9 s after the exit')


def test_a_delay_beyond_the_maximum_is_a_fail() -> None:
    lives = (*GOOD[:3], (12.0, None, 0))
    (finding,) = told(checked("cap", History(CRASHING).lives("app", *lives).ends(30)))
    assert finding.startswith('FAIL: restart 3 of "app" was created 5.6 s after the exit')
    assert told(checked("cap", good())) == []


def test_without_a_delay_at_the_maximum_the_cap_is_inconclusive() -> None:
    history = History(DOUBLING).lives("app", *GOOD[:2], (14, None, 0)).ends(20, "interrupted")
    assert told(checked("cap", history, STOCK)) == [
        "INCONCLUSIVE: 0 delays at the maximum seen, 1 needed: the recording was interrupted."
    ]


RESET = scenario(app(runs((1, 1), (1, 1), (610, 1), (1, 1))), profile=STOCK, until=Until(restarts={"app": 4}))
"""A life of more than ten minutes, at a delay of 10 s."""


def test_accepts_a_curve_that_starts_over_after_ten_minutes() -> None:
    lives = ((0.5, 1.5, 1), (2, 3, 1), (14, 624, 1), (624.5, 625.5, 1), (637, None, 0))
    answer = checked("reset", History(RESET).lives("app", *lives).ends(650), STOCK)
    assert told(answer) == []
    assert [each["due_s"] for each in answer.facts["delays"]] == [0.0, 10.0]


def test_a_curve_that_does_not_start_over_is_a_fail() -> None:
    lives = ((0.5, 1.5, 1), (2, 3, 1), (14, 624, 1), (650, 651, 1), (720, None, 0))
    first, second = told(checked("reset", History(RESET).lives("app", *lives).ends(750), STOCK))
    assert first.startswith('FAIL: restart 3 of "app" was created 25.9 s after the exit')
    assert second.startswith('FAIL: restart 4 of "app" was created 68.9 s after the exit')


def test_a_program_without_a_long_life_shows_no_reset() -> None:
    assert told(checked("reset", good())) == [
        "INCONCLUSIVE: 0 delays after what may reset the counter seen, 2 needed: the scenario was complete."
    ]


TWO = scenario(app(exits_with(1, times=3), name="hasty"), app(exits_with(1, after_s=5, times=2), name="steady"))
BESIDE = scenario(app(exits_with(1, times=3)), app(name="neighbour"))


def test_accepts_containers_that_keep_their_own_counters() -> None:
    history = (
        History(TWO).lives("hasty", *GOOD).lives("steady", (0.6, 5.6, 1), (6.1, 11.1, 1), (13.5, None, 0)).ends(30)
    )
    assert told(checked("independent-counters", history)) == []


def test_a_counter_that_two_containers_share_is_a_fail() -> None:
    history = (
        History(TWO).lives("hasty", *GOOD).lives("steady", (0.6, 5.6, 1), (8.2, 13.2, 1), (15.5, None, 0)).ends(30)
    )
    (finding,) = told(checked("independent-counters", history))
    assert finding.startswith('FAIL: restart 1 of "steady" was created 2.5 s after the exit')


@pytest.mark.parametrize(("created_s", "is_right"), [(7.9, True), (8.3, False)], ids=["as-long", "longer"])
def test_a_restart_may_wait_for_the_measured_starts_of_its_neighbours(created_s: float, is_right: bool) -> None:
    """By its bound it comes until 7.75 s; the neighbour's start took 0.4 s after the exit."""
    history = History(TWO, create_s=0.4).lives("hasty", (1.0, 5.5, 1), (6.3, None, 0))
    history.lives("steady", (1.0, 5.6, 1), (created_s + 0.4, None, 0))
    assert (told(checked("first-restart-free", history.ends(30))) == []) is is_right


def test_a_neighbour_that_restarts_without_having_exited_is_a_fail() -> None:
    history = History(BESIDE).lives("app", *GOOD).lives("neighbour", (0.6, 5.6, 137), (6.0, None, 0)).ends(30)
    line = history.line_of(Kind.CREATED, 1, channel=Channel.RUNTIME, container="neighbour")
    assert f'FAIL: "neighbour" was restarted (history line {line}); only others had exited.' in told(
        checked("independent-counters", history)
    )


def test_one_container_alone_shows_no_independence() -> None:
    assert told(checked("independent-counters", good())) == [
        'INCONCLUSIVE: 2 delays of "app" seen, 2 of one container beside another needed: the scenario was complete.'
    ]


def test_a_restart_is_not_missed_while_its_kubelet_has_not_come_back() -> None:
    history = History(CRASHING).lives("app", *GOOD[:3]).intervention(7.0, "restart-kubelet", down_s=15).ends(60)
    exited, ended = history.line_of(Kind.EXITED, 2, channel=Channel.RUNTIME), history.line_of(Kind.INTERVENTION)
    assert told(checked("delays", history)) == [
        'INCONCLUSIVE: restart 3 of "app" did not come within 53.7 s after the exit '
        f"(history line {exited}); 2 s was due, and 4.15 s at the latest: the counter says 2 s. "
        f"The kubelet was ended meanwhile (history line {ended}) and not seen again."
    ]


def test_a_start_before_the_exit_is_said_to_come_before_it() -> None:
    history = History(CRASHING).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1), (2.7, 5.2, 1), (7.5, None, 0)).ends(30)
    (finding,) = told(checked("never-early", history))
    assert "0.3 s before the exit" in finding
