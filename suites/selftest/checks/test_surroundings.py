"""Each life finds around it what is promised: a fresh root filesystem, one run of its hook, the present configuration."""

import msgspec
import pytest

from crashloop.history.event import Kind
from crashloop.spec.dependency import ConfigObject, Variable
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import Program, exits_with
from crashloop.spec.scenario import PodScenario, Until
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import GOOD, app, checked, scenario, told
from suites.selftest.kit.histories import History

CRASHING = exits_with(1, times=3)
UNTIL = Until(restarts={"app": 3})
TASKS = scenario(app(msgspec.structs.replace(CRASHING, marks_root=True)), until=UNTIL)
HOOKED = scenario(app(CRASHING, post_start=True), until=UNTIL)
IN_MEMORY = scenario(app(msgspec.structs.replace(CRASHING, marks_volume=True)), until=UNTIL)
LOOP = scenario(app(Program(passes=50)))
CONFIGURED = PodScenario(
    name="configured",
    profile="max-2s",
    pod=Pod(containers=(Container(program=CRASHING, env=(Variable(name="A", object="settings"),)),)),
    until=UNTIL,
    objects=(ConfigObject(name="settings", data={"A": "old"}),),
    interventions=(
        Intervention(
            trigger=Trigger(after_s=2.5),
            action=InterventionKind.CHANGE_OBJECT,
            arguments={"object": "settings", "data": {"A": "new"}},
        ),
    ),
)
"""Changed 2.5 s after the pod's creation: the lives that begin after 5.3 s may know it, that after 8.6 s has to."""


def noted(of: PodScenario, name: str, *values: str | None) -> History:
    """The good lives of CRASHING, each with its note, or with none."""
    history = History(of).lives("app", *GOOD)
    for number, (life, value) in enumerate(zip(GOOD, values, strict=True)):
        if value is not None:
            history.note(life[0] + 0.02, "app", number, name, value)
    return history


def test_accepts_a_fresh_root_filesystem_for_each_life() -> None:
    answer = checked("fresh-root", noted(TASKS, "root", *["fresh"] * 4).ends(30), min_restarts=3)
    assert told(answer) == []
    assert answer.facts == {"restarts": {"app": 3}}


def test_a_root_filesystem_with_the_mark_of_another_life_is_a_fail() -> None:
    history = noted(TASKS, "root", "fresh", "fresh", "used", "fresh").ends(30)
    line = history.line_of(Kind.NOTED, 2)
    assert told(checked("fresh-root", history)) == [
        f'FAIL: instance 2 of "app" noted root used (history line {line}); fresh was due.'
    ]


def test_a_life_whose_notes_are_lost_is_inconclusive() -> None:
    history = noted(TASKS, "root", "fresh", "fresh", "fresh", None).ends(30)
    line = history.line_of(Kind.CREATED, 3, container="app")
    assert told(checked("fresh-root", history)) == [
        f'INCONCLUSIVE: instance 3 of "app" noted no root (history line {line}); fresh was due.'
    ]


def test_a_loop_that_lost_its_root_filesystem_is_a_fail() -> None:
    history = History(LOOP).lives("app", (0.5, None, 0)).note(9, "app", 0, "passes", "20").ends(30)
    line = history.line_of(Kind.NOTED)
    assert told(checked("fresh-root", history, min_restarts=0)) == [
        f'FAIL: instance 0 of "app" noted passes 20 (history line {line}); 50 was due.'
    ]


def test_accepts_a_volume_that_keeps_the_mark_of_the_first_life() -> None:
    history = noted(IN_MEMORY, "volume", "fresh", "used", "used", "used").ends(30)
    assert told(checked("volume-stays", history, min_restarts=3)) == []


def test_a_volume_that_was_mounted_anew_is_a_fail() -> None:
    history = noted(IN_MEMORY, "volume", "fresh", "used", "fresh", "used").ends(30)
    line = history.line_of(Kind.NOTED, 2)
    assert told(checked("volume-stays", history)) == [
        f'FAIL: instance 2 of "app" noted volume fresh (history line {line}); used was due.'
    ]


def test_accepts_one_run_of_the_hook_at_each_start() -> None:
    assert told(checked("hook-runs", noted(HOOKED, "hook", *["ran"] * 4).ends(30), min_restarts=3)) == []


def test_a_start_without_its_hook_is_a_fail() -> None:
    history = noted(HOOKED, "hook", "ran", None, "ran", "ran").ends(30)
    line = history.line_of(Kind.CREATED, 1, container="app")
    assert told(checked("hook-runs", history)) == [
        f'FAIL: instance 1 of "app" noted no hook (history line {line}); ran was due.'
    ]


@pytest.mark.parametrize(
    ("exit_s", "stalled_s", "doubt"),
    [
        (2.3, 0.0, "It had 0.29 s for that."),
        (
            3.0,
            0.6,
            "From the due moment on the host held it up for 0.602 s (missed heartbeats 0.6 s, CPU pressure of the whole system "
            "0.002 s), as long as the excess or longer.",
        ),
    ],
    ids=["killed-early", "held-up"],
)
def test_a_hook_that_had_no_time_to_run_is_inconclusive(exit_s: float, stalled_s: float, doubt: str) -> None:
    history = History(HOOKED).lives("app", GOOD[0], (2.0, exit_s, 1), *GOOD[2:]).stall(2.1, stalled_s)
    for number in (0, 2, 3):
        history.note(GOOD[number][0] + 0.02, "app", number, "hook", "ran")
    line = history.ends(30).line_of(Kind.CREATED, 1, container="app")
    assert told(checked("hook-runs", history)) == [
        f'INCONCLUSIVE: instance 1 of "app" noted no hook (history line {line}); ran was due. {doubt}'
    ]


def test_a_starved_life_is_no_longer_for_its_hook_than_planned() -> None:
    history = History(HOOKED).lives("app", (0.5, 4.5, 1), (5.0, None, 0)).stall(1.0, 0.6)
    history.note(5.02, "app", 1, "hook", "ran")
    assert checked("hook-runs", history.ends(30)).outcome is Outcome.INCONCLUSIVE


def test_a_hook_that_runs_twice_is_a_fail() -> None:
    history = noted(HOOKED, "hook", *["ran"] * 4).note(2.3, "app", 1, "hook.again", "ran").ends(30)
    again = next(
        number for number, each in enumerate(history.events(), start=1) if each.data.get("name") == "hook.again"
    )
    assert told(checked("hook-runs", history)) == [
        f'FAIL: instance 1 of "app" noted a second run of its hook (history line {again}); one was due.'
    ]


def changed(*values: str, at_s: float = 2.5) -> History:
    history = noted(CONFIGURED, "A", *values)
    return history.intervention(at_s, "change-object", object="settings", data={"A": "new"}).ends(30)


def test_accepts_the_new_value_soon_after_a_change_and_then_always() -> None:
    for values in (("old", "old", "old", "new"), ("old", "old", "new", "new")):
        assert told(checked("environment", changed(*values), min_restarts=3)) == []


def test_an_old_value_long_after_the_change_is_a_fail() -> None:
    history = changed("old", "old", "old", "old")
    line = history.line_of(Kind.NOTED, 3)
    assert told(checked("environment", history)) == [
        f'FAIL: instance 3 of "app" noted A old (history line {line}); new was due.'
    ]


def test_a_new_value_before_the_change_is_a_fail() -> None:
    history = changed("old", "new", "new", "new")
    line = history.line_of(Kind.NOTED, 1)
    assert told(checked("environment", history)) == [
        f'FAIL: instance 1 of "app" noted A new (history line {line}); old was due.'
    ]


def test_a_change_that_no_start_had_to_know_is_inconclusive() -> None:
    history = changed("old", "old", "old", "old", at_s=7)
    line = history.line_of(Kind.INTERVENTION)
    assert told(checked("environment", history)) == [
        f'INCONCLUSIVE: no start of "app" came late enough after the change of settings (history line {line}): '
        "the scenario was complete."
    ]
