"""Containers that end otherwise than by an exit, repeat their program inside, or fail until what they need is back."""

from collections.abc import Iterator
from typing import Any

import msgspec

from crashloop.spec.pod import (
    Container,
    ContainerKind,
    Handler,
    Pod,
    Probe,
    ProbeKind,
    QosClass,
    restart_in,
    restart_not_in,
)
from crashloop.spec.program import HOLDS, KILLED, Program, exits_with, killed, out_of_memory, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import (
    ALWAYS,
    NEVER,
    ON_FAILURE,
    app,
    crashing,
    ending,
    growing,
    restarting,
)

MEMORY = "32Mi"


ENDS = (exits_with(1), exits_with(1), killed(), out_of_memory(), killed())
EVERY_END = PodScenario(
    name="every-end-max-10s",
    profile="max-10s",
    pod=Pod(containers=(app(Program(tuple(life for each in ENDS for life in each.lives)), memory_limit=MEMORY),)),
    until=Until(restarts={"app": len(ENDS)}, at_most_s=120),
    mode=Mode.ANNOTATED,
)
REPEATING = PodScenario(
    name="repeats-inside",
    profile="max-2s",
    pod=Pod(containers=(app(Program(passes=50)),)),
    until=Until(at_least_s=60),
)
TASKS = PodScenario(
    name="ten-tasks-max-1s",
    profile="max-1s",
    pod=Pod(containers=(app(msgspec.structs.replace(exits_with(0, times=10), marks_root=True, marks_volume=True)),)),
    until=Until(restarts={"app": 10}, at_most_s=200),
)


def failing_until(profile: str, back_s: float, *, until: Until) -> PodScenario:
    """A container that crashes until what it depends on is back."""
    program = msgspec.structs.replace(exits_with(1, times=40), fails_until_s=back_s)
    return PodScenario(
        name=f"dependency-returns-{profile}", profile=profile, pod=Pod(containers=(app(program),)), until=until
    )


def failing_its_probe(name: str, kind: ProbeKind, **more: Any) -> Container:
    """A container that its second failure in a row ends, each time."""
    probe = Probe(kind=kind, pattern="FF", failure_threshold=2, handler=Handler.HTTP)
    return Container(name=name, program=HOLDS, probes=(probe,), **more)


CAUSES = (
    failing_its_probe("killed", ProbeKind.LIVENESS, restart_policy=ON_FAILURE),
    failing_its_probe("unstarted", ProbeKind.STARTUP, post_start=True),
    app(out_of_memory(times=4), name="greedy", policy=ALWAYS, memory_limit=MEMORY),
    app(
        runs((1, 1), (1, 137), (1, 3), (1, 255)),
        name="by-rule",
        policy=NEVER,
        rules=(restart_not_in(0, 42),),
    ),
)
GROWING_AFTER_EVERY_CAUSE = growing(
    "growing-after-every-cause",
    *CAUSES,
    Container(name="debug", kind=ContainerKind.EPHEMERAL),
    pod=ON_FAILURE,
    restarts={each.name: 4 for each in CAUSES},
)
"""Kills by probes and for memory, and exits that a rule restarts: each climbs, and none changes the delays of the others."""


@requirement("BACKOFF-2")
def test_no_delay_is_shorter_whatever_ended_the_container() -> Scenario:
    return GROWING_AFTER_EVERY_CAUSE


@requirement("BACKOFF-3")
def test_no_delay_is_longer_whatever_ended_the_container() -> Scenario:
    return GROWING_AFTER_EVERY_CAUSE


@requirement("BACKOFF-25")
def test_a_signal_and_a_kill_for_memory_are_delayed_as_an_exit_is() -> Scenario:
    return EVERY_END


@requirement("RULES-32")
def test_the_status_states_that_memory_ran_out() -> Scenario:
    return EVERY_END


@requirement("RULES-25")
def test_a_wrapper_that_repeats_its_program_is_not_restarted() -> Scenario:
    return REPEATING


@requirement("ALT-1")
def test_a_loop_inside_the_container_is_no_restart() -> Scenario:
    return REPEATING


@requirement("STORY-1")
def test_each_task_begins_with_a_fresh_root_filesystem() -> Scenario:
    return TASKS


@requirement("STORY-3")
def test_a_container_recovers_within_the_maximum_of_its_node() -> Iterator[Scenario]:
    yield failing_until("max-2s", 20, until=Until(at_least_s=40))
    yield failing_until("stock", 200, until=Until(restarts={"app": 6}, at_most_s=420))


SIDECAR_OUT_OF_MEMORY = restarting(
    "sidecar-out-of-memory",
    Container(
        name="sidecar",
        kind=ContainerKind.INIT,
        restart_policy=ALWAYS,
        program=out_of_memory(times=5),
        memory_limit=MEMORY,
    ),
    app(HOLDS),
    pod=ALWAYS,
    restarts={"sidecar": 5},
)


@requirement("STORY-6")
def test_a_sidecar_that_runs_out_of_memory_returns_beside_its_application() -> Scenario:
    return SIDECAR_OUT_OF_MEMORY


OUT_OF_MEMORY_BY_RULE = restarting(
    "out-of-memory-matched",
    app(out_of_memory(times=2), policy=NEVER, rules=(restart_in(KILLED),), memory_limit=MEMORY),
    pod=NEVER,
    restarts={"app": 2},
)


@requirement("RULES-32")
def test_the_status_states_that_memory_ran_out_where_a_rule_matches() -> Scenario:
    return OUT_OF_MEMORY_BY_RULE


@requirement("RULES-21")
def test_a_rule_judges_a_kill_for_memory_by_its_code() -> Iterator[Scenario]:
    yield OUT_OF_MEMORY_BY_RULE
    yield ending(
        "out-of-memory-unmatched",
        app(out_of_memory(), policy=NEVER, rules=(restart_in(1),), memory_limit=MEMORY),
        pod=NEVER,
        exits={"app": 1},
        phase="Failed",
    )


@requirement("STORY-10")
def test_pods_that_select_a_pool_of_nodes_follow_its_curve() -> Iterator[Scenario]:
    """They ask for nothing: the quota of a lent namespace may forbid that, and a lent cluster runs none of them."""
    for profile, restarts in (("max-2s", 3), ("stock", 2)):
        selecting = crashing(profile, restarts=restarts, name="selecting", qos=QosClass.BEST_EFFORT)
        yield msgspec.structs.replace(selecting, by_scheduler=True)
