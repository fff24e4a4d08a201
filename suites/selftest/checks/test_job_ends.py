"""A Job ends as the statuses of its pods, its limits and its podFailurePolicy say."""

from crashloop.history.event import Channel, Kind
from crashloop.spec.owner import Job
from crashloop.spec.pod import Container, Pod, RestartPolicy, restart_in
from crashloop.spec.program import runs
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.cases import app, checked, told
from suites.selftest.kit.histories import History, stamp

OTHER_UID = "0d5f3d3e-aaaa-4bbb-8ccc-000000000002"
NEVER, ON_FAILURE = RestartPolicy.NEVER, RestartPolicy.ON_FAILURE


def scenario(job: Job, *codes: int, policy: RestartPolicy = NEVER, restarts: int = 0) -> PodScenario:
    """A Job whose pods exit with these codes and restart after 42."""
    container: Container = app(
        runs(*((1, code) for code in codes)), restart_policy=RestartPolicy.NEVER, rules=(restart_in(42),)
    )
    pod = Pod(containers=(container,), restart_policy=policy)
    return PodScenario(name="made-up", profile="max-2s", pod=pod, until=Until(restarts={"app": restarts}), owner=job)


ONE_RETRY = scenario(Job(backoff_limit=1), 3)


def says(history: History, at_s: float, end: str | None = None, reason: str = "", **counts: int) -> History:
    """The Job's status."""
    conditions = [{"type": end, "status": "True", "reason": reason}] if end else []
    return history.add(at_s, Channel.API, Kind.JOB, {"status": {**counts, "conditions": conditions}})


def fails(history: History, at_s: float, code: int = 3) -> History:
    """A pod that starts, runs for a second and fails."""
    history.lives("app", (at_s, at_s + 1, code), status=False)
    history.status(at_s + 0.3, {"app": history.running("app", 0, at_s)})
    return history.status(at_s + 1.3, {"app": history.exited("app", 0, at_s, at_s + 1, code)}, phase="Failed")


def two_pods() -> History:
    return fails(fails(History(ONE_RETRY), 1.0).recreated(12.0, OTHER_UID), 13.0)


def test_accepts_a_job_that_fails_one_pod_beyond_its_limit() -> None:
    history = says(two_pods(), 15.0, "Failed", "BackoffLimitExceeded", failed=2).ends(20)
    answer = checked("job-ends", history, min_pods=2)
    assert told(answer) == []
    assert answer.facts == {"job": {"end": "Failed (BackoffLimitExceeded)", "failed": 2, "restarts": [0, 0]}}


def test_a_job_that_gives_up_before_its_limit_is_a_fail() -> None:
    history = says(fails(History(ONE_RETRY), 1.0), 3.0, "Failed", "BackoffLimitExceeded", failed=1).ends(20)
    line = history.line_of(Kind.JOB)
    assert told(checked("job-ends", history)) == [
        f"FAIL: the Job was said to be Failed (BackoffLimitExceeded) (history line {line}); "
        "with 1 failed pod it was to go on."
    ]


def test_a_further_pod_after_the_end_is_a_fail() -> None:
    history = fails(two_pods().recreated(33.0, OTHER_UID.replace("2", "3")), 34.0)
    said = says(history, 36.0, "Failed", "BackoffLimitExceeded", failed=3).ends(40)
    line = said.line_of(Kind.STATUS, 4)
    assert told(checked("job-ends", said)) == [
        f"FAIL: the Job made 3 pods (history line {line}); after 2 it was to be Failed (BackoffLimitExceeded)."
    ]


def test_a_job_that_does_not_end_is_a_fail() -> None:
    history = says(two_pods(), 15.0, failed=2).ends(40)
    line = history.line_of(Kind.STATUS, 3)
    assert told(checked("job-ends", history)) == [
        f"FAIL: the Job had not ended 25.7 s after its last pod (history line {line}); "
        "Failed (BackoffLimitExceeded) was due."
    ]


def test_a_failed_pod_that_is_not_replaced_is_a_fail() -> None:
    history = says(fails(History(ONE_RETRY), 1.0), 3.0, failed=1).ends(40)
    line = history.line_of(Kind.STATUS, 1)
    assert told(checked("job-ends", history)) == [
        f"FAIL: the Job made no pod for 37.7 s after the last had failed (history line {line}); "
        "it was to be replaced after 10 s."
    ]


def test_a_wrong_count_is_a_fail() -> None:
    history = says(two_pods(), 15.0, "Failed", "BackoffLimitExceeded", failed=1).ends(20)
    line = history.line_of(Kind.JOB)
    assert told(checked("job-ends", history)) == [
        "FAIL: the Job was said to be Failed (BackoffLimitExceeded), 1 failed and 0 succeeded "
        f"(history line {line}); Failed (BackoffLimitExceeded), 2 failed and 0 succeeded were due."
    ]


def test_the_failure_policy_on_a_pod_that_goes_on_is_a_fail() -> None:
    history = History(scenario(Job(fails_on=(42,)), 42)).lives("app", (1.0, 2.0, 42))
    line = says(history, 3.0, "Failed", "PodFailurePolicy", failed=1).ends(20).line_of(Kind.JOB)
    assert told(checked("job-ends", history)) == [
        f"FAIL: the Job was said to be Failed (PodFailurePolicy) (history line {line}); "
        "with 0 failed pods it was to go on."
    ]


def test_a_controller_may_have_acted_on_a_status_before_the_last() -> None:
    """It fails a Job by a pod that runs at its limit, while the kubelet states that the pod has succeeded."""
    limited = scenario(Job(backoff_limit=1), 42, 0, policy=ON_FAILURE, restarts=1)

    def seen(ended_s: float) -> list[str]:
        history = History(limited).lives("app", (1.0, 2.0, 42), (2.5, 4.0, 0), status=False)
        history.status(2.8, {"app": history.running("app", 1, 2.5)})
        ended = history.exited("app", 1, 2.5, 4.0, 0)
        history.status(4.2, {"app": ended}, phase="Succeeded")
        return told(checked("job-ends", says(history, ended_s, "Failed", "BackoffLimitExceeded", failed=1).ends(60)))

    assert seen(4.5) == []
    assert [each.partition(":")[0] for each in seen(40.0)] == ["FAIL"]


def test_what_a_deleted_pod_says_counts_no_more() -> None:
    """The Job controller deletes the pod whose restarts have reached the limit, and then the pod fails."""
    limited = scenario(Job(backoff_limit=1), 42, policy=ON_FAILURE, restarts=1)
    history = History(limited).lives("app", (1.0, 2.0, 42), (2.5, 3.0, 143), status=False)
    history.status(2.8, {"app": history.running("app", 1, 2.5)})
    ended = {"phase": "Failed", "containerStatuses": [history.exited("app", 1, 2.5, 3.0, 143)]}
    deletion = {"timestamp": stamp(4.9), "grace_s": 2}
    history.add(3.1, Channel.API, Kind.STATUS, {"status": ended, "deletion": deletion}, pod=True)
    answer = checked("job-ends", says(history, 4.0, "Failed", "BackoffLimitExceeded", failed=1).ends(20))
    assert told(answer) == []
    assert told(checked("restart-decision", history)) == []


def test_a_lost_watch_leaves_it_open() -> None:
    history = says(fails(History(ONE_RETRY), 1.0), 3.0, "Failed", "BackoffLimitExceeded", failed=1)
    history.gap(Channel.API, 1.0, 2.0).ends(20)
    assert {each.outcome.value for each in checked("job-ends", history).findings} == {"INCONCLUSIVE"}


def test_a_job_that_nobody_has_read_is_inconclusive() -> None:
    assert told(checked("job-ends", fails(History(ONE_RETRY), 1.0).ends(20))) == [
        "INCONCLUSIVE: nothing was recorded about a Job: the scenario was complete."
    ]


TWO_AT_ONCE = scenario(Job(parallelism=2, backoff_limit=0), 42, 0)


def succeeds(history: History, at_s: float) -> History:
    history.lives("app", (at_s, at_s + 1, 0), status=False)
    return history.status(at_s + 1.3, {"app": history.exited("app", 0, at_s, at_s + 1, 0)}, phase="Succeeded")


def test_accepts_a_job_whose_pods_at_once_all_succeed() -> None:
    history = succeeds(succeeds(History(TWO_AT_ONCE), 1.0).recreated(1.0, OTHER_UID), 4.0)
    says(history, 6.0, "Complete", "CompletionsReached", succeeded=2).ends(20)
    assert told(checked("job-ends", history, min_pods=2)) == []


def test_a_job_that_completes_with_one_of_two_pods_is_a_fail() -> None:
    history = succeeds(History(TWO_AT_ONCE), 1.0).recreated(1.0, OTHER_UID)
    history.lives("app", (4.0, None, 0))
    says(history, 6.0, "Complete", "CompletionsReached", succeeded=1).ends(20)
    line = history.line_of(Kind.JOB)
    assert told(checked("job-ends", history)) == [
        f"FAIL: the Job was said to be Complete (history line {line}); with 0 failed pods it was to go on."
    ]


def test_a_rule_that_names_a_container_is_none_for_another() -> None:
    """The code is that of the only container, "app"."""
    for named, due in (("app", True), ("helper", False)):
        job = Job(backoff_limit=1, fails_on=(3,), fails_on_container=named)
        history = says(fails(History(scenario(job, 3)), 1.0), 3.0, "Failed", "PodFailurePolicy", failed=1).ends(20)
        line = history.line_of(Kind.JOB)
        accused = f"FAIL: the Job was said to be Failed (PodFailurePolicy) (history line {line}); "
        due_otherwise = [f"{accused}with 1 failed pod it was to go on."]
        assert told(checked("job-ends", history)) == ([] if due else due_otherwise)


def test_a_job_that_completes_long_after_its_limit_was_reached_is_a_fail() -> None:
    limited = scenario(Job(backoff_limit=1), 42, 0, policy=ON_FAILURE, restarts=1)

    def completed(at_s: float) -> list[str]:
        history = History(limited).lives("app", (1.0, 2.0, 42), (2.5, at_s, 0), status=False)
        history.status(2.8, {"app": history.running("app", 1, 2.5)})
        history.status(at_s + 0.2, {"app": history.exited("app", 1, 2.5, at_s, 0)}, phase="Succeeded")
        return told(checked("job-ends", says(history, at_s + 1, "Complete", succeeded=1).ends(at_s + 30)))

    assert completed(4.0) == []
    (finding,) = completed(80.0)
    assert finding.startswith("FAIL: the Job was said to be Complete, 0 failed and 1 succeeded (history line ")
    assert finding.endswith("; Failed (BackoffLimitExceeded), 1 failed and 0 succeeded were due.")
