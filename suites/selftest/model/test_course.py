"""How long a scenario takes until its evidence is complete, and when it starts processes."""

import math

import msgspec
import pytest

from crashloop.model.course import Course, course_of
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, ContainerKind, Handler, Probe, ProbeKind
from crashloop.spec.profile import MAX_PERIOD_GATE
from crashloop.spec.program import HOLDS, KILLED, exits_with, runs
from crashloop.spec.scenario import Mode, Until
from crashloop.spec.version import KubernetesVersion
from suites.selftest.kit.model_inputs import V1_34, V1_37, profile, scenario


def duration_s(course: Course) -> tuple[float, float]:
    return course.soonest_s, course.latest_s


@pytest.mark.parametrize(
    ("until", "mode", "version", "expected"),
    [
        (Until(restarts={"app": 3}), Mode.NATURAL, V1_37, (33, 64.3)),
        (Until(restarts={"app": 3}), Mode.ANNOTATED, V1_37, (33, 52.5)),
        (Until(restarts={"app": 3}), Mode.NATURAL, V1_34, (33, 79.3)),
        (Until(exits={"app": 1}), Mode.NATURAL, V1_37, (1, 4)),
        (Until(at_least_s=30), Mode.NATURAL, V1_37, (30, 30)),
        (Until(restarts={"app": 9}), Mode.NATURAL, V1_37, (90, 90)),
        (Until(phase="Running"), Mode.NATURAL, V1_37, (33, 64.3)),
        (Until(phase="Failed"), Mode.NATURAL, V1_37, (90, 90)),
    ],
    ids=["restarts", "annotated", "polled", "exits", "at-least", "never-reached", "phase", "other-phase"],
)
def test_the_expected_duration_spans_the_fastest_and_the_slowest_right_kubelet(
    until: Until, mode: Mode, version: KubernetesVersion, expected: tuple[float, float]
) -> None:
    tried = scenario(Container(program=exits_with(1, times=3)), until=until, mode=mode)
    assert duration_s(course_of(tried, profile(), version)) == expected


def test_a_scenario_usually_ends_nearer_to_the_fastest_kubelet_than_to_the_slowest() -> None:
    tried = scenario(Container(program=exits_with(1, times=3)), until=Until(restarts={"app": 3}))
    course = course_of(tried, profile(), V1_37)
    assert course.usual_s == 33 + (64.3 - 33) / 4


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (Trigger(after_s=14), (14, 14)),
        (Trigger(after_restart=0, after_s=20), (21, 24)),
        (Trigger(after_restart=7, after_s=20), (1, 4)),
        (Trigger(after_s=500), (90, 90)),
    ],
    ids=["from the creation", "from an exit", "from an exit that does not come", "after the watch"],
)
def test_a_scenario_lasts_until_its_last_intervention(trigger: Trigger, expected: tuple[float, float]) -> None:
    killed = Intervention(trigger=trigger, action=InterventionKind.KILL_SANDBOX)
    tried = scenario(Container(program=exits_with(1, times=3)), until=Until(exits={"app": 1}))
    tried = msgspec.structs.replace(tried, interventions=(killed,))
    assert duration_s(course_of(tried, profile(), V1_37)) == expected


def test_small_delays_last_as_long_as_the_poll_up_to_1_34() -> None:
    tried = scenario(Container(program=exits_with(1, times=3)), until=Until(restarts={"app": 3}))
    node = profile("1s", **{MAX_PERIOD_GATE: True})
    assert duration_s(course_of(tried, node, V1_34)) == (23, 51.3)
    assert duration_s(course_of(tried, node, V1_37)) == pytest.approx((5, 22.3))


def test_sandbox_and_restarts_are_starts() -> None:
    tried = scenario(Container(program=exits_with(1, times=3)), until=Until(restarts={"app": 2}))
    assert course_of(tried, profile(), V1_37).starts_s == (0, 0, 1, 12)


def test_an_init_container_delays_the_starts_after_it() -> None:
    first = Container(name="first", kind=ContainerKind.INIT, program=runs((4, 0)))
    tried = scenario(first, Container(program=HOLDS), until=Until(at_least_s=20))
    assert course_of(tried, profile(), V1_37).starts_s == (0, 0, 4)


def test_probes_by_a_command_and_by_a_request_are_expected_apart() -> None:
    executed, requested = Probe(period_s=3), Probe(kind=ProbeKind.READINESS, handler=Handler.HTTP, period_s=4)
    tried = scenario(Container(program=HOLDS, probes=(executed, requested)), until=Until(at_least_s=10))
    expected = course_of(tried, profile(), V1_37)
    assert (expected.starts_s, expected.probes_s) == ((0, 0, 9), (3, 6)), "the third failure restarts the container"
    assert expected.requests_s == (4, 8)


def test_a_startup_probe_ends_with_its_success_and_the_others_wait_for_it() -> None:
    starting = Probe(kind=ProbeKind.STARTUP, pattern="FFFS", failure_threshold=4)
    ready = Probe(kind=ProbeKind.READINESS, period_s=2, fails_after_s=90)
    tried = scenario(Container(program=HOLDS, probes=(starting, ready)), until=Until(at_least_s=10))
    asked_s = course_of(tried, profile(), V1_37).probes_s
    assert [round(each) for each in asked_s] == [1, 2, 3, 4, 6, 8]
    late = Probe(kind=ProbeKind.STARTUP, pattern="S", failure_threshold=1, answers_after_s=2)
    endless = scenario(Container(program=HOLDS, probes=(late,)), until=Until(at_least_s=4))
    assert len(course_of(endless, profile(), V1_37).starts_s) > 2, "it counts as failed, and restarts the container"


def test_a_killed_container_ends_after_its_hook_or_its_grace_period_and_is_not_asked_meanwhile() -> None:
    failing, restarted = Probe(grace_s=6), Until(restarts={"app": 1})
    heeding = Container(program=HOLDS, probes=(failing,), pre_stop_s=2)
    assert course_of(scenario(heeding, until=restarted), profile(), V1_37).soonest_s == 3 + 2
    stubborn = msgspec.structs.replace(heeding, exit_code_on_term=KILLED)
    expected = course_of(scenario(stubborn, until=restarted), profile(), V1_37)
    assert (expected.soonest_s, expected.probes_s[:4]) == (3 + 6, (1, 2, 3, 3 + 6 + 1))
    slow = msgspec.structs.replace(stubborn, pre_stop_s=9)
    assert course_of(scenario(slow, until=restarted), profile(), V1_37).soonest_s == 3 + 6 + 2, (
        "it has 2 s after a hook"
    )


def test_what_would_come_after_the_watch_is_left_out() -> None:
    tried = scenario(Container(program=exits_with(1, times=9)), until=Until(at_most_s=30))
    assert max(course_of(tried, profile(), V1_37).starts_s) < 30


@pytest.mark.parametrize(
    ("probe", "first_s", "later_s"),
    [
        (Probe(period_s=2, failure_threshold=3), 4, 0),
        (Probe(pattern="SFFSFFF", failure_threshold=3), 6, 1),
        (Probe(fails_after_s=8, initial_delay_s=4, period_s=3, failure_threshold=2), 13, 10),
        (Probe(fails_after_s=1e6), math.inf, math.inf),
        (Probe(pattern="SSSS", answers_after_s=1.5, failure_threshold=4), 3, 0),
    ],
    ids=["at-once", "pattern", "later", "never", "too-late"],
)
def test_a_probe_needs_its_failures_in_a_row_and_in_later_lives_earlier_ones_may_count(
    probe: Probe, first_s: float, later_s: float
) -> None:
    assert (probe.kills_after_s(), probe.kills_after_s(first=False)) == (first_s, later_s)
