"""What two nodes, or two pods, have to do alike. Each comparison is one judgement on the histories of both."""

from collections.abc import Iterator

import msgspec

from crashloop.spec.plan import Comparison, compared
from crashloop.spec.pod import Pod, restart_in
from crashloop.spec.program import exits_with, runs
from crashloop.spec.scenario import Mode, PodScenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import ALWAYS, NEVER, ON_FAILURE, QUICK_WATCH_S, app, crashing, init, restarting
from suites.conformance.test_exit_codes import DELAYED as SIGNALS
from suites.conformance.test_restart_counts import counting
from suites.conformance.test_rules import cell
from suites.conformance.test_status import COMPLETING


def with_and_without_rules(scenario: PodScenario) -> Comparison:
    """A scenario of a node with restart rules, and the same pod on a node whose kubelet has their gate off."""
    without = msgspec.structs.replace(scenario, name=f"{scenario.name}-rules-off", profile="rules-off")
    return compared(f"{scenario.name}-with-the-gate-and-without", scenario, without)


@requirement("CAP-5")
def test_300_seconds_mean_the_same_as_unset() -> Comparison:
    return compared("max-300s-and-unset", the.MAX_300S, the.STOCK_TO_THE_CAP)


@requirement("CONFIG-7")
def test_the_gate_alone_changes_no_delay() -> Comparison:
    gate_off = crashing("max-gate-off", restarts=5, name="ladder", at_most_s=260)
    return compared("ladder-with-the-gate-and-without", the.STOCK_LADDER, gate_off)


@requirement("ROLLBACK-6")
def test_the_gate_of_the_maximum_needs_no_other_pod() -> Comparison:
    return compared("crashing-with-the-gate-and-without", the.STOCK, the.MAX_GATE_OFF)


@requirement("DECAY-4")
def test_the_reduced_curve_adds_three_restarts() -> Comparison:
    stock, reduced = (
        counting("counted-for-82s", profile, exits=8, for_s=82.0, mode=Mode.ANNOTATED)
        for profile in ("stock", "reduced-decay")
    )
    return compared("counted-with-reduced-decay-and-without", stock, reduced)


@requirement("RULES-10")
def test_rules_change_nothing_under_always() -> Comparison:
    program = runs((1, 1), (1, 42), (1, 0))
    with_rules, without = (
        restarting(name, app(program, policy=ALWAYS, rules=rules), pod=ALWAYS, restarts={"app": 3})
        for name, rules in (("always-with-rules", (restart_in(42),)), ("always-without-rules", ()))
    )
    return compared("always-with-rules-and-without", with_rules, without)


@requirement("RULES-26")
def test_the_gate_does_not_change_when_sidecars_start_and_stop() -> Comparison:
    sidecar = init(exits_with(1, after_s=2.0, times=2), name="sidecar", policy=ALWAYS)
    around = PodScenario(
        name="sidecar-around-app",
        profile="max-2s",
        pod=Pod(containers=(sidecar, app(runs((28, 0)))), restart_policy=NEVER),
        until=Until(exits={"app": 1, "sidecar": 3}, phase="Succeeded", quiet_s=5.0, at_most_s=QUICK_WATCH_S),
    )
    return with_and_without_rules(around)


@requirement("ROLLBACK-13")
def test_the_gate_does_not_change_pods_without_rules() -> Iterator[Comparison]:
    for policy, exit_code in ((ALWAYS, 1), (ON_FAILURE, 1), (ON_FAILURE, 0), (NEVER, 1)):
        yield with_and_without_rules(cell(policy, None, exit_code))


LATE_UP_TO_40_S = compared(
    "lateness-up-to-40-s",
    the.REDUCED_DECAY,
    the.MAX_10S,
    the.MAX_11S,
    the.MAX_GATE_OFF,
    the.SAME_DELAY,
    the.STOCK_TO_40_S,
    COMPLETING,
    SIGNALS,
)
LATE_UP_TO_300_S = compared("lateness-up-to-300-s", the.STOCK_TO_THE_CAP, the.MAX_300S)


@requirement("BACKOFF-26")
def test_restarts_are_on_average_little_late() -> Iterator[Comparison]:
    yield LATE_UP_TO_40_S
    yield LATE_UP_TO_300_S


@requirement("BACKOFF-27")
def test_lateness_does_not_grow_with_the_delay() -> Iterator[Comparison]:
    yield LATE_UP_TO_40_S
    yield LATE_UP_TO_300_S
