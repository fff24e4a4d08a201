"""A deleted mirror pod comes back with the statements of its static pod."""

import pytest

from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Channel, Kind
from crashloop.model.variants import RESTART_ALL_OFF_REJECTS_POD
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import Action, RestartPolicy, restart_in
from crashloop.spec.profile import RESTART_ALL_GATE, KubeletProfile
from crashloop.spec.program import exits_with
from suites.selftest.kit.cases import GOOD, app, case, checked, scenario, told
from suites.selftest.kit.histories import History

STATIC = scenario(app(), owner=StaticPod())


def mirror(history: History, at_s: float, phase: str, number: int) -> History:
    return history.add(at_s, Channel.API, Kind.MIRROR, {"phase": phase, "mirror_uid": f"mirror-{number}"}, pod=True)


def deleted() -> History:
    """The scenario deletes the mirror pod after 20 s."""
    history = mirror(History(STATIC).lives("app", *GOOD), 0.1, "created", 1)
    return mirror(history.intervention(20.0, "delete-mirror-pod"), 20.2, "deleted", 1)


def back(history: History, at_s: float, *, blank: bool = False) -> History:
    mirror(history, at_s, "created", 2)
    return history if blank else history.counts(at_s + 0.5, "app", 3)


def unstated(history: History, at_s: float) -> History:
    """What the API server gives a new object."""
    return history.add(at_s, Channel.API, Kind.STATUS, {"status": {"phase": "Pending"}}, pod=True)


def lines(history: History, *nth: int) -> str:
    return " and ".join(str(history.line_of(Kind.MIRROR, each)) for each in nth)


def test_accepts_a_mirror_pod_that_comes_back_at_once() -> None:
    answer = checked("mirror-returns", back(deleted(), 20.4).ends(60))
    assert told(answer) == []
    assert answer.facts == {"mirror_back_s": [0.7]}


@pytest.mark.parametrize(
    ("end_s", "outcome", "why"), [(60, "FAIL", "; 30 s is the longest."), (40, "INCONCLUSIVE", "")]
)
def test_a_mirror_pod_that_is_never_gone_is_a_fail(end_s: int, outcome: str, why: str) -> None:
    history = mirror(History(STATIC).lives("app", *GOOD), 0.1, "created", 1).intervention(20.0, "delete-mirror-pod")
    (finding,) = told(checked("mirror-returns", history.ends(end_s)))
    line = history.line_of(Kind.INTERVENTION)
    said = f"the mirror pod was not gone {end_s - 20} s after the request to delete it (history line {line})"
    assert finding == f"{outcome}: {said}{why or ': the scenario was complete.'}"


def test_a_mirror_pod_that_stays_away_is_a_fail() -> None:
    history = deleted().ends(60)
    assert told(checked("mirror-returns", history)) == [
        f"FAIL: the mirror pod was not created again within 39.8 s of its deletion (history line {lines(history, 1)}); "
        "30 s is the longest."
    ]


def test_a_mirror_pod_that_comes_late_is_a_fail() -> None:
    history = back(deleted(), 52.0).ends(60)
    assert told(checked("mirror-returns", history)) == [
        f"FAIL: the mirror pod stated its containers only 32.3 s after its deletion (history lines {lines(history, 1, 2)}); "
        "30 s is the longest."
    ]


def test_a_mirror_pod_that_says_nothing_is_a_fail() -> None:
    history = back(deleted(), 21.0, blank=True)
    unstated(history, 21.0).ends(60)
    assert told(checked("mirror-returns", history)) == [
        "FAIL: the mirror pod that was created again stated no container within 39.8 s of its deletion "
        f"(history lines {lines(history, 1, 2)}); 30 s is the longest."
    ]


def test_a_watch_that_was_lost_leaves_it_open() -> None:
    history = deleted().gap(Channel.API, 21.0, 50.0).ends(60)
    (finding,) = told(checked("mirror-returns", history))
    assert finding.startswith("INCONCLUSIVE: the mirror pod was not created again")
    assert "The watch was lost meanwhile" in finding


def test_a_watch_that_ends_soon_leaves_it_open() -> None:
    history = deleted().ends(25)
    assert told(checked("mirror-returns", history)) == [
        f"INCONCLUSIVE: the mirror pod was not seen again (history line {lines(history, 1)}), and 4.8 s were watched: "
        "the scenario was complete."
    ]


def test_a_mirror_pod_that_the_kubelet_replaced_itself_was_not_deleted() -> None:
    history = mirror(History(STATIC).lives("app", *GOOD), 0.1, "created", 1)
    mirror(history, 15.0, "deleted", 1)
    history.intervention(20.0, "delete-mirror-pod").ends(60)
    assert told(checked("mirror-returns", history)) == [
        "INCONCLUSIVE: 0 deletions of a mirror pod seen, 1 needed: the scenario was complete."
    ]


def test_the_status_of_a_new_mirror_pod_is_no_statement_of_the_kubelet() -> None:
    history = back(deleted(), 20.4)
    unstated(history, 20.4).ends(60)
    assert told(checked("pod-phase", history)) == []


def said_to_run_on(*, edited: bool, later: bool = False) -> list[str]:
    """The pod ends after 21 s, and its status says for ever that it runs, or until `later`."""
    history = mirror(History(STATIC).lives("app", (0.5, 21.0, 143), status=False), 0.1, "created", 1)
    history.status(1.0, {"app": history.running("app", 0, 0.5)})
    history = history.intervention(20.0, "edit-static-pod") if edited else history
    if later:
        history.status(50.0, {"app": history.exited("app", 0, 0.5, 21.0, 143)})
    return [each for each in told(checked("last-exit", history.ends(60))) if "said to be running" in each]


def test_nothing_is_to_be_stated_of_a_static_pod_whose_file_has_changed() -> None:
    assert len(said_to_run_on(edited=False)) == 1
    assert len(said_to_run_on(edited=False, later=True)) == 1
    assert said_to_run_on(edited=True) == said_to_run_on(edited=True, later=True) == []


def test_a_pod_that_the_kubelet_is_to_reject_has_nothing_to_state() -> None:
    ruled = app(
        exits_with(42),
        restart_policy=RestartPolicy.ON_FAILURE,
        rules=(restart_in(42, action=Action.RESTART_ALL_CONTAINERS),),
    )
    without = KubeletProfile(name="restart-all-off", config={"featureGates": {RESTART_ALL_GATE: False}})
    made = scenario(ruled, policy=RestartPolicy.ON_FAILURE, profile=without, owner=StaticPod())
    history = mirror(History(made), 0.1, "created", 1).intervention(20.0, "delete-mirror-pod")
    history = unstated(back(mirror(history, 20.2, "deleted", 1), 20.4, blank=True), 20.4).ends(90)
    question = case(history, without, frozenset({RESTART_ALL_OFF_REJECTS_POD}))
    assert told(CHECKERS["mirror-returns"](question)) == [
        "INCONCLUSIVE: the kubelet runs no such pod, so its mirror pod has nothing to state."
    ]


def edited(*begins_s: float) -> History:
    """A pod that runs until 14 s and whose file changes at 6 s and at 9 s, and when the container of another begins."""
    history = History(STATIC).lives("app", (1.0, 14.0, 137))
    for at_s in (6.0, 9.0):
        history.intervention(at_s, "edit-static-pod")
    for at_s in begins_s:
        history.recreated(at_s - 0.5, "second").lives("app", (at_s, None, 0))
    return history.ends(60)


def beside_the_last(history: History) -> str:
    """What is said of the second instance of a history, and of the exit of the first."""
    began = history.line_of(Kind.CREATED, 1, channel=Channel.RUNTIME)
    exited = history.line_of(Kind.EXITED, channel=Channel.RUNTIME)
    first, second = sorted((began, exited))
    return (
        f"FAIL: a container of the static pod began (history lines {first} and {second}) while one of the pod before still ran; "
        "it was to wait for its end."
    )


def test_an_edited_pod_that_begins_after_the_end_of_the_one_before_is_right() -> None:
    assert told(checked("edited-in-turn", edited(26.0))) == []


def test_an_edited_pod_beside_the_one_before_is_a_fail() -> None:
    assert told(checked("edited-in-turn", edited(10.0))) == [beside_the_last(edited(10.0))]


@pytest.mark.parametrize("comes", [False, True])
def test_an_edited_pod_that_never_begins_is_a_fail(comes: bool) -> None:
    """Whether or not the API server has its mirror."""
    history = edited()
    if comes:
        history.recreated(25.0, "second").counts(25.5, "app", 0, phase="Pending")
    assert told(checked("edited-in-turn", history)) == [
        "FAIL: nothing began for 46 s after the end of the pod whose file was changed "
        f"(history line {history.line_of(Kind.INTERVENTION, 1)}); it was to start."
    ]


def renewed(*begins_s: float) -> History:
    """A pod that runs until 14 s and whose file is removed at 6 s and written again, and when its container begins again."""
    history = History(STATIC).intervention(6.0, "renew-static-pod", absent_s=2.0)
    return history.lives("app", (1.0, 14.0, 137), *((each, None, 0) for each in begins_s)).ends(60)


def test_a_renewed_pod_that_begins_after_its_end_is_right() -> None:
    assert told(checked("edited-in-turn", renewed(17.0))) == []


def test_a_renewed_pod_that_begins_before_its_end_is_a_fail() -> None:
    assert told(checked("edited-in-turn", renewed(9.0))) == [beside_the_last(renewed(9.0))]


def test_a_start_that_was_under_way_when_the_file_went_is_of_the_pod_before() -> None:
    """On a slow disk: its sandbox is the one before."""
    history = History(STATIC).intervention(6.0, "renew-static-pod", absent_s=2.0)
    history.add(15.0, Channel.RUNTIME, Kind.SANDBOX, {"container_id": "sandbox-1", "phase": "created"}, pod=True)
    assert told(checked("edited-in-turn", history.lives("app", (7.0, 14.0, 137), (17.0, None, 0)).ends(60))) == []


def test_a_renewed_pod_that_never_begins_again_is_a_fail() -> None:
    history = renewed()
    assert told(checked("edited-in-turn", history)) == [
        "FAIL: nothing began for 46 s after the end of the pod whose file was changed "
        f"(history line {history.line_of(Kind.INTERVENTION)}); it was to start."
    ]
