"""No probe is asked before its initial delay has passed, in any life."""

from crashloop.history.event import Channel, Kind
from crashloop.spec.pod import Probe
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Until
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

PATIENT = scenario(
    app(exits_with(1, after_s=12, times=2), probes=(Probe(pattern="SSS", initial_delay_s=8),)),
    until=Until(restarts={"app": 2}),
)


def asked(*after_s: float) -> History:
    """Two lives of 12 s in which the probe is first asked so long after their starts."""
    history = History(PATIENT).lives("app", (1, 13, 1), (13.5, 25.5, 1), (28, None, 0))
    for number, (started_s, asked_s) in enumerate(zip((1, 13.5), after_s, strict=False)):
        history.note(started_s + asked_s, "app", number, "liveness.0", "S")
    return history.ends(60)


def test_accepts_a_question_after_the_delay_or_less_than_the_second_that_a_start_is_rounded_by() -> None:
    answer = checked("initial-delay", asked(8.4, 7.1), min_lives=2)
    assert told(answer) == []
    assert answer.facts == {"lives": 2}


def test_a_question_before_the_delay_has_passed_is_a_fail() -> None:
    history = asked(8.4, 0.5)
    started = history.line_of(Kind.STARTED, 1, channel=Channel.RUNTIME, container="app")
    assert told(checked("initial-delay", history)) == [
        'FAIL: the liveness probe of instance 1 of "app" was asked 0.5 s after its start '
        f"(history lines {started} and {history.line_of(Kind.NOTED, 1)}); 8 s were to pass."
    ]
