"""A Job that Kubernetes would refuse, or that could flood a cluster, is no scenario."""

import pytest

from crashloop.spec.job import Job
from crashloop.spec.pod import Container, Pod
from crashloop.spec.policy import RestartPolicy
from crashloop.spec.program import Life, Program
from crashloop.spec.scenario import Mode, PodScenario, Until

NEVER, ON_FAILURE, ALWAYS = RestartPolicy.NEVER, RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS


@pytest.mark.parametrize(
    ("job", "policy", "mode", "fault"),
    [
        (Job(), ALWAYS, Mode.NATURAL, "a Job takes no pod with restart policy Always"),
        (
            Job(fails_on=(1,)),
            ON_FAILURE,
            Mode.NATURAL,
            "a Job with podFailurePolicy takes no pod with restart policy OnFailure",
        ),
        (Job(backoff_limit=8), NEVER, Mode.NATURAL, "backoff_limit 8 lets the Job make more than 8 pods"),
        (Job(parallelism=9), NEVER, Mode.NATURAL, "parallelism 9 is none of 1 to 8"),
        (
            Job(parallelism=2),
            NEVER,
            Mode.NATURAL,
            "a Job of several pods at a time takes policy Never and a backoff_limit of 0",
        ),
        (Job(), NEVER, Mode.ANNOTATED, "the recorder changes no pod of a Job"),
    ],
)
def test_it_is_refused(job: Job, policy: RestartPolicy, mode: Mode, fault: str) -> None:
    pod = Pod(containers=(Container(),), restart_policy=policy)
    with pytest.raises(ValueError, match=f"scenario 's': {fault}"):
        PodScenario(name="s", profile="stock", pod=pod, until=Until(), mode=mode, owner=job)


@pytest.mark.parametrize("owner", [None, Job()], ids=["no-job", "one-pod"])
def test_a_program_of_the_first_pod_only_needs_a_job_of_several(owner: Job | None) -> None:
    program = Program((Life(exit_code=42), Life(exit_code=0)), first_pod_only=True)
    pod = Pod(containers=(Container(program=program),), restart_policy=NEVER)
    with pytest.raises(ValueError, match="scenario 's': a program of the first pod only needs a Job of several pods"):
        PodScenario(name="s", profile="stock", pod=pod, until=Until(), owner=owner)
