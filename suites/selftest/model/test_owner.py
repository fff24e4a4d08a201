"""How a Job ends, what a ReplicaSet replaces, and how long a scenario with either takes."""

import pytest

from crashloop.model.course import Course
from crashloop.model.owner import (
    JobEnd,
    JobPod,
    counted_restarts,
    job_course_of,
    job_end,
    replaced_course_of,
    replacement_s,
)
from crashloop.model.variants import RESTART_ALL_COUNTS_EACH
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.owner import Deployment, Job
from crashloop.spec.pod import Action, Container, Pod, RestartPolicy, restart_in
from crashloop.spec.program import HOLDS, Program, exits_with, runs
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.cases import MAX_2S
from suites.selftest.kit.sim_kit import V1_37

NEVER, ON_FAILURE = RestartPolicy.NEVER, RestartPolicy.ON_FAILURE
PAST_LIMIT = "Failed (BackoffLimitExceeded)"


def failed(*exit_codes: int, restarts: int = 0) -> JobPod:
    return JobPod(phase="Failed", exit_codes=exit_codes or (1,), restarts=restarts)


def running(*exit_codes: int, restarts: int = 0) -> JobPod:
    return JobPod(phase="Running", exit_codes=exit_codes, restarts=restarts)


def test_a_pod_that_succeeds_completes_the_job_whatever_failed_before() -> None:
    end = job_end(Job(), NEVER, (failed(), JobPod(phase="Succeeded", restarts=9)))
    assert end == JobEnd(end="Complete", failed=1, succeeded=1, pods=2)


def test_one_failed_pod_more_than_the_limit_fails_the_job() -> None:
    assert job_end(Job(backoff_limit=1), NEVER, (failed(),)) is None
    assert job_end(Job(backoff_limit=1), NEVER, (failed(), failed())) == JobEnd(end=PAST_LIMIT, failed=2, pods=2)


def test_restarts_count_under_on_failure_only() -> None:
    assert job_end(Job(backoff_limit=3), NEVER, (running(restarts=9),)) is None
    assert job_end(Job(backoff_limit=3), ON_FAILURE, (running(restarts=2),)) is None
    due = JobEnd(end=PAST_LIMIT, failed=1, pods=1)
    assert job_end(Job(backoff_limit=3), ON_FAILURE, (running(restarts=3),)) == due


def test_one_restart_of_all_containers_counts_once() -> None:
    rules = (restart_in(42, action=Action.RESTART_ALL_CONTAINERS),)
    restarts_all = Pod(containers=(Container(rules=rules), Container(name="other")), restart_policy=ON_FAILURE)
    alone = Pod(containers=(Container(), Container(name="other")), restart_policy=ON_FAILURE)
    counts = {"app": 2, "other": 1}
    assert counted_restarts(restarts_all, counts) == 2
    assert counted_restarts(alone, counts) == 3
    assert counted_restarts(restarts_all, counts, frozenset({RESTART_ALL_COUNTS_EACH})) == 3


def test_a_limit_of_0_allows_no_restart() -> None:
    assert job_end(Job(backoff_limit=0), ON_FAILURE, (running(),)) is None
    assert job_end(Job(backoff_limit=0), ON_FAILURE, (running(restarts=1),)) == JobEnd(end=PAST_LIMIT, failed=1, pods=1)


def test_the_failure_policy_looks_at_failed_pods_only() -> None:
    job = Job(fails_on=(3, 42))
    assert job_end(job, NEVER, (running(42, restarts=1),)) is None
    assert job_end(job, NEVER, (failed(4),)) is None
    assert job_end(job, NEVER, (failed(3),)) == JobEnd(end="Failed (PodFailurePolicy)", failed=1, pods=1)


@pytest.mark.parametrize(("failures", "wait_s"), [(1, 10.0), (2, 20.0), (3, 40.0), (9, 600.0)])
def test_the_wait_for_the_next_pod_doubles_up_to_ten_minutes(failures: int, wait_s: float) -> None:
    assert replacement_s(failures) == wait_s


def job_course(job: Job, *containers: Container, policy: RestartPolicy) -> Course:
    pod = Pod(containers=containers, restart_policy=policy)
    scenario = PodScenario(name="s", profile=MAX_2S.name, pod=pod, until=Until(quiet_s=2), owner=job)
    return job_course_of(scenario, MAX_2S, V1_37)


def test_every_pod_of_a_job_starts_its_sandbox_and_its_container() -> None:
    found = job_course(Job(backoff_limit=2), Container(program=runs((1, 1))), policy=NEVER)
    assert found.starts_s == (0.0, 0.0, 11.0, 11.0, 32.0, 32.0)
    assert found.soonest_s == 35.0


def test_a_job_that_the_failure_policy_fails_makes_one_pod() -> None:
    assert job_course(Job(fails_on=(1,)), Container(program=runs((1, 1))), policy=NEVER).starts_s == (0.0, 0.0)


def test_a_failure_policy_that_names_a_container_leaves_the_exits_of_others_to_the_limit() -> None:
    named, helper = Container(program=runs((4, 0))), Container(name="helper", program=runs((2, 42)))
    policy = Job(backoff_limit=1, fails_on=(42,), fails_on_container="app")
    assert job_course(policy, named, helper, policy=NEVER).soonest_s == 4 + 10 + 4 + 2


def test_a_job_that_counts_restarts_makes_one_pod() -> None:
    found = job_course(Job(backoff_limit=3), Container(program=exits_with(1, times=3)), policy=ON_FAILURE)
    assert len(found.starts_s) == 5


TWO_AT_ONCE = Job(parallelism=2, backoff_limit=0)


def test_pods_at_once_are_all_to_succeed() -> None:
    done = JobPod(phase="Succeeded")
    assert job_end(TWO_AT_ONCE, NEVER, (done, running(restarts=2))) is None
    assert job_end(TWO_AT_ONCE, NEVER, (done, done)) == JobEnd(end="Complete", failed=0, succeeded=2, pods=2)


def test_a_pod_that_fails_takes_those_beside_it_along() -> None:
    assert job_end(TWO_AT_ONCE, NEVER, (running(), failed())) == JobEnd(end=PAST_LIMIT, failed=2, pods=2)
    done = JobPod(phase="Succeeded")
    assert job_end(TWO_AT_ONCE, NEVER, (failed(), done)) == JobEnd(end=PAST_LIMIT, failed=1, succeeded=1, pods=2)


def deployment_course(program: Program) -> Course:
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
    expected = deployment_course(exits_with(1))
    assert expected.starts_s == (0, 0, 2.5, 2.5, 5, 5, 7.5, 7.5)
    assert (expected.soonest_s, expected.latest_s) == (8.0, 10.0)


def test_a_pod_that_runs_on_starts_once() -> None:
    assert deployment_course(HOLDS).starts_s == (0, 0)
