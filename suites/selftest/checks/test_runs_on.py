"""A container runs on while others of its pod exit."""

from crashloop.history.event import Kind
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
