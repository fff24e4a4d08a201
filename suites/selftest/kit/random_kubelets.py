"""A correct simulated kubelet in random scenarios, and what the checkers object to it: nothing, or a checker is wrong."""

from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

from crashloop.checks.checker import Holds
from crashloop.checks.finding import Checked
from crashloop.checks.integrity import obstacles, pod_obstacles
from crashloop.checks.judge import run_checkers
from crashloop.checks.judgement import JudgementInput
from crashloop.checks.kinds import CHECKERS
from crashloop.model.variants import as_shipped
from crashloop.requirements import load_requirements
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.requirement import Basis, Requirement, Scope, applies
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome
from sim import simulate
from sim.host import HOSTS, SLOW_HOSTS, HostModel
from suites.selftest.kit.random_scenarios import RandomCase, random_case
from tools.trials import recorded

BATCHES = 24
ACCUSATIONS = (Outcome.FAIL, Outcome.ERROR)
OF_EVERY_POD = {name for name, each in CHECKERS.items() if each.holds >= Holds.EVERY_POD}


class Batch(NamedTuple):
    """Scenarios by their seeds, and the hosts that they are drawn for."""

    seeds: Sequence[int]
    hosts: tuple[HostModel, ...]


def batches(first: int | None = None) -> tuple[Batch, ...]:
    """12,000 scenarios, or 2,016 of the seeds from `first` on (of the 12,000 if it is below 1,665); a sixth on slow hosts.

    Slow disks, runtimes and API servers, and nodes of which neither runtime nor run queues are seen.
    """
    begin, each = (0, 500) if first is None else (first, 84)
    on_slow_hosts = BATCHES // 6
    return tuple(
        Batch(range(begin + batch, begin + together * each, together), hosts)
        for together, hosts in ((BATCHES - on_slow_hosts, HOSTS), (on_slow_hosts, SLOW_HOSTS))
        for batch in range(together)
    )


Draw = Callable[[int, tuple[HostModel, ...]], RandomCase]
"""The scenario of a seed, on one of the hosts."""


def accusations(batch: Batch, draw: Draw = random_case) -> list[str]:
    """What checkers hold against a correct kubelet in these scenarios, each with its seed and host."""
    found = []
    for seed in batch.seeds:
        case = draw(seed, batch.hosts)
        checked = judged(case, seed, *checkers_for(case))
        found += [
            f"seed {seed}, host {case.host.name}: {each.outcome}: {each.sentence}"
            for each in checked.findings
            if each.outcome in ACCUSATIONS
        ]
    return found


def asked(*checkers: str) -> Requirement:
    """A requirement that is judged by these checkers."""
    return Requirement(
        id="ANY-1",
        sentence="What these checkers look at MUST be as the model says.",
        source="the kubelet's source",
        basis=Basis.PROMISE,
        scope=Scope.QUICK,
        checkers=checkers,
        parameters={"min_delays": 1, "within_s": [10, 30]},
        evidence="what the scenario shows",
    )


def judged(case: RandomCase, seed: int, *checkers: str) -> Checked:
    """What checkers say about a correct kubelet in that case."""
    events = simulate(case.scenario, case.profile, case.version, rng=Random(seed), host=case.host, later=(case.later,))
    recording = recorded(events)
    found = obstacles(case.scenario, recording) or pod_obstacles(case.scenario, recording)
    if found:
        return Checked(findings=found)
    question = JudgementInput(
        requirement=asked(*checkers),
        scenario=case.scenario,
        profile=case.profile,
        version=case.version,
        later=(case.later,),
        recording=recording,
    )
    return run_checkers(question, as_shipped(case.version))


def checkers_for(case: RandomCase) -> tuple[str, ...]:
    """Those that some requirement asks of that release, as a run judges: what changes with one is promised from there on."""
    recreated = any(each.action is InterventionKind.RECREATE_POD for each in case.scenario.interventions)
    asked_of_it = _asked_of(case.version)
    return tuple(name for name in OF_EVERY_POD if name in asked_of_it and not (name == "in-place" and recreated))


@cache
def _asked_of(version: KubernetesVersion) -> frozenset[str]:
    held = (
        each for each in load_requirements().values() if applies(each, version, dict.fromkeys(each.gates, True)) is None
    )
    return frozenset(name for each in held for name in (*each.checkers, *each.everywhere))
