"""Pods with an active deadline, in which containers crash."""

from collections.abc import Iterator

from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import HOLDS, exits_with
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import app, init

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


@requirement("RULES-34")
def test_a_pod_fails_at_its_deadline_and_restarts_nothing_from_then_on() -> Iterator[Scenario]:
    crashing = exits_with(1, after_s=1.0, times=LIVES)
    yield until_its_deadline("deadline-beside-another", app(crashing), app(HOLDS, name="neighbour"))
    yield until_its_deadline("deadline-of-init", init(crashing), app(HOLDS))
