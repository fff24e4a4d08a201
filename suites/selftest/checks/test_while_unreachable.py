"""The checkers of a kubelet without a control plane: it restarts on, states later, and kills for nothing it cannot know."""

from typing import Any

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Probe, ProbeKind
from crashloop.spec.program import HOLDS, exits_with
from crashloop.spec.scenario import PodScenario
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import STAYS_FAILED, app, checked, scenario, told
from suites.selftest.kit.histories import History, Life

API: dict[str, Any] = {"component": "kube-apiserver"}


def apart(of: PodScenario, *actions: InterventionKind) -> PodScenario:
    """With a control plane for itself, and these interventions, whose times its histories have."""
    done = tuple(
        Intervention(trigger=Trigger(after_s=1.0), action=each, arguments=API if "component" in each else {})
        for each in actions
    )
    return msgspec.structs.replace(of, control_plane=ControlPlane(), interventions=done)


CRASHING = apart(
    scenario(app(exits_with(1, times=9)), name="crashing"),
    InterventionKind.STOP_COMPONENT,
    InterventionKind.START_COMPONENT,
)
HOLDING = apart(
    scenario(app(HOLDS), name="holding"),
    InterventionKind.CUT_OFF_NODE,
    InterventionKind.DELETE_POD,
    InterventionKind.CONNECT_NODE,
)
BEFORE: tuple[Life, ...] = ((0.5, 1.5, 1), (2.0, 3.0, 1))
ALONE: tuple[Life, ...] = ((5.3, 6.3, 1), (8.6, 9.6, 1), (11.9, 12.9, 1), (15.2, 16.2, 1))
AFTER: tuple[Life, ...] = ((18.5, None, 0),)


def without_api_server(alone: tuple[Life, ...] = ALONE, *, to_s: float | None = 17.0, count: int = 6) -> History:
    """The API server is stopped at 4 s, and started at `to_s`; the status after that counts so many restarts."""
    history = History(CRASHING).lives("app", *BEFORE).lives("app", *alone, status=False, first=2)
    history.lives("app", *AFTER, status=False, first=2 + len(alone)).intervention(4.0, "stop-component", **API)
    if to_s is not None:
        history.intervention(to_s, "start-component", index=1, **API)
        history.gap(Channel.API, 3.5, to_s + 1.0).counts(19.0, "app", count)
    return history.ends(70)


def test_accepts_delays_that_are_as_ever_without_the_api_server() -> None:
    answer = checked("delays-while-away", without_api_server(), min_delays=3)
    assert told(answer) == []
    assert answer.facts["without_control_plane_s"] == [13.0]


def test_a_delay_without_the_api_server_that_is_too_long_is_a_fail() -> None:
    late = ((5.3, 6.3, 1), (15.2, 16.2, 1))
    history = without_api_server(late)
    exited, created = (
        history.line_of(kind, 2 + n, channel=Channel.RUNTIME) for n, kind in ((0, Kind.EXITED), (1, Kind.CREATED))
    )
    assert told(checked("delays-while-away", history, min_delays=1)) == [
        f'FAIL: restart 3 of "app" was created 8.8 s after the exit (history lines {exited} and {created}); '
        "2 s was due, and 4.15 s at the latest: the counter says 2 s."
    ]


def test_restarts_with_the_api_server_show_nothing_of_those_without() -> None:
    assert told(checked("delays-while-away", without_api_server(to_s=5.0), min_delays=3)) == [
        "INCONCLUSIVE: 0 delays without the control plane seen, 3 needed: the scenario was complete."
    ]


def test_an_api_server_that_never_came_back_is_away_until_the_end() -> None:
    assert told(checked("delays-while-away", without_api_server(to_s=None), min_delays=4)) == []


def test_a_count_that_has_caught_up_is_accepted_although_the_watch_was_lost_with_the_api_server() -> None:
    assert told(checked("restart-count", without_api_server())) == []


def test_a_watch_that_was_lost_otherwise_leaves_it_open() -> None:
    history = without_api_server().gap(Channel.API, 30.0, 31.0)
    lost = history.line_of(Kind.GAP, 1)
    assert told(checked("restart-count", history)) == [
        f"INCONCLUSIVE: the watch was lost for 1 s (history line {lost}), and with it perhaps a status."
    ]


def test_a_count_without_the_restarts_that_nobody_could_hear_of_is_a_fail() -> None:
    history = without_api_server(count=2)
    created, said = history.line_of(Kind.CREATED, -1), history.line_of(Kind.STATUS, -1)
    assert told(checked("restart-count", history)) == [
        f'FAIL: the last status said restartCount 2 of "app" after 6 restarts (history lines {created} and {said}); '
        "6 was to be said."
    ]


ENDED = apart(STAYS_FAILED, InterventionKind.STOP_COMPONENT, InterventionKind.START_COMPONENT)
PROBED = apart(
    scenario(app(probes=(Probe(kind=ProbeKind.READINESS, pattern="SFFF"),)), name="probed"),
    InterventionKind.STOP_COMPONENT,
    InterventionKind.START_COMPONENT,
)


def watched_again(history: History) -> History:
    """The API server is stopped from 4 s to 17 s, and the watch is lost with it."""
    history.intervention(4.0, "stop-component", **API).intervention(17.0, "start-component", index=1, **API)
    return history.gap(Channel.API, 3.5, 18.0)


def never_stated(checker: str) -> History:
    """What the checker is about ends before the API server does, and no status says so."""
    if checker == "ready-truth":
        history = History(PROBED).lives("app", (0.5, None, 0), status=False)
        for number, answer in enumerate("SFFF"):
            history.note(1.0 + number, "app", 0, f"readiness.{number}", answer)
        return history.status(1.5, {"app": history.running("app", 0, 0.5) | {"ready": True}})
    history = History(ENDED).lives("app", (0.5, 1.5, 1), status=False)
    return history.status(0.9, {"app": history.running("app", 0, 0.5)})


@pytest.mark.parametrize("checker", ["pod-phase", "last-exit", "ready-truth"])
def test_what_is_not_stated_long_after_the_api_server_came_back_is_a_fail(checker: str) -> None:
    assert checked(checker, watched_again(never_stated(checker)).ends(90)).outcome is Outcome.FAIL


@pytest.mark.parametrize("checker", ["pod-phase", "last-exit", "ready-truth"])
def test_what_had_little_time_after_the_api_server_came_back_is_inconclusive(checker: str) -> None:
    assert checked(checker, watched_again(never_stated(checker)).ends(40)).outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("checker", ["pod-phase", "last-exit", "ready-truth"])
def test_what_a_watch_that_was_lost_otherwise_may_have_stated_is_inconclusive(checker: str) -> None:
    history = watched_again(never_stated(checker)).gap(Channel.API, 30.0, 31.0)
    assert checked(checker, history.ends(90)).outcome is Outcome.INCONCLUSIVE


def cut_off(*lives: Life, to_s: float | None = 40.0) -> History:
    """The node is cut off at 4 s and connected at `to_s`; the deletion is requested at 10 s."""
    history = History(HOLDING).lives("app", *lives, journal=False).intervention(4.0, "cut-off-node")
    history.intervention(10.0, "delete-pod", index=1, wait=False)
    if to_s is not None:
        history.intervention(to_s, "connect-node", index=2)
    return history.ends(60)


def test_accepts_a_kill_after_the_connection() -> None:
    answer = checked("killed-once-connected", cut_off((0.5, 45.0, 143)))
    assert told(answer) == []
    assert answer.facts == {"without_control_plane_s": [36.0]}


def test_a_kill_that_the_kubelet_had_no_reason_for_is_a_fail() -> None:
    history = cut_off((0.5, 25.0, 137))
    cut, exited = history.line_of(Kind.INTERVENTION), history.line_of(Kind.EXITED)
    assert told(checked("killed-once-connected", history)) == [
        f'FAIL: "app" was killed 15 s after the deletion (history line {exited}); its node was cut off and could not know of it.'
    ]
    assert checked("killed-once-connected", history).findings[0].lines == (cut, exited)


def test_a_node_that_never_hears_of_the_deletion_shows_nothing() -> None:
    assert told(checked("killed-once-connected", cut_off((0.5, None, 0)))) == [
        'INCONCLUSIVE: no kill of "app" was seen after its node was connected again: the scenario was complete.'
    ]


def test_a_node_that_was_cut_off_for_a_moment_shows_nothing() -> None:
    assert told(checked("killed-once-connected", cut_off((0.5, 15.0, 143), to_s=12.0))) == [
        "INCONCLUSIVE: the node was cut off for 2 s after a deletion, 20 s needed: the scenario was complete."
    ]


def test_a_runtime_that_was_not_heard_leaves_it_open() -> None:
    history = cut_off((0.5, 45.0, 143)).gap(Channel.RUNTIME, 20.0, 21.0)
    lost = history.line_of(Kind.GAP)
    assert told(checked("killed-once-connected", history)) == [
        f'INCONCLUSIVE: a kill of "app" could have gone unseen: runtime lost for 1 s (history line {lost}: 410 Gone), '
        "no journal evidence."
    ]
