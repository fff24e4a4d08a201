"""`ready` in the container status follows the readiness probe."""

from typing import Any

import msgspec
import pytest

from crashloop.checks.finding import Checked
from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Kind
from crashloop.model.variants import PROBE_SUCCESSES_GO_ON, READY_BY_ITS_KUBELET
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Probe, ProbeKind
from crashloop.spec.program import HOLDS
from crashloop.spec.scenario import PodScenario
from suites.conformance.scenarios import at
from suites.selftest.kit.cases import app, case, checked, scenario, told
from suites.selftest.kit.histories import History, stamp

PROBED = scenario(app(probes=(Probe(kind=ProbeKind.READINESS, pattern="SSSFFF"),)))

TWICE = scenario(app(probes=(Probe(kind=ProbeKind.READINESS, pattern="SSSFFF", success_threshold=2),)))

THRICE = scenario(app(probes=(Probe(kind=ProbeKind.READINESS, pattern="SSS", period_s=2, success_threshold=3),)))


def as_shipped(history: History) -> Checked:
    return CHECKERS["ready-truth"](case(history, deviations=frozenset({PROBE_SUCCESSES_GO_ON})))


def running(history: History, *, ready: bool) -> dict[str, Any]:
    return {"app": history.running("app", 0, 1.0) | {"ready": ready}}


def asked(answers: str, *said: tuple[float, bool], ends_s: float = 80, of: PodScenario = PROBED) -> History:
    """Asked once a second from 2 s on; statuses that say whether it is ready."""
    history = History(of).lives("app", (1.0, None, 0), status=False)
    for number, answer in enumerate(answers):
        history.note(2.0 + number, "app", 0, f"readiness.{number}", answer)
    for at_s, ready in said:
        history.status(at_s, running(history, ready=ready))
    return history.ends(ends_s)


def test_a_status_that_follows_the_probe_is_right() -> None:
    answer = checked("ready-truth", asked("SSFFFFF", (1.5, False), (2.4, True), (7.0, False)))
    assert told(answer) == []
    assert answer.facts == {"statuses": 3}


def test_ready_without_a_success_is_a_fail() -> None:
    history = asked("FFF", (1.5, False), (2.4, True))
    lines = (history.line_of(Kind.CREATED, 1), history.line_of(Kind.STATUS, 1))
    assert told(checked("ready-truth", history)) == [
        f'FAIL: a status says that "app" is ready (history lines {lines[0]} and {lines[1]}); '
        "its readiness probe had not succeeded once in 1 answer."
    ]


def test_ready_before_the_first_success_is_a_fail() -> None:
    history = asked("FFFS", (1.5, False), (2.4, True), (5.5, True))
    lines = (history.line_of(Kind.CREATED, 1), history.line_of(Kind.STATUS, 1))
    assert told(checked("ready-truth", history)) == [
        f'FAIL: a status says that "app" is ready (history lines {lines[0]} and {lines[1]}); '
        "its readiness probe had not succeeded once in 1 answer."
    ]


def test_ready_before_as_many_successes_in_a_row_as_are_needed_is_a_fail() -> None:
    said = (1.5, False), (3.4, True)
    assert told(checked("ready-truth", asked("FSSS", *said))) == []
    history = asked("FSFSFSS", *said, of=TWICE)
    lines = (history.line_of(Kind.CREATED, 1), history.line_of(Kind.STATUS, 1))
    assert told(checked("ready-truth", history)) == [
        f'FAIL: a status says that "app" is ready (history lines {lines[0]} and {lines[1]}); '
        "its readiness probe had not succeeded 2 times in a row in 2 answers."
    ]


def test_not_ready_long_after_as_many_successes_as_are_needed_is_a_fail() -> None:
    assert told(checked("ready-truth", asked("SFSFSF", (1.5, False), of=TWICE))) == []
    assert '"app" was said to be not ready until 77 s after its readiness probe had succeeded' in str(
        told(checked("ready-truth", asked("SSS", (1.5, False), of=TWICE)))
    )


def test_ready_long_after_the_last_failure_is_a_fail() -> None:
    history = asked("SSFFFFF", (2.4, True))
    lines = (history.line_of(Kind.NOTED, 4), history.line_of(Kind.STATUS))
    assert told(checked("ready-truth", history)) == [
        'FAIL: "app" was said to be ready until 74 s after its readiness probe had failed '
        f"(history lines {lines[1]} and {lines[0]})."
    ]


def test_not_ready_long_after_a_success_is_a_fail() -> None:
    assert '"app" was said to be not ready until 78 s after its readiness probe had succeeded' in str(
        told(checked("ready-truth", asked("SSS", (1.5, False))))
    )


def restarted(*said: tuple[float, bool], since_s: float | None = None) -> History:
    """Two lives, from 1 s to 10 s and from 12 s on, that succeed every 2 s from 4 s and 15 s on; statuses that say whether it is
    ready, those of the second life since when."""
    history = History(THRICE).lives("app", (1.0, 10.0, 1), (12.0, None, 0), status=False)
    for life, begun_s in enumerate((1.0, 12.0)):
        for number in range(3):
            history.note(begun_s + 3 + 2 * number, "app", life, f"readiness.{number}", "S")
    for at_s, ready in said:
        life = int(at_s > 12)
        app = history.running("app", life, (1.0, 12.0)[life]) | {"ready": ready}
        when = {"lastTransitionTime": stamp(since_s)} if life and since_s is not None else {}
        history.status(at_s, {"app": app}, conditions=[{"type": "ContainersReady", "status": str(ready), **when}])
    return history.ends(40)


def test_ready_after_as_many_successes_of_its_own_is_right() -> None:
    right = restarted((1.5, False), (8.5, True), (12.5, False), (19.5, True), since_s=19.1)
    assert told(checked("ready-truth", right, min_later=1)) == []
    assert told(checked("ready-truth", right, min_later=2)) == [
        "INCONCLUSIVE: 1 ready instance after a success seen, 2 needed: the scenario was complete."
    ]


def test_a_status_that_comes_late_shows_by_itself_nothing_of_the_successes_before_a_restart() -> None:
    """It may have been on its way since the first success. Since when it is ready decides."""
    late = (1.5, False), (8.5, True), (12.5, False), (22.0, True)
    assert told(checked("ready-truth", restarted(*late), min_later=1)) == [
        "INCONCLUSIVE: 0 ready instances after a success seen, 1 needed: the scenario was complete."
    ]
    assert told(checked("ready-truth", restarted(*late, since_s=11.0), min_later=1)) == [
        "INCONCLUSIVE: 0 ready instances after a success seen, 1 needed: the scenario was complete."
    ]
    history = restarted(*late, since_s=15.1)
    lines = (history.line_of(Kind.CREATED, 2), history.line_of(Kind.STATUS, 3))
    assert told(checked("ready-truth", history, min_later=1)) == [
        f'FAIL: a status says that "app" is ready (history lines {lines[0]} and {lines[1]}); '
        "its readiness probe had not succeeded 3 times in a row in 1 answer."
    ]
    assert told(checked("ready-truth", restarted(*late, since_s=19.1), min_later=1)) == []


def test_successes_before_a_restart_do_not_count_but_in_the_kubelet() -> None:
    history = restarted((1.5, False), (8.5, True), (12.5, False), (15.5, True))
    lines = (history.line_of(Kind.CREATED, 2), history.line_of(Kind.STATUS, 3))
    assert told(checked("ready-truth", history)) == [
        f'FAIL: a status says that "app" is ready (history lines {lines[0]} and {lines[1]}); '
        "its readiness probe had not succeeded 3 times in a row in 1 answer."
    ]
    assert told(as_shipped(history)) == []
    inherited = restarted((1.5, False), (8.5, True), (12.5, True))
    assert "had not succeeded 3 times in a row in 0 answers" in str(told(as_shipped(inherited)))


def test_a_question_that_the_end_of_a_life_cut_off_may_have_ended_its_successes() -> None:
    """The next one was due after 2 s; it failed with the container, and left no note."""
    own = restarted((1.5, False), (8.5, True), (12.5, False), (19.5, True), since_s=19.1).api_controls(40)
    assert told(as_shipped(own)) == []


def test_ready_while_it_does_not_run_is_a_fail() -> None:
    history = History(PROBED).lives("app", (1.0, None, 0), status=False)
    history.note(2.0, "app", 0, "readiness.0", "S")
    history.status(2.4, running(history, ready=True))
    waiting = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    history.status(9.0, {"app": running(history, ready=True)["app"] | waiting}).ends(20)
    assert told(checked("ready-truth", history)) == [
        f'FAIL: a status says that "app" is ready (history line {history.line_of(Kind.STATUS, 1)}); by its state it is waiting.'
    ]


def test_failures_below_the_threshold_leave_it_ready() -> None:
    assert told(checked("ready-truth", asked("SFFS", (2.4, True)))) == []


UNREADY = msgspec.structs.replace(
    scenario(app(HOLDS, probes=(Probe(kind=ProbeKind.READINESS, pattern="FFF", period_s=5),))),
    interventions=(at(20, InterventionKind.RESTART_KUBELET),),
)


@pytest.mark.parametrize(
    ("begun_s", "said_s", "is_known"),
    [(15.0, 22.0, True), (15.0, 80.0, False), (2.0, 22.0, False), (15.0, 19.0, False)],
    ids=["soon-after-the-restart", "long-after-it-was-asked", "of-what-had-run-for-19-s", "before-the-restart"],
)
def test_a_kubelet_that_has_just_started_is_known_to_call_what_has_just_begun_ready(
    begun_s: float, said_s: float, is_known: bool
) -> None:
    """kubernetes/kubernetes#135795."""
    history = History(UNREADY).lives("app", (begun_s, None, 0), status=False)
    history.note(begun_s + 1, "app", 0, "readiness.0", "F")
    history.intervention(20.0, "restart-kubelet").node(22.0, started_s=21.0).note(25.0, "app", 0, "readiness.1", "F")
    history.status(said_s, {"app": history.running("app", 0, begun_s) | {"ready": True, "started": True}})
    judged = case(history.ends(90), deviations=frozenset({READY_BY_ITS_KUBELET}))
    assert [each[:4] for each in told(CHECKERS["ready-truth"](judged))] == ([] if is_known else ["FAIL"])
