"""Pods with an active deadline, in which containers crash."""

from collections.abc import Iterator

from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import HOLDS, KILLED, exits_with
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import QUICK_WATCH_S, app, init
from suites.conformance.test_sandbox import BEHIND_INIT

LIVES = 40
"""More than come before the deadline."""


def until_its_deadline(name: str, *containers: Container) -> PodScenario:
    """A pod that would go on for longer; the next restart is due 2 s after its deadline at the latest."""
    return PodScenario(
        name=name,
        profile="max-2s",
        pod=Pod(containers=containers, active_deadline_s=15),
        until=Until(phase="Failed", at_least_s=50.0, at_most_s=120.0),
    )


ENDS_LATE = PodScenario(
    name="deadline-of-what-ends-late",
    profile="max-2s",
    pod=Pod(
        containers=(app(HOLDS), Container(name="stubborn", exit_code_on_term=KILLED)), active_deadline_s=6, grace_s=6
    ),
    until=Until(phase="Failed", at_least_s=20.0, at_most_s=QUICK_WATCH_S),
)


@requirement("RULES-41")
def test_a_phase_agrees_with_the_containers_beside_it() -> Iterator[Scenario]:
    yield ENDS_LATE
    yield BEHIND_INIT


@requirement("RULES-34")
def test_a_pod_fails_at_its_deadline_and_restarts_nothing_from_then_on() -> Iterator[Scenario]:
    crashing = exits_with(1, after_s=1.0, times=LIVES)
    yield until_its_deadline("deadline-beside-another", app(crashing), app(HOLDS, name="neighbour"))
    yield until_its_deadline("deadline-of-init", init(crashing), app(HOLDS))
