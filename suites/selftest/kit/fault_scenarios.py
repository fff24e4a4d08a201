"""On what planted faults are tried: every judgement of the conformance suite, and scenarios that it does not have yet."""

from collections.abc import Iterator
from functools import cache

from crashloop.requirements import load_requirements
from crashloop.run.planning import scope_of
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Action, Container, ContainerKind, Pod, Probe, RestartPolicy, restart_in
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.requirement import Basis, Requirement, Scope
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import declared_in
from suites import conformance
from tools.trials import FURTHER, Trial

QUIET_S = 70.0
"""Long enough at a maximum of 2 s to say that something does not restart."""


@cache
def trials() -> tuple[Trial, ...]:
    """All judgements, those of the conformance suite first."""
    return (*_of_the_suite(), *_further())


def _of_the_suite() -> Iterator[Trial]:
    catalogue = load_requirements()
    each_once = {(each.requirement, each.scenario.name): each for each in declared_in(conformance)}
    for identifier, scenario in each_once.values():
        requirement = catalogue[identifier]
        if requirement.about_text:
            continue  # no kubelet has a part in it
        yield Trial(requirement=requirement, scenario=scenario, scope=scope_of(requirement, scenario))


def _further() -> Iterator[Trial]:
    """One judgement a checker, under a requirement of its own name."""
    for scenario, checkers in FURTHER_SCENARIOS:
        requirement = Requirement(
            id="FURTHER-1",
            sentence="What these checkers look at MUST be as the model says.",
            source="the kubelet's source",
            basis=Basis.PROMISE,
            scope=Scope.QUICK,
            checkers=checkers,
            parameters={"min_delays": 1, "min_restarts": 1},
            evidence="what the scenario shows",
        )
        yield Trial(requirement=requirement, scenario=scenario, scope=FURTHER)


def _pod(name: str, profile: str, *containers: Container, until: Until, **more: object) -> PodScenario:
    policy = more.pop("policy", RestartPolicy.ALWAYS)
    assert isinstance(policy, RestartPolicy)
    interventions = more.pop("interventions", ())
    assert isinstance(interventions, tuple)
    assert not more
    return PodScenario(
        name=name,
        profile=profile,
        pod=Pod(containers=containers, restart_policy=policy),
        until=until,
        mode=Mode.ANNOTATED,
        interventions=interventions,
    )


def _at_restart(number: int, action: InterventionKind, *, after_s: float = 2.0) -> tuple[Intervention, ...]:
    return (Intervention(trigger=Trigger(container="app", after_restart=number, after_s=after_s), action=action),)


FURTHER_SCENARIOS: tuple[tuple[Scenario, tuple[str, ...]], ...] = (
    (
        _pod(
            "further-kubelet-restarted",
            "stock",
            Container(program=exits_with(1, times=4)),
            Container(name="steady", program=HOLDS),
            until=Until(restarts={"app": 4}, at_most_s=240),
            interventions=_at_restart(2, InterventionKind.RESTART_KUBELET),
        ),
        ("delays", "reset", "independent-counters"),
    ),
    (
        _pod(
            "further-init-done",
            "max-2s",
            Container(name="setup", kind=ContainerKind.INIT, program=runs((1, 0))),
            Container(program=exits_with(1, times=3)),
            until=Until(restarts={"app": 3}, at_least_s=QUIET_S + 10),
        ),
        ("restart-decision", "starts-once", "one-at-a-time"),
    ),
    (
        _pod(
            "further-ephemeral-done",
            "max-2s",
            Container(program=HOLDS),
            Container(name="debugger", kind=ContainerKind.EPHEMERAL, program=runs((2, 1))),
            until=Until(exits={"debugger": 1}, at_least_s=QUIET_S),
        ),
        ("restart-decision",),
    ),
    (
        _pod(
            "further-all-restarted-by-rule",
            "max-2s",
            Container(name="setup", kind=ContainerKind.INIT, program=runs((1, 0))),
            Container(
                program=runs((3, 42)),
                restart_policy=RestartPolicy.NEVER,
                rules=(restart_in(42, action=Action.RESTART_ALL_CONTAINERS),),
            ),
            Container(name="neighbour", program=HOLDS),
            policy=RestartPolicy.NEVER,
            until=Until(restarts={"app": 1, "neighbour": 1}, at_most_s=40),
        ),
        ("restart-decision", "in-place", "restart-count"),
    ),
    (
        _pod(
            "further-liveness-fails",
            "max-2s",
            Container(program=HOLDS, probes=(Probe(fails_after_s=2.0),)),
            until=Until(restarts={"app": 4}),
        ),
        ("probe-kill",),
    ),
)
