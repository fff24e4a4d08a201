"""What a status shows of a delay: its reason, its message, and the order of states."""

import re
from typing import Any

import pytest

from crashloop.requirements import load_requirements
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Mode, Until
from crashloop.verdict import Outcome, VerdictMode
from sim.faults import StatementFault
from sim.host import HOSTS, SLOW_HOSTS, HostModel
from suites.conformance import scenarios as the
from suites.conformance.test_status import COMPLETING
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History
from tools.trials import history_of, recorded, verdict_of

LOOP = scenario(app(exits_with(1, times=3)), until=Until(restarts={"app": 3}), mode=Mode.ANNOTATED, name="loop")
"""At a maximum of 2 s."""


def waiting(reason: str = "CrashLoopBackOff", named: str = "2s") -> dict[str, Any]:
    message = f"back-off {named} restarting failed container=app pod=loop_default(uid)"
    return {"name": "app", "restartCount": 1, "state": {"waiting": {"reason": reason, "message": message}}}


def loop(*shown: tuple[float, dict[str, Any]]) -> History:
    """Restarts at once after 1.5 s, and 4 s after 3 s."""
    history = History(LOOP).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1), (7.1, 8.1, 1))
    for at_s, state in shown:
        history.status(at_s, {"app": state})
    return history.ends(20)


def test_accepts_a_delay_that_was_shown_with_its_length() -> None:
    history = loop((4.5, waiting()))
    answer = checked("shown-waiting", history, min_delays=0)
    assert told(answer) == []
    assert answer.facts["shown"][1] == {"restart": 2, "due_s": 2.0, "shown_s": 1.5}
    assert told(checked("back-off-message", history, min_delays=1)) == []


def test_a_free_restart_that_was_shown_as_a_delay_is_a_finding() -> None:
    assert told(checked("shown-waiting", loop((1.7, waiting())), min_delays=0)) == [
        'FAIL: restart 1 of "app" was free, and CrashLoopBackOff was shown.'
    ]


def test_a_message_that_names_another_delay_is_a_finding() -> None:
    history = loop((4.5, waiting(named="1m20s")))
    (finding,) = told(checked("back-off-message", history, min_delays=1))
    assert finding.startswith('FAIL: before restart 2 of "app" a status named 80 s (history line ')
    assert finding.endswith("2 s was due.")


def test_another_order_of_states_is_a_finding() -> None:
    history = loop((4.5, waiting()))
    right = ["Running", "Error", "Running", "Error", "CrashLoopBackOff", "Running"]
    assert told(checked("status-sequence", history, sequence=right)) == []
    (finding,) = told(checked("status-sequence", history, sequence=["Running", "Error", "CrashLoopBackOff"]))
    assert finding.startswith('FAIL: "app" was shown as Running (history line ')
    assert finding.endswith("CrashLoopBackOff was next.")


@pytest.mark.parametrize(
    ("requirement", "of", "fault"),
    [
        pytest.param("BACKOFF-5", the.MAX_10S, StatementFault.HIDES_BACKOFF, id="hidden"),
        pytest.param("BACKOFF-5", the.MAX_10S, StatementFault.OTHER_REASON, id="other-reason"),
        pytest.param("BACKOFF-6", COMPLETING, StatementFault.HIDES_BACKOFF, id="hidden-in-turn"),
        pytest.param("BACKOFF-6", COMPLETING, StatementFault.RUNNING_WHILE_DEAD, id="running-while-dead"),
        pytest.param("BACKOFF-14", the.MAX_11S, StatementFault.MESSAGE_TWICE, id="other-delay"),
    ],
)
def test_a_kubelet_that_shows_something_else_is_reported_and_fails_no_run(
    requirement: str, of: Any, fault: StatementFault
) -> None:
    row = load_requirements()[requirement]
    right = verdict_of(row, of, recorded(history_of(of)))
    wrong = verdict_of(row, of, recorded(history_of(of, frozenset({fault}))))
    assert right.outcome is Outcome.PASS
    assert wrong.outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE)
    assert wrong.mode is VerdictMode.REPORT
    assert not wrong.fails_the_run


@pytest.mark.parametrize(
    ("fault", "finding"),
    [
        (StatementFault.BACK_OFF_EVENT_LATE, r"the Event BackOff came 3\.\d+ s after the exit before restart 2 of .*"),
        (StatementFault.BACK_OFF_EVENT_MISSING, r'no Event BackOff was seen before restart 2 of "app"\.'),
    ],
    ids=lambda each: each.name if isinstance(each, StatementFault) else "",
)
def test_an_event_of_a_delay_that_is_late_or_missing_is_reported(fault: StatementFault, finding: str) -> None:
    requirement = load_requirements()["BACKOFF-30"]
    verdict = verdict_of(requirement, the.MAX_10S, recorded(history_of(the.MAX_10S, frozenset({fault}))))
    assert (verdict.outcome, verdict.mode) == (Outcome.FAIL, VerdictMode.REPORT)
    assert re.fullmatch(f"BACKOFF-30: {finding}", verdict.findings[0])


@pytest.mark.parametrize("host", [*HOSTS, *SLOW_HOSTS], ids=lambda host: host.name)
def test_the_event_of_a_right_kubelet_is_never_late(host: HostModel) -> None:
    requirement = load_requirements()["BACKOFF-30"]
    outcomes = {
        verdict_of(requirement, the.MAX_10S, recorded(history_of(the.MAX_10S, seed=seed, host=host))).outcome
        for seed in range(3)
    }
    assert outcomes <= {Outcome.PASS, Outcome.INCONCLUSIVE}
