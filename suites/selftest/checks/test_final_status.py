"""The last status of a deleted pod tells the exit code of each container's last instance."""

from typing import Any

import msgspec

from crashloop.history.event import Channel, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.program import runs
from crashloop.spec.scenario import ContainerKind
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

DELETED = msgspec.structs.replace(
    scenario(app(runs((1, 0)), name="setup", kind=ContainerKind.INIT), app(exit_code_on_term=7)),
    interventions=(Intervention(trigger=Trigger(after_s=5), action=InterventionKind.DELETE_POD),),
)


def history(*, told_code: int | None = 7, gone: bool = True, deleted: bool = True) -> History:
    """A pod that is deleted after 5 s; `told_code`: what its last status says of the application."""
    made = History(DELETED).lives("setup", (0.5, 1.5, 0)).lives("app", (2, 7, 7), status=False)
    made.status(2.3, {"app": made.running("app", 0, 2)})
    if deleted:
        made.intervention(5, "delete-pod")
    if told_code is not None:
        made.status(7.2, {"app": made.exited("app", 0, 2, 7, told_code)})
    if gone:
        made.add(7.5, Channel.API, Kind.DELETED, {"resource_version": "9"}, pod=True)
    return made.ends(20)


def lines(made: History) -> dict[str, Any]:
    statuses = sum(1 for each in made.events() if each.kind is Kind.STATUS)
    exited = max(
        made.line_of(Kind.EXITED, channel=channel, container="app") for channel in (Channel.RUNTIME, Channel.JOURNAL)
    )
    return {"exit": exited, "status": made.line_of(Kind.STATUS, statuses - 1)}


def test_accepts_a_last_status_with_every_exit_code() -> None:
    answer = checked("final-status", history())
    assert told(answer) == []
    assert answer.facts == {"last_exit_codes": {"setup": 0, "app": 7}}


def test_another_exit_code_is_a_fail() -> None:
    made = history(told_code=137)
    assert told(checked("final-status", made)) == [
        'FAIL: the last status of the deleted pod shows exit code 137 of "app" '
        "(history lines {exit} and {status}); it exited with 7.".format(**lines(made))
    ]


def test_a_container_that_is_still_said_to_run_is_a_fail() -> None:
    made = history(told_code=None)
    assert told(checked("final-status", made)) == [
        'FAIL: the last status of the deleted pod shows no exit of "app" '
        "(history lines {status} and {exit}); it exited with 7.".format(**lines(made))
    ]


def test_a_pod_that_was_not_deleted_is_inconclusive() -> None:
    for made in (history(gone=False), history(deleted=False)):
        assert told(checked("final-status", made)) == [
            "INCONCLUSIVE: no pod was seen to be deleted, one needed: the scenario was complete."
        ]
