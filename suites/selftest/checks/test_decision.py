"""The checker of the restart decision: restarted if and only if the model says so, quoting the model's step."""

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import RestartPolicy, restart_in
from crashloop.spec.program import refused, runs
from crashloop.spec.scenario import PodScenario, Until
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import CRASHING, GOOD, STAYS_FAILED, app, checked, good, scenario, told
from suites.selftest.kit.histories import History, Life

BY_RULE = scenario(
    app(runs((1, 42), (1, 43)), restart_policy=RestartPolicy.NEVER, rules=(restart_in(42),)),
    policy=RestartPolicy.NEVER,
    until=Until(exits={"app": 2}, phase="Failed"),
)


def test_accepts_restarts_that_policy_asks_for() -> None:
    answer = checked("restart-decision", good())
    assert told(answer) == []
    assert answer.facts == {"decisions": {"app": ["1: restart", "1: restart", "1: restart"]}}


def test_accepts_a_container_that_stays_down() -> None:
    history = History(STAYS_FAILED).lives("app", (0.5, 1.5, 1)).ends(70)
    assert told(checked("restart-decision", history)) == []
    assert told(checked("no-restart", history)) == []


def test_a_container_that_stays_down_cannot_have_the_restarts_that_a_scenario_would_count() -> None:
    down = scenario(app(runs((1, 1), (1, 1))), policy=RestartPolicy.NEVER, until=Until(restarts={"app": 2}))
    stays = History(down).lives("app", (0.5, 1.5, 1))
    assert told(checked("restart-decision", stays.ends(90, "deadline"))) == []
    early = History(down).lives("app", (0.5, 1.5, 1)).ends(20, "deadline")
    assert [each.outcome for each in checked("restart-decision", early).findings] == [Outcome.INCONCLUSIVE]


def test_accepts_a_rule_that_restarts_once_and_then_does_not() -> None:
    history = History(BY_RULE).lives("app", (0.5, 1.5, 42), (2, 3, 43)).ends(80)
    assert told(checked("restart-decision", history)) == []


def test_a_restart_that_must_not_be_is_a_fail() -> None:
    history = History(STAYS_FAILED).lives("app", (0.5, 1.5, 1), (2.0, None, 0)).ends(70)
    ended = history.line_of(Kind.EXITED, 0, channel=Channel.RUNTIME)
    created = history.line_of(Kind.CREATED, 2)
    assert told(checked("restart-decision", history)) == [
        f'FAIL: "app" exited with 1 and was restarted (history lines {ended} and {created}); '
        "it was not to restart: pod restart policy Never decides after exit code 1."
    ]
    assert told(checked("no-restart", history)) == [
        f'FAIL: "app" was started again (history lines {ended} and {created}); it was not to restart.'
    ]


def test_a_refused_start_that_is_not_tried_again_is_a_fail() -> None:
    history = History(scenario(app(refused(times=9)))).runtime(1.0, Kind.CREATED, "app", "a")
    history.runtime(1.1, Kind.EXITED, "app", "a", 128).ends(80)
    assert told(checked("restart-decision", history)) == [
        f'FAIL: restart 1 of "app" did not come within 78.9 s after the exit (history line {history.line_of(Kind.EXITED)}); '
        "0 s was due, and 2 s at the latest: pod restart policy Always decides after exit code 128."
    ]


def test_a_restart_by_a_resize_that_asks_for_none_is_a_fail() -> None:
    resize = Intervention(
        trigger=Trigger(after_s=8),
        action=InterventionKind.RESIZE,
        arguments={"container": "neighbour", "cpu": "20m"},
    )
    resized = msgspec.structs.replace(
        scenario(app(restart_policy=RestartPolicy.NEVER, name="neighbour")), interventions=(resize,)
    )
    runs_on = History(resized).lives("neighbour", (0.5, None, 0)).intervention(8, "resize", container="neighbour")
    assert told(checked("restart-decision", runs_on.ends(30))) == []
    history = History(resized).intervention(8, "resize", container="neighbour", cpu="20m")
    history.lives("neighbour", (0.5, 8.1, 143), (8.4, None, 0)).ends(30)
    ended = history.line_of(Kind.EXITED, 0, channel=Channel.RUNTIME)
    created = history.line_of(Kind.CREATED, 2)
    assert told(checked("restart-decision", history)) == [
        f'FAIL: "neighbour" exited with 143 and was restarted (history lines {ended} and {created}); '
        "it was not to restart: container restart policy Never decides after a kill."
    ]


def test_a_rule_that_is_not_heeded_is_a_fail() -> None:
    history = History(BY_RULE).lives("app", (0.5, 1.5, 42)).ends(90, "deadline")
    ended = history.line_of(Kind.EXITED, 0, channel=Channel.RUNTIME)
    assert told(checked("restart-decision", history)) == [
        f'FAIL: restart 1 of "app" did not come within 88.5 s after the exit (history line {ended}); 0 s was due, and '
        "2 s at the latest: restart rule Restart In [42] matches exit code 42."
    ]


def test_a_missing_restart_during_a_stall_is_inconclusive() -> None:
    history = History(BY_RULE).lives("app", (0.5, 1.5, 42)).stall(2.0, 3.0).ends(6, "interrupted")
    (finding,) = told(checked("restart-decision", history))
    assert finding.startswith("INCONCLUSIVE: ")
    assert finding.endswith("as long as the excess or longer.")


def test_a_watch_that_ends_before_the_restart_is_due_proves_nothing() -> None:
    history = History(CRASHING).lives("app", *GOOD[:2]).ends(4, "interrupted")
    assert told(checked("restart-decision", history)) == [
        'INCONCLUSIVE: 2 exits of "app" seen, 3 needed: the recording was interrupted.'
    ]


def test_a_short_watch_does_not_show_that_nothing_happens() -> None:
    history = History(STAYS_FAILED).lives("app", (0.5, 1.5, 1)).ends(40)
    ended = history.line_of(Kind.EXITED, 0, channel=Channel.RUNTIME)
    finding = (
        f'INCONCLUSIVE: "app" exited with 1 (history line {ended}) and was watched for 38.5 s after that, 60 s needed: '
        "the scenario was complete."
    )
    assert told(checked("restart-decision", history)) == [finding]
    assert told(checked("no-restart", history)) == [finding]


def test_a_gap_in_both_ground_truths_leaves_open_whether_it_restarted() -> None:
    history = (
        History(STAYS_FAILED)
        .lives("app", (0.5, 1.5, 1))
        .gap(Channel.RUNTIME, 10, 20)
        .gap(Channel.JOURNAL, 15, 30)
        .ends(70)
    )
    ended = history.line_of(Kind.EXITED, 0, channel=Channel.RUNTIME)
    (finding,) = told(checked("restart-decision", history))
    assert finding.startswith(f'INCONCLUSIVE: "app" exited with 1 (history line {ended}); a start after that could')


def test_events_that_only_came_late_are_no_gap() -> None:
    history = (
        History(STAYS_FAILED)
        .lives("app", (0.5, 1.5, 1))
        .gap(Channel.RUNTIME, 10, 20, lost=False)
        .gap(Channel.JOURNAL, 15, 30)
        .ends(70)
    )
    assert told(checked("restart-decision", history)) == []


def test_an_exit_that_the_program_does_not_make_is_not_judged() -> None:
    history = History(STAYS_FAILED).lives("app", (0.5, 1.5, 137)).ends(70)
    ended = history.line_of(Kind.EXITED, 0, channel=Channel.RUNTIME)
    assert told(checked("restart-decision", history)) == [
        f'INCONCLUSIVE: "app" exited with 137 (history line {ended}) where its program says otherwise; '
        "the scenario was not carried out."
    ]


@pytest.mark.parametrize("checker", ["restart-decision", "no-restart"])
def test_a_container_that_never_started_proves_nothing(checker: str) -> None:
    answer = checked(checker, History(STAYS_FAILED).ends(70, "deadline"))
    assert answer.outcome is Outcome.INCONCLUSIVE


CHANGED = PodScenario(
    name="changed",
    profile="max-2s",
    pod=scenario(app(runs((2, 0)), restart_policy=RestartPolicy.NEVER), policy=RestartPolicy.ON_FAILURE).pod,
    until=Until(),
    interventions=(
        Intervention(
            trigger=Trigger(after_s=1),
            action=InterventionKind.CHANGE_IMAGE,
            arguments={"container": "app", "image": "b"},
        ),
    ),
)


@pytest.mark.parametrize(
    ("at_s", "lives"),
    [(1.0, ((0.5, 1.2, 137), (1.5, None, 0))), (2.6, ((0.5, 2.5, 0), (2.9, None, 0)))],
    ids=["it-was-killed-for-it", "the-kubelet-had-not-noticed-the-exit"],
)
def test_a_new_image_restarts_a_container_under_every_policy(at_s: float, lives: tuple[Life, ...]) -> None:
    history = History(CHANGED).lives("app", *lives).intervention(at_s, "change-image", container="app").ends(70)
    assert told(checked("restart-decision", history)) == []


def test_a_new_image_long_after_the_exit_restarts_nothing() -> None:
    history = History(CHANGED).lives("app", (0.5, 2.5, 0), (9.3, None, 0))
    history.intervention(9.0, "change-image", container="app").ends(70)
    (finding,) = told(checked("restart-decision", history))
    assert finding.endswith("it was not to restart: container restart policy Never decides after exit code 0.")
