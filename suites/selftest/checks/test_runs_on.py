"""A container runs on while others of its pod exit, and ends once its own image changes."""

import msgspec

from crashloop.history.event import Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.program import HOLDS, exits_with
from crashloop.spec.scenario import PodScenario
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

TERM = 143
POD = scenario(app(exits_with(1, after_s=2, times=2)), app(HOLDS, name="neighbour"))


def beside(ended_s: float | None = None, again_s: float | None = None, *, of: PodScenario = POD) -> History:
    """A container that crashes at 3 s, and one beside it that is ended, and started again."""
    history = History(of).lives("app", (1.0, 3.0, 1), (3.5, None, 0), status=False)
    lives = [(1.0, ended_s, TERM)] + ([] if again_s is None else [(again_s, None, 0)])
    return history.lives("neighbour", *lives, status=False)


def test_a_container_that_outlives_the_exit_of_another_is_right() -> None:
    answer = checked("runs-on", beside().ends(20))
    assert told(answer) == []
    assert answer.facts == {"spared": 1}


def test_a_container_that_is_ended_along_with_another_is_a_fail() -> None:
    history = beside(3.1, 4.0).ends(20)
    lines = (
        history.line_of(Kind.EXITED, 1, container="neighbour"),
        history.line_of(Kind.CREATED, 1, container="app"),
    )
    assert told(checked("runs-on", history)) == [
        f'FAIL: "neighbour" was ended, and its pod went on (history lines {lines[0]} and {lines[1]}); '
        "nobody had asked for that."
    ]


def test_containers_of_a_pod_that_ends_are_not_judged() -> None:
    history = History(POD).lives("app", (1.0, 3.0, 1), status=False)
    assert told(checked("runs-on", history.lives("neighbour", (1.0, 3.1, TERM), status=False).ends(20))) == []


CHANGE = Intervention(
    trigger=Trigger(after_s=5), action=InterventionKind.CHANGE_IMAGE, arguments={"container": "sidecar"}
)
CHANGED = msgspec.structs.replace(scenario(app(HOLDS, name="sidecar"), app(HOLDS)), interventions=(CHANGE,))


def changed(*sidecar: tuple[float, float | None, int], app_ends_s: float | None = None) -> History:
    """The image of "sidecar" changes at 5 s."""
    history = History(CHANGED).lives("sidecar", *sidecar, status=False)
    history.lives("app", (1.0, app_ends_s, TERM), status=False)
    return history.intervention(5.0, "change-image", container="sidecar")


def test_a_container_whose_image_has_changed_is_ended_and_no_other() -> None:
    history = changed((1.0, 5.5, TERM), (6.0, None, 0)).ends(60)
    assert told(checked("takes-new-image", history)) == []
    assert told(checked("runs-on", history)) == []


def test_a_container_that_runs_on_in_its_old_image_is_a_fail() -> None:
    history = changed((1.0, None, 0)).ends(60)
    lines = (history.line_of(Kind.CREATED, container="sidecar"), history.line_of(Kind.INTERVENTION))
    assert told(checked("takes-new-image", history)) == [
        f'FAIL: "sidecar" ran on for 55 s after its image had changed (history lines {lines[0]} and {lines[1]}); '
        "30 s are enough to end it."
    ]


def test_a_container_that_is_ended_for_the_image_of_another_is_a_fail() -> None:
    history = changed((1.0, 5.5, TERM), (6.0, None, 0), app_ends_s=5.4).ends(60)
    (said,) = told(checked("runs-on", history))
    assert said.startswith('FAIL: "app" was ended, and its pod went on')
