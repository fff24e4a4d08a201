"""A startup probe is asked at every start, and the other probes wait for its success."""

from crashloop.history.event import Channel, Kind
from crashloop.spec.pod import Probe, ProbeKind
from crashloop.spec.program import runs
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

PROBES = (Probe(kind=ProbeKind.STARTUP, pattern="FSSS"), Probe(kind=ProbeKind.READINESS, pattern="SSS"))
PROBED = scenario(app(runs((10, 1), (10, 1)), probes=PROBES))


def asked(*answers: tuple[float, int, str, str], second_s: float = 10.0) -> History:
    """Two lives of 10 s, from 1 s and from 13 s on, and answers: when, in which life, by which probe, and what."""
    history = History(PROBED).lives("app", (1.0, 11.0, 1), (13.0, 13.0 + second_s, 1))
    for at_s, life, name, answer in answers:
        history.note(at_s, "app", life, name, answer)
    return history


FIRST = ((2.0, 0, "startup.0", "F"), (3.0, 0, "startup.1", "S"), (4.0, 0, "readiness.0", "S"))
SECOND = ((14.0, 1, "startup.0", "F"), (15.0, 1, "startup.1", "S"), (16.0, 1, "readiness.0", "S"))


def test_accepts_a_startup_probe_before_all_others_at_each_start() -> None:
    answer = checked("startup-again", asked(*FIRST, *SECOND).ends(30))
    assert told(answer) == []
    assert answer.facts == {"restarts": 1}


def test_a_start_without_its_startup_probe_is_a_fail() -> None:
    history = asked(*FIRST).ends(30)
    line = history.line_of(Kind.CREATED, 1, channel=Channel.RUNTIME)
    assert told(checked("startup-again", history)) == [
        f'FAIL: the startup probe was not asked in instance 1 of "app" (history line {line}); it was due at every start.'
    ]


def test_a_life_that_was_too_short_for_a_question_is_inconclusive() -> None:
    history = asked(*FIRST, second_s=4.0).ends(30)
    line = history.line_of(Kind.CREATED, 1, channel=Channel.RUNTIME)
    assert told(checked("startup-again", history)) == [
        f'INCONCLUSIVE: the startup probe was not asked in instance 1 of "app" (history line {line}); '
        "it was due at every start. It had 4 s for that."
    ]


def test_a_start_whose_journal_is_lost_is_inconclusive() -> None:
    history = asked(*FIRST).gap(Channel.JOURNAL, 13.0, 29.0).ends(30)
    (finding,) = told(checked("startup-again", history))
    assert finding.startswith('INCONCLUSIVE: the startup probe was not asked in instance 1 of "app"')
    assert finding.endswith("Its journal may be lost.")


def test_a_life_that_had_just_begun_at_the_end_is_not_judged() -> None:
    history = History(PROBED).lives("app", (1.0, 11.0, 1), (13.0, 23.0, 1), (25.0, None, 0))
    for at_s, life, name, answer in (*FIRST, *SECOND):
        history.note(at_s, "app", life, name, answer)
    assert told(checked("startup-again", history.ends(26))) == []


def test_another_probe_before_the_success_of_the_startup_probe_is_a_fail() -> None:
    history = asked(*FIRST, SECOND[0], (14.5, 1, "readiness.0", "S"), SECOND[1]).ends(30)
    line = history.line_of(Kind.NOTED, 4)
    assert told(checked("startup-again", history)) == [
        f'FAIL: the readiness probe was asked in instance 1 of "app" (history line {line}) '
        "before its startup probe had succeeded."
    ]


def test_another_probe_without_a_success_of_the_startup_probe_is_a_fail() -> None:
    history = asked(*FIRST, SECOND[0], SECOND[2]).ends(30)
    (finding,) = told(checked("startup-again", history))
    assert finding.startswith('FAIL: the readiness probe was asked in instance 1 of "app"')
