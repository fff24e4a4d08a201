"""Jobs: which restarts and failed pods they count, when they replace a pod, and how they end."""

from collections.abc import Iterator

import msgspec

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.owner import Job
from crashloop.spec.plan import Comparison, compared
from crashloop.spec.pod import Action, Container, Pod, RestartPolicy, restart_in
from crashloop.spec.program import Program, exits_with, runs
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import NEVER, ON_FAILURE, QUICK_WATCH_S, app, at, init

QUIET_S = 2.0


def job(
    name: str,
    made: Job,
    *containers: Container,
    pod: RestartPolicy,
    restarts: int = 0,
    at_most_s: float = QUICK_WATCH_S,
    profile: str = "max-2s",
) -> PodScenario:
    """A Job whose pods restart "app" that often."""
    return PodScenario(
        name=name,
        profile=profile,
        pod=Pod(containers=containers, restart_policy=pod),
        owner=made,
        until=Until(restarts={"app": restarts} if restarts else {}, quiet_s=QUIET_S, at_most_s=at_most_s),
    )


def retriable(program: Program) -> Container:
    """A container that only a rule restarts, after exit code 42."""
    return app(program, policy=NEVER, rules=(restart_in(42),))


ON_THE_CURVE = job(
    "job-on-the-curve",
    Job(backoff_limit=20),
    app(runs(*[(1, 1)] * 6, (1, 0))),
    pod=ON_FAILURE,
    restarts=6,
)
COMPLETES = job(
    "job-completes-after-restarts",
    Job(backoff_limit=0),
    retriable(runs((1, 42), (1, 42), (1, 42), (1, 0))),
    pod=NEVER,
    restarts=3,
)
FAILS_AT_THE_END = job(
    "job-fails-when-the-pod-has-ended",
    Job(fails_on=(3, 42)),
    retriable(runs((1, 42), (1, 42), (1, 3))),
    pod=NEVER,
    restarts=2,
)
REPLACES = job(
    "job-restarts-and-replaces",
    Job(backoff_limit=1),
    retriable(runs((1, 42), (1, 42), (1, 3))),
    pod=NEVER,
    restarts=2,
)
FAILS_AT_ONCE = job("job-fails-at-once", Job(fails_on=(1, 2, 3)), app(runs((1, 1))), pod=NEVER)
RETRIES = job(
    "job-retries-up-to-its-limit",
    Job(backoff_limit=2, fails_on=(1, 2, 3)),
    app(runs((1, 4))),
    pod=NEVER,
    at_most_s=90.0,
)
LIMIT_OF_RESTARTS = job(
    "job-limits-restarts", Job(backoff_limit=3), app(exits_with(1, times=3)), pod=ON_FAILURE, restarts=3
)
LIMIT_OF_RULES = job(
    "job-limits-restarts-by-rule", Job(backoff_limit=3), retriable(exits_with(42, times=3)), pod=ON_FAILURE, restarts=3
)
SPACED = job(
    "job-spaces-its-pods", Job(backoff_limit=3), app(runs((0, 1))), pod=NEVER, at_most_s=150.0, profile="max-1s"
)
WORKERS = tuple(app(runs((60, 0), (8, 0)), name=f"worker-{number}") for number in range(1, 6))
ALL_AT_ONCE = job(
    "job-restarts-all-at-once",
    Job(),
    app(runs((4, 42), (8, 0)), policy=ON_FAILURE, rules=(restart_in(42, action=Action.RESTART_ALL_CONTAINERS),)),
    *WORKERS,
    pod=ON_FAILURE,
    restarts=1,
)

BY_NAME = job(
    "job-fails-on-one-of-its-containers",
    Job(backoff_limit=1, fails_on=(42,), fails_on_container="app"),
    app(runs((4, 0))),
    app(runs((2, 42)), name="helper"),
    pod=NEVER,
)
INIT_FAILS = job(
    "job-fails-in-its-initialisation",
    Job(backoff_limit=2, fails_on=(3,), fails_on_container="setup"),
    init(runs((1, 3))),
    app(runs((2, 0))),
    pod=NEVER,
)
LIMIT_OF_INIT = job(
    "job-limits-restarts-of-an-init-container",
    Job(backoff_limit=3),
    init(exits_with(1, times=3)),
    app(runs((2, 0))),
    pod=ON_FAILURE,
)

ON_ONE_PORT = PodScenario(
    name="job-replaces-over-a-kubelet-restart",
    profile="reduced-decay",
    pod=Pod(containers=(app(runs((10, 1))),), restart_policy=NEVER, host_port=18080),
    owner=Job(backoff_limit=1),
    until=Until(quiet_s=QUIET_S, at_most_s=QUICK_WATCH_S),
    interventions=(at(25, InterventionKind.RESTART_KUBELET),),
)


@requirement("RULES-35")
def test_what_has_ended_makes_room_for_what_replaces_it_also_when_the_kubelet_restarts() -> Scenario:
    """The node has one such port (kubernetes/kubernetes#105523)."""
    return ON_ONE_PORT


@requirement("JOB-9")
def test_a_rule_that_names_a_container_looks_at_that_one_alone() -> Iterator[Scenario]:
    yield BY_NAME
    yield INIT_FAILS


@requirement("JOB-10")
def test_init_containers_count_like_any_other() -> Iterator[Scenario]:
    yield INIT_FAILS
    yield LIMIT_OF_INIT


@requirement("JOB-1")
def test_restarts_by_rule_are_no_failures_of_the_pod() -> Scenario:
    return COMPLETES


@requirement("JOB-2")
def test_the_failure_policy_looks_at_pods_that_have_ended() -> Scenario:
    return FAILS_AT_THE_END


@requirement("JOB-3")
def test_one_code_restarts_in_place_and_another_replaces_the_pod() -> Scenario:
    return REPLACES


@requirement("STORY-7")
def test_a_retriable_code_restarts_and_any_other_replaces() -> Scenario:
    return REPLACES


@requirement("STORY-9")
def test_a_code_of_broken_hardware_ends_the_pod() -> Scenario:
    return REPLACES


@requirement("JOB-5")
def test_the_limit_counts_failed_pods_or_restarts() -> Iterator[Scenario]:
    yield RETRIES
    yield LIMIT_OF_RESTARTS


@requirement("JOB-6")
def test_some_codes_fail_the_job_and_others_are_retried() -> Iterator[Scenario]:
    yield FAILS_AT_ONCE
    yield RETRIES


@requirement("JOB-7")
def test_the_maximum_of_the_node_does_not_space_pods() -> Scenario:
    return SPACED


@requirement("X-6")
def test_one_restart_of_all_containers_leaves_the_limit_alone() -> Scenario:
    return ALL_AT_ONCE


@requirement("JOB-8")
def test_containers_of_a_job_follow_the_curve() -> Scenario:
    return ON_THE_CURVE


@requirement("RULES-23")
def test_restarts_by_rule_count_in_the_limit() -> Scenario:
    return LIMIT_OF_RULES


@requirement("STORY-8")
def test_all_pods_of_a_job_go_on_in_place() -> Scenario:
    """The journal in the pod's volume is the checkpoint: a pod that loses it repeats its first step, and the Job never ends."""
    steps = retriable(runs((1, 42), (1, 42), (1, 0)))
    return job("job-of-eight", Job(parallelism=8, backoff_limit=0), steps, pod=NEVER, restarts=16)


@requirement("STORY-4")
def test_a_group_waits_less_for_the_pod_that_failed() -> Comparison:
    """The barrier is the end of the Job: it is complete when the last of its pods has succeeded."""
    program = msgspec.structs.replace(runs(*[(1, 42)] * 4, (1, 0)), first_pod_only=True)
    stock, low = (
        job(
            f"group-of-five-{profile}",
            Job(parallelism=5, backoff_limit=0),
            retriable(program),
            pod=NEVER,
            at_most_s=150.0,
            profile=profile,
        )
        for profile in ("stock", "max-2s")
    )
    return compared("group-on-two-curves", stock, low)
