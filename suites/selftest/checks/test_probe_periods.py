"""A probe is asked once in each of its periods, from the first one of a life on."""

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Probe, ProbeKind
from crashloop.verdict import Outcome
from sim.host import HOSTS, SLOW_HOSTS, HostModel
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.histories import History
from tools.trials import recordings_of, verdict_of

LIVENESS = Probe(pattern="FFFFFF", failure_threshold=6)
STARTUP = Probe(kind=ProbeKind.STARTUP, pattern="FFS")
READINESS = Probe(kind=ProbeKind.READINESS)
PROBE_41 = [each for each in trials() if each.requirement.id == "PROBE-41"]


def asked(*at_s: float, probe: Probe = LIVENESS, before: tuple[Probe, ...] = (), ends_s: float = 30) -> History:
    """A life from 1 s on whose probe is asked at these times; a startup probe before it has succeeded at 4 s."""
    history = History(scenario(app(probes=(*before, probe)))).lives("app", (1.0, None, 0))
    for number, answer in enumerate("FFS" if before else ""):
        history.note(2.0 + number, "app", 0, f"startup.{number}", answer)
    for number, each_s in enumerate(at_s):
        history.note(each_s, "app", 0, f"{probe.kind}.{number}", probe.answer(number, each_s))
    return history.ends(ends_s)


def lines_of(history: History, *notes: int) -> list[int]:
    return [history.line_of(Kind.NOTED, each) for each in notes]


@pytest.mark.parametrize("probe", [LIVENESS, READINESS, STARTUP], ids=lambda each: each.kind)
def test_accepts_a_probe_that_is_asked_once_a_period(probe: Probe) -> None:
    assert told(checked("probe-period", asked(2.0, 3.0, 4.0, 5.0, 6.0, probe=probe))) == []


@pytest.mark.parametrize("probe", [LIVENESS, READINESS], ids=lambda each: each.kind)
def test_a_probe_that_is_asked_half_as_often_as_it_says_is_a_fail(probe: Probe) -> None:
    history = asked(2.0, 4.0, 6.0, 8.0, 10.0, probe=probe)
    first, last = lines_of(history, 0, 4)
    assert told(checked("probe-period", history)) == [
        f'FAIL: the {probe.kind} probe of "app" was asked every 2 s at most (history lines {first} and {last}); '
        "every 1 s was due."
    ]


def test_a_probe_that_is_asked_seldom_in_each_of_several_lives_is_a_fail() -> None:
    """Two questions that follow others in each life are too few by themselves."""
    history = History(scenario(app(probes=(Probe(pattern="FFF"),))))
    history.lives("app", (1.0, 9.2, 143), (10.0, 18.2, 143), (20.0, None, 0))
    for life, begun_s in enumerate((1.0, 10.0)):
        for number in range(3):
            history.note(begun_s + 1 + 3 * number, "app", life, f"liveness.{number}", "F")
    history.note(21.0, "app", 2, "liveness.0", "F")
    (finding,) = told(checked("probe-period", history.ends(22)))
    assert finding.startswith('FAIL: the liveness probe of "app" was asked every 3 s at most')


def test_a_probe_that_is_asked_in_its_period_once_is_not_asked_seldom() -> None:
    assert told(checked("probe-period", asked(2.0, 4.0, 6.0, 8.0, 10.0, 11.0))) == []


def test_a_probe_whose_answers_take_as_long_as_its_program_took_to_start_is_open() -> None:
    """The container was created at 0.9 s, and its program began at 2.41 s."""
    history = History(scenario(app(probes=(LIVENESS,)))).lives("app", (1.0, 14.3, 143), journal=False)
    history.lives("app", (2.4, 14.3, 143), runtime=False, status=False)
    for number in range(6):
        history.note(3.0 + number * 1.9, "app", 0, f"liveness.{number}", "F")
    (sentence,) = told(checked("probe-period", history.ends(30)))
    assert sentence.startswith('INCONCLUSIVE: the liveness probe of "app" was asked every 1.9 s at most ')
    assert sentence.endswith("Its program took 1.51 s to start, and an answer may take as long.")


def test_a_probe_that_is_asked_seldom_by_a_kubelet_that_waits_for_a_cpu_is_open() -> None:
    history = History(scenario(app(probes=(LIVENESS,)))).lives("app", (1.0, 12.3, 143))
    history.waited_us = history.kubelet_us = 600_000
    for number in range(6):
        history.note(2.0 + number * 2.0, "app", 0, f"liveness.{number}", "F")
    for at_s in range(30):
        history.control(at_s)
    assert checked("probe-period", history.ends(30)).outcome is Outcome.INCONCLUSIVE


def test_a_probe_that_is_never_asked_is_a_fail() -> None:
    history = asked()
    begun = history.line_of(Kind.CREATED, channel=Channel.RUNTIME)
    (finding,) = told(checked("probe-period", history))
    assert finding.startswith(
        f'FAIL: the liveness probe of instance 0 of "app" was not asked once within 28.99 s (history line {begun}); '
    )


def test_a_first_question_that_comes_late_is_a_fail() -> None:
    history = asked(6.0, 7.0, 8.0, 9.0, 10.0)
    begun, (first,) = history.line_of(Kind.CREATED, channel=Channel.RUNTIME), lines_of(history, 0)
    (finding,) = told(checked("probe-period", history))
    assert finding.startswith(
        f'FAIL: the liveness probe of instance 0 of "app" was first asked after 4.99 s (history lines {begun} and {first}); '
    )


def test_a_first_question_that_is_as_late_as_later_ones_is_the_work_of_a_slow_node() -> None:
    """Its commands take as long as that to start, sometimes."""
    assert told(checked("probe-period", asked(6.0, 9.5, 10.0, 11.0, 12.0))) == []


def test_a_first_question_waits_for_the_initial_delay() -> None:
    delayed = Probe(pattern="FFFFFF", failure_threshold=6, initial_delay_s=5)
    assert told(checked("probe-period", asked(7.0, 8.0, 9.0, 10.0, 11.0, probe=delayed))) == []


def test_a_container_that_is_to_be_killed_is_asked_nothing_more() -> None:
    """Its kubelet may be held up between the failure and the kill."""
    fragile = Probe(pattern="F", failure_threshold=1)
    history = History(scenario(app(probes=(fragile, READINESS)))).lives("app", (1.0, 25.0, 143))
    assert told(checked("probe-period", history.note(2.0, "app", 0, "liveness.0", "F").ends(30))) == []


def test_what_stands_behind_a_startup_probe_waits_for_its_success() -> None:
    assert told(checked("probe-period", asked(7.0, 8.0, 9.0, 10.0, 11.0, before=(STARTUP,)))) == []
    (finding,) = told(checked("probe-period", asked(before=(STARTUP,))))
    assert finding.startswith('FAIL: the liveness probe of instance 0 of "app" was not asked once within 26 s')


def over_a_restart(probe: Probe, *at_s: float, before: tuple[Probe, ...] = (), stalled_s: float = 0.0) -> History:
    """A life from 1 s on whose kubelet is away from 10 s to 12 s, and when its probe is asked after that.

    `stalled_s`: for how long the host stands still from 12.5 s on.
    """
    restart = Intervention(trigger=Trigger(after_s=10), action=InterventionKind.RESTART_KUBELET)
    told_of = msgspec.structs.replace(scenario(app(probes=(*before, probe))), interventions=(restart,))
    history = History(told_of).lives("app", (1.0, None, 0)).node(2.0)
    for number in range(4):
        history.note(5.0 + number, "app", 0, f"{(before or (probe,))[0].kind}.{number}", "F" if before else "S")
    for number, each_s in enumerate(at_s):
        history.note(each_s, "app", 0, f"{probe.kind}.{4 + number}", "S")
    history.intervention(10.0, "restart-kubelet", down_s=2).node(12.5, started_s=12.0)
    return (history.stall(12.5, stalled_s) if stalled_s else history).ends(40)


@pytest.mark.parametrize("probe", [Probe(), READINESS], ids=lambda each: each.kind)
def test_a_kubelet_that_has_restarted_goes_on_with_the_probes_of_what_runs(probe: Probe) -> None:
    assert told(checked("probe-period", over_a_restart(probe, 15.0))) == []
    history = over_a_restart(probe)
    lines = history.line_of(Kind.CREATED, channel=Channel.RUNTIME), history.line_of(Kind.INTERVENTION)
    assert told(checked("probe-period", history)) == [
        f'FAIL: the {probe.kind} probe of instance 0 of "app" was not asked again within 28 s after the start of its kubelet '
        f"(history lines {lines[0]} and {lines[1]}); 10.11 s is the longest."
    ]


@pytest.mark.parametrize(("stalled_s", "says"), [(9.0, "INCONCLUSIVE"), (2.0, "FAIL")])
def test_a_stall_as_the_kubelet_starts_makes_its_first_question_late(stalled_s: float, says: str) -> None:
    history = over_a_restart(READINESS, 25.0, stalled_s=stalled_s)
    (finding,) = told(checked("probe-period", history))
    assert finding.startswith(
        f'{says}: the readiness probe of instance 0 of "app" was not asked again until 13 s after '
    )


def test_a_kubelet_that_has_restarted_asks_nothing_behind_a_startup_probe_that_has_not_succeeded() -> None:
    patient = Probe(kind=ProbeKind.STARTUP, pattern=60 * "F", failure_threshold=60)
    (finding,) = told(checked("probe-period", over_a_restart(READINESS, before=(patient,))))
    assert finding.startswith('FAIL: the startup probe of instance 0 of "app" was not asked again ')


@pytest.mark.parametrize("host", [*HOSTS, *SLOW_HOSTS], ids=lambda host: host.name)
def test_no_host_makes_a_right_kubelet_ask_too_seldom(host: HostModel) -> None:
    for each in PROBE_41:
        found = verdict_of(each.requirement, each.scenario, *recordings_of(each.scenario, host=host))
        assert found.outcome is not Outcome.FAIL, found.findings
