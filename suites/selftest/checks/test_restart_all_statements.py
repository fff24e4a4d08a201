"""What a status says while all containers restart: condition, phase, and that the pod goes on."""

from typing import Any

import msgspec

from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Kind
from crashloop.model.variants import RESTART_ALL_STAYS_RUNNING
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import RestartPolicy, restart_in
from crashloop.spec.program import runs
from suites.selftest.kit.cases import app, case, checked, resetting, scenario, told
from suites.selftest.kit.histories import History

NEVER = RestartPolicy.NEVER
POD = scenario(
    resetting(runs((2, 42))),
    policy=NEVER,
)


def restarting(said: str | None) -> dict[str, Any]:
    return {} if said is None else {"conditions": [{"type": "AllContainersRestarting", "status": said}]}


def reset(*, at_exit: str | None = "True", again: str | None = "False", phase: str = "Pending") -> History:
    """An exit at 3 s that restarts all containers, and a status of it; the container starts again at 4 s."""
    history = History(POD, create_s=0.0).lives("app", (1.0, 3.0, 42), status=False)
    history.status(1.2, {"app": history.running("app", 0, 1.0)}, **restarting("False"))
    history.status(3.5, {"app": history.exited("app", 0, 1.0, 3.0, 42)}, phase=phase, **restarting(at_exit))
    history.runtime(3.6, Kind.REMOVED, "app", "app-0").lives("app", (4.0, None, 0), first=1, status=False)
    return history.status(4.5, {"app": history.running("app", 1, 4.0)}, **restarting(again))


def test_a_condition_that_comes_and_goes_is_right() -> None:
    assert told(checked("restart-all-condition", reset().ends(10))) == []


def test_an_exit_without_the_condition_is_found() -> None:
    history = reset(at_exit="False").ends(10)
    line = history.line_of(Kind.STATUS, 1)
    assert told(checked("restart-all-condition", history)) == [
        f'FAIL: a status shows that "app" exited with 42 and AllContainersRestarting is False (history line {line}); '
        "it was to be True."
    ]


def test_a_condition_that_is_missing_is_found() -> None:
    assert "AllContainersRestarting is missing" in str(
        told(checked("restart-all-condition", reset(at_exit=None).ends(10)))
    )


def test_a_condition_beside_a_container_that_runs_again_is_found() -> None:
    history = reset(again="True").ends(10)
    lines = (history.line_of(Kind.CREATED, 1, container="app"), history.line_of(Kind.STATUS, 2))
    assert told(checked("restart-all-condition", history)) == [
        "FAIL: a status says AllContainersRestarting and shows a container that it had started again "
        f"(history lines {lines[0]} and {lines[1]}); it was to be False."
    ]


def test_a_condition_before_any_exit_is_found() -> None:
    history = History(POD).lives("app", (1.0, None, 0), status=False)
    history.status(1.5, {"app": history.running("app", 0, 1.0)}, **restarting("True")).ends(5)
    assert "FAIL: a status says AllContainersRestarting" in str(told(checked("restart-all-condition", history)))


UNRULED = scenario(app(runs((2, 42), (2, 42)), restart_policy=NEVER, rules=(restart_in(42),)), policy=NEVER)


def test_a_pod_without_such_a_rule_has_no_condition() -> None:
    restarted = History(UNRULED).lives("app", (1.0, 3.0, 42), (3.5, None, 0)).ends(8)
    assert told(checked("condition-without-rule", restarted)) == []


def test_a_condition_of_a_pod_without_such_a_rule_is_found() -> None:
    history = History(UNRULED).lives("app", (1.0, 3.0, 42), status=False)
    history.status(3.5, {"app": history.exited("app", 0, 1.0, 3.0, 42)}, **restarting("False")).ends(5)
    line = history.line_of(Kind.STATUS, 0)
    assert told(checked("condition-without-rule", history)) == [
        f"FAIL: a status says AllContainersRestarting is False (history line {line}); "
        "no rule of the pod restarts all containers."
    ]


def test_a_pod_with_such_a_rule_or_without_a_status_proves_nothing() -> None:
    assert told(checked("condition-without-rule", reset().ends(10))) == [
        "INCONCLUSIVE: 0 pod statuses seen, 1 needed: the scenario was complete.",
    ]
    unseen = History(UNRULED).lives("app", (1.0, 3.0, 42), status=False).ends(5)
    assert told(checked("condition-without-rule", unseen)) == [
        "INCONCLUSIVE: 0 pod statuses seen, 1 needed: the scenario was complete."
    ]


def test_pending_beside_the_condition_is_right() -> None:
    assert told(checked("restart-all-phase", reset().ends(10))) == []


def test_running_beside_the_condition_is_found_and_explained_by_the_variant() -> None:
    history = reset(phase="Running").ends(10)
    line = history.line_of(Kind.STATUS, 1)
    assert told(checked("restart-all-phase", history)) == [
        f"FAIL: a status says AllContainersRestarting and the phase Running (history line {line}); "
        "the phase was to be Pending."
    ]
    explained = CHECKERS["restart-all-phase"](case(history, deviations=frozenset({RESTART_ALL_STAYS_RUNNING})))
    assert told(explained) == []


def test_a_pod_that_goes_on_is_right() -> None:
    assert told(checked("restart-all-goes-on", reset().ends(10))) == []


def test_a_pod_that_is_said_to_have_ended_is_found() -> None:
    history = reset(phase="Failed").ends(10)
    lines = (history.line_of(Kind.EXITED, 1, container="app"), history.line_of(Kind.STATUS, 1))
    assert told(checked("restart-all-goes-on", history)) == [
        f"FAIL: the pod's phase was said to be Failed (history lines {lines[0]} and {lines[1]}); "
        "restart rule RestartAllContainers In [42] matches exit code 42, so that the pod was to go on."
    ]


DELETED = msgspec.structs.replace(
    POD, interventions=(Intervention(trigger=Trigger(after_s=4), action=InterventionKind.DELETE_POD),)
)


def ended(phase: str, *, deleted_s: float) -> History:
    """A reset at 3 s, an exit at 6 s that is to reset once more, and a status at 6.5 s that shows none and this phase."""
    history = History(DELETED).lives("app", (1.0, 3.0, 42), (4.0, 6.0, 42), (9.0, None, 0), status=False)
    history.runtime(3.5, Kind.REMOVED, "app", "app-0").intervention(deleted_s, "delete-pod")
    return history.status(6.5, {"app": history.exited("app", 1, 4.0, 6.0, 42)}, phase=phase, **restarting("False"))


def test_a_pod_that_is_being_deleted_may_end() -> None:
    for checker, phase in (("restart-all-condition", "Pending"), ("restart-all-goes-on", "Failed")):
        assert "FAIL" not in str(told(checked(checker, ended(phase, deleted_s=5.5).ends(10))))


def test_a_pod_that_ended_before_its_deletion_is_found() -> None:
    for checker, phase in (("restart-all-condition", "Pending"), ("restart-all-goes-on", "Failed")):
        assert "FAIL: " in str(told(checked(checker, ended(phase, deleted_s=8.0).ends(10))))
