"""`started` in the container status: only of what runs, and after a success of its startup probe."""

from typing import Any

import msgspec
import pytest

from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Kind
from crashloop.model.variants import STARTED_BY_ITS_KUBELET, STARTED_CARRIES_OVER
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, Probe, ProbeKind
from crashloop.spec.program import HOLDS, exits_with
from suites.conformance.scenarios import at
from suites.selftest.kit.cases import app, case, checked, scenario, told
from suites.selftest.kit.histories import History

CRASHES = exits_with(1, after_s=9, times=1)
PROBED = app(CRASHES, probes=(Probe(kind=ProbeKind.STARTUP, pattern="FFFFSS", failure_threshold=6),))


def lives(container: Container, *said: tuple[float, bool], answers: str = "FFFFSS") -> History:
    """Two lives, from 1 s to 10 s and from 12 s on, asked once a second; statuses that say whether it has started."""
    history = History(scenario(container)).lives("app", (1.0, 10.0, 1), (12.0, None, 0), status=False)
    for number, begun_s in enumerate((1.0, 12.0) if container.probes else ()):
        for asked, answer in enumerate(answers):
            history.note(begun_s + 1 + asked, "app", number, f"startup.{asked}", answer)
    for at_s, started in said:
        history.status(at_s, {"app": shown(history, at_s) | {"started": started, "ready": started}})
    return history.ends(60)


def shown(history: History, at_s: float) -> dict[str, Any]:
    if at_s < 10:
        return history.running("app", 0, 1.0)
    return history.running("app", 1, 12.0) if at_s > 12 else history.exited("app", 0, 1.0, 10.0, 1)


@pytest.mark.parametrize(
    ("container", "said"),
    [
        (app(CRASHES), ((1.5, True), (10.5, False), (12.5, True))),
        (PROBED, ((1.5, False), (6.5, True), (10.5, False), (12.5, False), (18, True))),
        (PROBED, ((5.5, True), (10.5, False))),
    ],
    ids=["no-startup-probe", "startup-probe", "within-what-clocks-differ-by"],
)
def test_a_container_that_has_started_is_said_to_have(
    container: Container, said: tuple[tuple[float, bool], ...]
) -> None:
    assert [each for each in told(checked("started-truth", lives(container, *said))) if "FAIL" in each] == []


def test_nothing_is_ready_before_it_has_started() -> None:
    """But for what ran before its kubelet, which until 1.34 states both anew, one after the other."""
    history = History(scenario(PROBED)).lives("app", (1.0, None, 0), status=False)
    history.status(1.5, {"app": history.running("app", 0, 1.0) | {"started": False}}).ends(60)
    said = (
        f'FAIL: a status says that "app" has not started (history line {history.line_of(Kind.STATUS)}); '
        "it is said to be ready."
    )
    assert [each for each in told(checked("started-truth", history)) if "FAIL" in each] == [said]
    history = History(scenario(PROBED)).lives("app", (1.0, None, 0), status=False).node(20, started_s=20.0)
    history.status(21, {"app": history.running("app", 0, 1.0) | {"started": False}}).ends(60)
    assert [each for each in told(checked("started-truth", history)) if "FAIL" in each] == []


@pytest.mark.parametrize("runtime", [True, False], ids=["by-runtime-and-journal", "by-journal"])
def test_what_is_known_to_begin_as_started_and_ready_may_be_taken_back_in_two_steps(runtime: bool) -> None:
    """kubernetes/kubernetes#141155, also where only journals are in reach, which have no ids of containers."""

    def taken_back(exit_code: int, *known: str) -> list[str]:
        """The life before ends with that code; the next one is said to be ready, and not to have started, at once."""
        history = History(scenario(PROBED)).lives(
            "app", (1.0, 10.0, exit_code), (12.0, None, 0), runtime=runtime, status=False
        )
        for asked, answer in enumerate("FFFFSS"):
            history.note(2.0 + asked, "app", 0, f"startup.{asked}", answer)
        history.status(12.8, {"app": history.running("app", 1, 12.0) | {"started": False, "ready": True}}).ends(60)
        found = told(CHECKERS["started-truth"](case(history, deviations=frozenset(known))))
        line = history.line_of(Kind.STATUS, -1)
        said = f'FAIL: a status says that "app" has not started (history line {line}); it is said to be ready.'
        return ["accused" if each == said else each for each in found if "has not started" in each]

    assert taken_back(143, STARTED_CARRIES_OVER) == []
    assert taken_back(143) == ["accused"]
    assert taken_back(1, STARTED_CARRIES_OVER) == ["accused"]


@pytest.mark.parametrize("ready", [False, True])
def test_what_may_run_its_hook_may_not_have_started_unless_it_is_ready(ready: bool) -> None:
    history = History(scenario(app(CRASHES, post_start=True))).lives("app", (1.0, 10.0, 1), status=False)
    history.status(1.5, {"app": history.running("app", 0, 1.0) | {"started": False, "ready": ready}}).ends(60)
    line = history.line_of(Kind.STATUS)
    said = f'FAIL: a status says that "app" has not started (history line {line}); it is said to be ready.'
    assert [each for each in told(checked("started-truth", history)) if "FAIL" in each] == [said] * ready


def test_what_has_exited_has_not_started() -> None:
    history = lives(app(CRASHES), (1.5, True), (10.5, True))
    assert told(checked("started-truth", history)) == [
        f'FAIL: a status says that "app" has started (history line {history.line_of(Kind.STATUS, 1)}); '
        "by its state it is terminated."
    ]


def test_what_runs_without_a_startup_probe_has_started() -> None:
    history = lives(app(CRASHES), (1.5, False))
    assert told(checked("started-truth", history)) == [
        f'FAIL: a status says that "app" has not started (history line {history.line_of(Kind.STATUS)}); '
        "it runs and has no startup probe."
    ]


def test_a_success_before_the_restart_does_not_count() -> None:
    history = lives(PROBED, (6.5, True), (10.5, False), (12.5, True))
    lines = history.line_of(Kind.CREATED, 2), history.line_of(Kind.STATUS, 2)
    assert told(checked("started-truth", history)) == [
        f'FAIL: a status says that instance 1 of "app" has started (history lines {lines[0]} and {lines[1]}); '
        "its startup probe had not succeeded once."
    ]


def test_a_journal_that_may_lack_a_success_accuses_nobody() -> None:
    history = lives(PROBED, (6.5, True), (10.5, False), answers="FFFF").without(Kind.STARTED)
    assert all(each.startswith("INCONCLUSIVE") for each in told(checked("started-truth", history)))


def test_without_a_status_of_a_running_container_there_is_nothing_to_judge() -> None:
    answer = checked("started-truth", lives(app(CRASHES), (10.5, False)))
    assert answer.facts == {"running": 0, "ended": 1}
    assert told(answer) == [
        "INCONCLUSIVE: 0 statements about a running container seen, 1 needed: the scenario was complete."
    ]


STARTING = msgspec.structs.replace(
    scenario(app(HOLDS, probes=(Probe(kind=ProbeKind.STARTUP, pattern=9 * "F", failure_threshold=9),))),
    interventions=(at(20, InterventionKind.RESTART_KUBELET),),
)
KNOWN = frozenset({STARTED_BY_ITS_KUBELET})


def restarted_beside(*said_s: float, asked_s: float | None = None, begun_s: float = 1.0) -> list[str]:
    """A life whose startup probe fails, over a restart of the kubelet at 21 s; statuses say that it has started."""
    history = (
        History(STARTING).lives("app", (begun_s, None, 0), status=False).note(begun_s + 1, "app", 0, "startup.0", "F")
    )
    history.intervention(20.0, "restart-kubelet").node(22.0, started_s=21.0)
    if asked_s is not None:
        history.note(asked_s, "app", 0, "startup.1", "F")
    for each_s in said_s:
        history.status(each_s, {"app": history.running("app", 0, begun_s) | {"started": True}})
    return told(CHECKERS["started-truth"](case(history.ends(90), deviations=KNOWN)))


def test_a_kubelet_that_has_just_started_is_known_to_say_so_until_it_has_asked() -> None:
    """kubernetes/kubernetes#142305."""
    assert restarted_beside(22.0, 60.0) == []


@pytest.mark.parametrize(
    ("said_s", "asked_s", "begun_s"),
    [(19.0, None, 1.0), (80.0, 30.0, 1.0), (40.0, None, 23.0)],
    ids=["before-the-restart", "long-after-it-was-asked", "of-what-began-since"],
)
def test_what_is_said_to_have_started_for_another_reason_is_a_fail(
    said_s: float, asked_s: float | None, begun_s: float
) -> None:
    (finding,) = restarted_beside(said_s, asked_s=asked_s, begun_s=begun_s)
    assert finding.startswith('FAIL: a status says that instance 0 of "app" has started (history lines ')
    assert finding.endswith("); its startup probe had not succeeded once.")
