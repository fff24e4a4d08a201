"""Containers whose records the runtime loses, while they run or after they have ended."""

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Pod
from crashloop.spec.program import HOLDS, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import NEVER, ON_FAILURE, QUICK_WATCH_S, QUIET_S, after_restart, app, at, init

FINISHED = ("setup", "done", "done-on-failure")
FORGOTTEN = PodScenario(
    name="records-of-what-has-ended-lost",
    profile="max-2s",
    pod=Pod(
        containers=(
            init(runs((0.5, 0))),
            app(runs((1, 0)), name="done"),
            app(runs((1, 0)), name="done-on-failure", policy=ON_FAILURE),
            app(HOLDS),
        ),
        restart_policy=NEVER,
    ),
    until=Until(exits=dict.fromkeys(FINISHED, 1), quiet_s=QUIET_S, at_most_s=QUICK_WATCH_S),
    mode=Mode.ANNOTATED,
    interventions=tuple(
        after_restart(0, InterventionKind.REMOVE_CONTAINER, of=name, after_s=8.0, container=name) for name in FINISHED
    ),
)
"""As a tool that cleans nodes removes exited containers."""


@requirement("RULES-8")
def test_what_has_succeeded_under_never_does_not_run_again_when_its_record_is_lost() -> Scenario:
    return FORGOTTEN


RECORD_LOST = PodScenario(
    name="record-lost",
    profile="max-2s",
    pod=Pod(containers=(app(HOLDS),)),
    until=Until(restarts={"app": 2}, quiet_s=10, at_most_s=QUICK_WATCH_S),
    interventions=tuple(at(after_s, InterventionKind.REMOVE_CONTAINER, container="app") for after_s in (12, 26)),
)


@requirement("RULES-20")
def test_a_pod_runs_on_when_the_runtime_has_lost_its_container() -> Scenario:
    return RECORD_LOST


@requirement("RULES-22")
def test_restarts_are_counted_beyond_records_that_are_lost() -> Scenario:
    return RECORD_LOST
