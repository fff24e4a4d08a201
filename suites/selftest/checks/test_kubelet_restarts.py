"""The checker of restarts of the kubelet: each was carried out as planned, or nothing was tried."""

import msgspec

from crashloop.checks.configuration import node_objections
from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario
from suites.selftest.kit.cases import CRASHING, MAX_2S, case, question, told
from suites.selftest.kit.histories import History

TOO_LONG = KubeletProfile(name="too-long", config={"crashLoopBackOff": {"maxContainerRestartPeriod": "301s"}})
LAST_WORDS = "kubelet ended with exit code 1 while it was starting."


def restart(at_s: float, profile: str, *, refused: bool = False) -> Intervention:
    return Intervention(
        trigger=Trigger(after_s=at_s),
        action=InterventionKind.RESTART_KUBELET,
        arguments={"profile": profile} | ({"refused": True} if refused else {}),
    )


REFUSING = msgspec.structs.replace(
    CRASHING, name="refusing", interventions=(restart(5.0, "too-long", refused=True), restart(25.0, "max-2s"))
)


def refused(outcome: str = f"refused: {LAST_WORDS}") -> History:
    """The first restart, at 5 s, has that outcome."""
    history = History(REFUSING, profile=MAX_2S).lives("app", (0.5, None, 0))
    return history.intervention(5.0, "restart-kubelet", outcome=outcome, profile="too-long", refused=True)


def back(history: History) -> History:
    return history.intervention(25.0, "restart-kubelet", index=1, profile="max-2s").node(28.0, started_s=26.0)


def answers(history: History) -> list[str]:
    return told(CHECKERS["kubelet-restarts"](case(history, MAX_2S)))


def objections(history: History) -> list[str]:
    assert isinstance(history.scenario, PodScenario)
    asked = question(history, profile=MAX_2S)
    return [f"{each.outcome}: {each.sentence}" for each in node_objections(history.scenario, asked)]


def test_a_refusal_and_a_start_after_it_are_as_planned() -> None:
    history = back(refused()).ends(40)
    assert answers(history) == []
    assert objections(history) == []
    assert CHECKERS["kubelet-restarts"](case(history, MAX_2S)).facts == {"refusals": [f"refused: {LAST_WORDS}"]}


def test_a_restart_that_failed_otherwise_shows_nothing() -> None:
    history = back(refused("kubelet of node to answer: nothing within 30 s")).ends(40)
    line = history.line_of(Kind.INTERVENTION)
    assert answers(history) == [
        f"INCONCLUSIVE: the restart with profile too-long has failed (history line {line}): "
        "kubelet of node to answer: nothing within 30 s"
    ]


def test_a_restart_that_never_came_shows_nothing() -> None:
    assert answers(refused().ends(20)) == ["INCONCLUSIVE: the restart with profile max-2s was not carried out."]


def test_a_kubelet_that_never_answered_again_shows_nothing() -> None:
    history = refused().intervention(25.0, "restart-kubelet", index=1, profile="max-2s").ends(40)
    line = history.line_of(Kind.INTERVENTION, 1)
    assert answers(history) == [
        f"INCONCLUSIVE: after the restart with profile max-2s (history line {line}) no kubelet answered."
    ]


def test_a_kubelet_that_takes_what_it_was_to_refuse_leaves_everything_open() -> None:
    history = back(refused("ok")).ends(40)
    line = history.line_of(Kind.INTERVENTION)
    assert objections(history) == [
        f"INCONCLUSIVE: the kubelet took the configuration too-long (history line {line}), which it was to refuse."
    ]
