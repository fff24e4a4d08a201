"""The starts that a run has to expect of a Deployment whose pods end."""

from crashloop.model.course import Course
from crashloop.model.job_course import replaced_course_of
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.owner import Deployment
from crashloop.spec.pod import Container, Pod, RestartPolicy
from crashloop.spec.program import HOLDS, Program, exits_with
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.cases import MAX_2S
from suites.selftest.kit.sim_kit import V1_37


def course(program: Program) -> Course:
    scenario = PodScenario(
        name="s",
        profile="max-2s",
        control_plane=ControlPlane(),
        pod=Pod(containers=(Container(program=program, restart_policy=RestartPolicy.NEVER),)),
        until=Until(at_least_s=8.0, at_most_s=10.0),
        owner=Deployment(),
    )
    return replaced_course_of(scenario, MAX_2S, V1_37)


def test_a_sandbox_and_a_container_start_for_each_pod() -> None:
    expected = course(exits_with(1))
    assert expected.starts_s == (0, 0, 2.5, 2.5, 5, 5, 7.5, 7.5, 10, 10)
    assert (expected.soonest_s, expected.latest_s) == (8.0, 10.0)


def test_a_pod_that_runs_on_starts_once() -> None:
    assert course(HOLDS).starts_s == (0, 0)
