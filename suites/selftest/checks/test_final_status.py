"""The last status of a deleted pod states the exit code of each container's last instance."""

from typing import Any

import msgspec

from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Channel, Kind
from crashloop.model.variants import RESTART_ALL_HIDES_EXIT_CODE
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import ContainerKind
from crashloop.spec.program import runs
from suites.selftest.kit.cases import app, case, checked, resetting, scenario, told
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


def test_a_container_that_has_never_run_has_no_exit_to_state() -> None:
    made = History(DELETED).lives("setup", (0.5, 7, 7), status=False).intervention(5, "delete-pod")
    made.status(7.2, {"setup": made.exited("setup", 0, 0.5, 7, 7)})
    made.add(7.5, Channel.API, Kind.DELETED, {"resource_version": "9"}, pod=True)
    assert told(checked("final-status", made.ends(20))) == []


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
            "INCONCLUSIVE: 0 deleted pods seen, 1 needed: the scenario was complete."
        ]


def test_another_exit_code_is_inconclusive_where_the_next_life_could_have_gone_unseen() -> None:
    made = history(told_code=137).gap(Channel.RUNTIME, 7.1, 19).gap(Channel.JOURNAL, 7.1, 19)
    (finding,) = told(checked("final-status", made))
    assert finding.startswith("INCONCLUSIVE: the last status of the deleted pod shows exit code 137")
    assert 'An instance of "app" could have gone unseen' in finding


RESTARTS_ALL = msgspec.structs.replace(
    scenario(resetting(runs((4, 42)))),
    interventions=DELETED.interventions,
)


def removed_before_deletion(told_code: int) -> History:
    """An exit at 6 s that restarts all containers; its instance is removed, and the pod goes before the next starts."""
    made = History(RESTARTS_ALL).lives("app", (2, 6, 42)).runtime(6.3, Kind.REMOVED, "app", "app-0")
    made.intervention(6.4, "delete-pod").status(6.6, {"app": made.exited("app", 0, 2, 6, told_code)})
    return made.add(6.8, Channel.API, Kind.DELETED, {"resource_version": "9"}, pod=True).ends(20)


def test_an_exit_that_was_removed_by_a_reset_shows_what_the_kubelet_shows_of_those() -> None:
    shipped = frozenset({RESTART_ALL_HIDES_EXIT_CODE})
    by_shipped = {
        code: str(told(CHECKERS["final-status"](case(removed_before_deletion(code), deviations=shipped))))
        for code in (42, 137, 7)
    }
    assert (by_shipped[42], by_shipped[137]) == ("[]", "[]")
    assert "shows exit code 7" in by_shipped[7]
    assert "FAIL: the last status of the deleted pod shows exit code 137" in str(
        told(checked("final-status", removed_before_deletion(137)))
    )
