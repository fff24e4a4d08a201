"""A startup probe is asked at every start, and the other probes wait for its success."""

import pytest

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


SLOW = scenario(app(probes=(PROBES[0], Probe(kind=ProbeKind.READINESS, pattern="SSS", period_s=30))))


def begun(readiness_s: float | None, *, started_s: float = 35.0) -> History:
    """The kubelet has met its pod at about 1 s."""
    history = History(SLOW).lives("app", (1.0, None, 0)).note(started_s, "app", 0, "startup.1", "S")
    return (history if readiness_s is None else history.note(readiness_s, "app", 0, "readiness.0", "S")).ends(90)


def test_a_readiness_probe_that_follows_the_startup_probe_is_right() -> None:
    answer = checked("readiness-after-start", begun(35.8))
    assert told(answer) == []
    assert answer.facts == {"starts": 1}


@pytest.mark.parametrize(("readiness_s", "late"), [(63.0, "28 s"), (None, "55 s")])
def test_a_readiness_probe_that_waits_for_its_period_is_a_fail(readiness_s: float | None, late: str) -> None:
    history = begun(readiness_s)
    first = history.line_of(Kind.NOTED)
    lines = f"line {first}" if readiness_s is None else f"lines {first} and {history.line_of(Kind.NOTED, 1)}"
    assert told(checked("readiness-after-start", history)) == [
        f'FAIL: the readiness probe of instance 0 of "app" was not asked for {late} after its startup probe had succeeded '
        f"(history {lines}); 5 s is the longest."
    ]


def test_a_kubelet_that_has_just_met_the_pod_may_wait_for_a_part_of_the_period() -> None:
    assert (
        "INCONCLUSIVE: 0 starts with a readiness probe"
        in told(checked("readiness-after-start", begun(25.0, started_s=3)))[0]
    )


def test_a_kubelet_that_is_behind_with_the_startup_probe_may_be_as_late_with_the_readiness_probe() -> None:
    """The startup probe, due every second, was asked 8 s apart."""
    history = History(SLOW).lives("app", (1.0, None, 0))
    history.note(35.0, "app", 0, "startup.0", "F").note(43.0, "app", 0, "startup.1", "S")
    assert told(checked("readiness-after-start", history.note(54.0, "app", 0, "readiness.0", "S").ends(90))) == []


def test_a_readiness_probe_that_is_asked_more_often_than_its_period_says_is_a_fail() -> None:
    history = begun(35.8)
    for number in range(1, 10):
        history.note(35.8 + number, "app", 0, f"readiness.{number}", "S")
    first, last = history.line_of(Kind.NOTED, 1), history.line_of(Kind.NOTED, 10)
    assert told(checked("readiness-after-start", history)) == [
        'FAIL: the readiness probe of instance 0 of "app" was asked 9 times within 9 s in which it was ready '
        f"(history lines {first} and {last}); once every 30 s was due."
    ]


def test_a_container_that_is_not_ready_is_asked_with_each_status_as_well() -> None:
    """pkg/kubelet/prober/prober_manager.go@v1.37.1 UpdatePodStatus."""
    history = begun(35.8)
    for number in range(1, 10):
        history.note(35.8 + number, "app", 0, f"readiness.{number}", "F")
    assert told(checked("readiness-after-start", history.note(45.9, "app", 0, "readiness.10", "S"))) == []


ENDING = scenario(app(probes=(Probe(pattern="SSS"), PROBES[1])))


def deleted(*answers: tuple[float, str]) -> History:
    """A pod that is deleted at 10 s and runs until 19 s, its journals read at 17 s."""
    history = History(ENDING).lives("app", (1.0, 19.0, 137)).intervention(10, "delete-pod", read_after_s=7.0)
    for number, (at_s, probe) in enumerate(answers):
        history.note(at_s, "app", 0, f"{probe}.{number}", "S")
    return history.ends(30)


READY = ((9.0, "readiness"), (13.0, "readiness"), (14.0, "readiness"))
ALIVE = ((9.0, "liveness"), (11.0, "liveness"))


def test_a_pod_that_ends_has_its_readiness_probes_asked_and_no_others() -> None:
    answer = checked("probes-at-end", deleted(*READY, *ALIVE))
    assert told(answer) == []
    assert answer.facts == {"asked": 2, "silent": 1}


def test_a_readiness_probe_that_ends_with_its_pod_is_a_fail() -> None:
    history = deleted(*READY[:1], *ALIVE)
    assert told(checked("probes-at-end", history)) == [
        'FAIL: the readiness probe of instance 0 of "app" was not asked again once its pod was being deleted '
        f"(history line {history.line_of(Kind.INTERVENTION)}); it ran on."
    ]


@pytest.mark.parametrize("until_s", [14, 16])
def test_a_liveness_probe_that_goes_on_while_its_pod_ends_is_a_fail(until_s: int) -> None:
    history = deleted(*READY, *ALIVE, *((float(at_s), "liveness") for at_s in range(12, until_s + 1)))
    lines = history.line_of(Kind.INTERVENTION), history.line_of(Kind.NOTED, until_s - 7)
    assert told(checked("probes-at-end", history)) == [
        f'FAIL: the liveness probe of instance 0 of "app" was asked {until_s - 10} s after the deletion of its pod '
        f"(history lines {lines[0]} and {lines[1]}); it was to end with that."
    ]


def test_a_question_that_took_longer_than_its_period_may_be_followed_by_others_that_waited() -> None:
    (told_,) = told(checked("probes-at-end", deleted(*READY, *ALIVE, (14.6, "liveness"), (15.2, "liveness"))))
    assert told_.startswith("INCONCLUSIVE: the liveness probe")
    assert told_.endswith("Its questions took longer than its period, so that some of them may have waited.")


def test_journals_that_were_read_before_the_deletion_show_nothing_of_it() -> None:
    history = History(ENDING).lives("app", (1.0, 19.0, 137)).intervention(10, "delete-pod").ends(30)
    assert (
        "INCONCLUSIVE: 0 questions of a readiness probe while its pod ended seen"
        in told(checked("probes-at-end", history))[0]
    )
