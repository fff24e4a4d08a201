"""The checker of exec probes without a runtime: no kill for what was not answered, and questions again once it is back."""

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, Handler, Probe, ProbeKind
from crashloop.spec.program import HOLDS
from crashloop.spec.scenario import PodScenario
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History, Life

GONE_S, DOWN_S = 5.0, 12.0
HOLDING: Life = (0.5, None, 0)


def probed(*probes: Probe, action: InterventionKind = InterventionKind.RESTART_RUNTIME) -> PodScenario:
    container: Container = msgspec.structs.replace(app(HOLDS), probes=probes)
    restart = Intervention(trigger=Trigger(after_s=GONE_S), action=action, arguments={"down_s": DOWN_S})
    return msgspec.structs.replace(scenario(container, name="runtime-away"), interventions=(restart,))


EXEC = probed(Probe(pattern="SSS"))


def history(
    of: PodScenario = EXEC,
    *,
    life: Life = HOLDING,
    answered_s: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 18.0, 19.0),
    answer: str = "S",
    outcome: str = "ok",
    ends_s: float = 45.0,
) -> History:
    """The runtime is away from 5 s to 17 s, or the kubelet."""
    made = History(of).lives("app", life)
    for number, at_s in enumerate(answered_s):
        made.note(at_s, "app", 0, f"liveness.{number}", answer)
    made.intervention(GONE_S, of.interventions[0].action, outcome=outcome, down_s=DOWN_S)
    return made.ends(ends_s)


def test_accepts_a_container_that_lives_on_and_is_probed_again() -> None:
    answer = checked("unanswered-probes", history(), min_missed=10)
    assert told(answer) == []
    assert answer.facts == {"away_s": [12.0]}


def test_a_kill_for_probes_without_an_answer_is_a_fail() -> None:
    killed = history(life=(0.5, 18.2, 143), answered_s=(1.0, 2.0, 3.0, 4.0))
    gone = killed.line_of(Kind.INTERVENTION)
    exited = killed.line_of(Kind.EXITED, channel=Channel.RUNTIME)
    assert told(checked("unanswered-probes", killed, min_missed=10)) == [
        f'FAIL: "app" was ended 13.2 s after its runtime had gone (history lines {gone} and {exited}); its liveness probe had '
        "not failed, and what the runtime does not carry out is no failure."
    ]


def test_a_probe_that_is_not_asked_again_is_a_fail() -> None:
    forgotten = history(answered_s=(1.0, 2.0, 3.0, 4.0, 40.0))
    line = forgotten.line_of(Kind.INTERVENTION)
    assert told(checked("unanswered-probes", forgotten, min_missed=10)) == [
        f'FAIL: the liveness probe of "app" was not asked within 15 s of the return of its runtime (history line {line}).'
    ]


def test_a_gap_of_the_journal_may_hide_the_questions() -> None:
    unread = history(answered_s=(1.0, 2.0, 3.0, 4.0))
    (said,) = told(checked("unanswered-probes", unread.gap(Channel.JOURNAL, 17.0, 40.0), min_missed=10))
    assert said.startswith("INCONCLUSIVE")
    assert "The journal that would show it is not complete" in said


def test_a_recording_that_ends_before_the_next_question_is_due_shows_nothing() -> None:
    short = history(answered_s=(1.0, 2.0, 3.0, 4.0), ends_s=25.0)
    (said,) = told(checked("unanswered-probes", short, min_missed=10))
    assert said.startswith("INCONCLUSIVE")
    assert "The recording ended before that" in said


def test_a_kill_after_failures_that_count_is_none_of_its_business() -> None:
    failing = history(life=(0.5, 18.2, 143), answered_s=(1.0, 2.0, 3.0), answer="F")
    assert told(checked("unanswered-probes", failing, min_missed=10)) == []


def test_a_container_that_did_not_run_shows_nothing() -> None:
    (said,) = told(checked("unanswered-probes", history(life=(0.5, 3.0, 1)), min_missed=10))
    assert said.startswith('INCONCLUSIVE: An answer could have gone unseen: "app" did not run when the runtime went')


@pytest.mark.parametrize(
    "of",
    [history(outcome="502"), history(probed(Probe(pattern="SSS", handler=Handler.HTTP)))],
    ids=["runtime-not-restarted", "no-exec-probe"],
)
def test_too_few_probes_without_a_runtime_are_no_evidence(of: History) -> None:
    assert told(checked("unanswered-probes", of, min_missed=10)) == [
        "INCONCLUSIVE: 0 questions that nobody could ask seen, 10 needed: the scenario was complete."
    ]


def test_a_probe_that_a_restarted_kubelet_does_not_ask_again_is_a_fail() -> None:
    restarted = probed(Probe(pattern="SSS"), action=InterventionKind.RESTART_KUBELET)
    forgotten = history(restarted, answered_s=(1.0, 2.0, 3.0, 4.0))
    line = forgotten.line_of(Kind.INTERVENTION)
    assert told(checked("unanswered-probes", forgotten, min_missed=10)) == [
        f'FAIL: the liveness probe of "app" was not asked within 15 s of the return of its kubelet (history line {line}).'
    ]


def test_a_startup_probe_that_has_succeeded_is_asked_no_more() -> None:
    starting = probed(Probe(kind=ProbeKind.STARTUP, pattern="SSS"), action=InterventionKind.RESTART_KUBELET)
    made = History(starting).lives("app", HOLDING).note(1.0, "app", 0, "startup.0", "S")
    made.intervention(GONE_S, "restart-kubelet", down_s=DOWN_S)
    assert told(checked("unanswered-probes", made.ends(45.0), min_missed=0)) == []
