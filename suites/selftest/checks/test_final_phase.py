"""The last phase of a deleted pod says whether its containers succeeded."""

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import ContainerKind
from crashloop.spec.program import runs
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

DELETED = msgspec.structs.replace(
    scenario(app(runs((1, 0)), name="setup", kind=ContainerKind.INIT), app(), app(name="other")),
    interventions=(Intervention(trigger=Trigger(after_s=5), action=InterventionKind.DELETE_POD),),
)


def history(phase: str, *, code: int = 0, gone: bool = True) -> History:
    """A pod under Always that is deleted after 5 s; one of its containers exits with `code`, the other with 0."""
    made = History(DELETED).lives("setup", (0.5, 1.5, 0))
    made.lives("app", (2, 7, code), status=False).lives("other", (2, 7, 0), status=False)
    made.intervention(5, "delete-pod").status(7.2, {"app": made.exited("app", 0, 2, 7, code)}, phase=phase)
    if gone:
        made.add(7.5, Channel.API, Kind.DELETED, {"resource_version": "9"}, pod=True)
    return made.ends(20)


@pytest.mark.parametrize(("phase", "code"), [("Succeeded", 0), ("Failed", 7)])
def test_accepts_the_phase_of_its_exit_codes(phase: str, code: int) -> None:
    answer = checked("final-phase", history(phase, code=code))
    assert told(answer) == []
    assert answer.facts == {"last_phases": [phase]}


@pytest.mark.parametrize(("phase", "code", "due"), [("Running", 0, "Succeeded"), ("Succeeded", 7, "Failed")])
def test_another_phase_is_a_fail(phase: str, code: int, due: str) -> None:
    made = history(phase, code=code)
    statuses = sum(1 for each in made.events() if each.kind is Kind.STATUS)
    line = made.line_of(Kind.STATUS, statuses - 1)
    assert told(checked("final-phase", made)) == [
        f"FAIL: the last phase of the deleted pod was {phase} (history line {line}); {due} was due: "
        f'"app" exited with {code}, "other" exited with 0.'
    ]


def test_a_pod_that_was_not_deleted_is_inconclusive() -> None:
    assert told(checked("final-phase", history("Running", gone=False))) == [
        "INCONCLUSIVE: 0 deleted pods seen, 1 needed: the scenario was complete."
    ]


def test_an_exit_that_nobody_saw_is_inconclusive() -> None:
    made = History(DELETED).lives("app", (2, None, 0)).intervention(5, "delete-pod")
    made.add(7.5, Channel.API, Kind.DELETED, {"resource_version": "9"}, pod=True)
    assert told(checked("final-phase", made.ends(20))) == [
        'INCONCLUSIVE: the last exit of "app" was not seen: the scenario was complete.'
    ]


def test_another_phase_is_inconclusive_where_a_later_life_could_have_gone_unseen() -> None:
    made = history("Running").gap(Channel.RUNTIME, 7.1, 19).gap(Channel.JOURNAL, 7.1, 19)
    (finding,) = told(checked("final-phase", made))
    assert finding.startswith("INCONCLUSIVE: the last phase of the deleted pod was Running")


def test_another_phase_is_inconclusive_where_a_later_status_may_have_been_lost_with_the_watch() -> None:
    (finding,) = told(checked("final-phase", history("Running").gap(Channel.API, 7.3, 7.4)))
    assert finding.startswith("INCONCLUSIVE: the last phase of the deleted pod was Running")
