"""Exit codes: what a program, a signal or the kernel's memory killer would leave, 0 between failures, and what is said of them.

Shells and runtimes report a signal as 128 and its number: 130 SIGINT, 137 SIGKILL, 143 SIGTERM; 255 is the largest code.
"""

from collections.abc import Iterator

import msgspec

from crashloop.spec.pod import Pod, restart_in
from crashloop.spec.program import HOLDS, KILLED, Life, LifeEnd, Program, refused, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import (
    ALWAYS,
    NEVER,
    ON_FAILURE,
    QUICK_WATCH_S,
    app,
    ending,
    exiting,
    init,
    restarting,
)

SIGNALLED = (130, 137, 143, 255)
BETWEEN_FAILURES = (1, 0, 1, 0, 1, 0)

DELAYED = exiting("signal-codes", "max-10s", *SIGNALLED, mode=Mode.ANNOTATED)
EVERY_KIND = exiting("exit-codes", "max-2s", 3, 42, 99, *SIGNALLED)
MATCHED = restarting(
    "signal-codes-matched",
    app(runs(*((1, each) for each in SIGNALLED)), policy=NEVER, rules=(restart_in(*SIGNALLED),)),
    pod=NEVER,
    restarts={"app": len(SIGNALLED)},
)
UNMATCHED = ending(
    "signal-code-unmatched",
    app(runs((1, 143)), policy=NEVER, rules=(restart_in(130, 137, 255),)),
    pod=NEVER,
    exits={"app": 1},
    phase="Failed",
)
FAILURES = ending(
    "on-failure-signal-codes",
    app(
        Program((Life(run_s=1, exit_code=KILLED, end=LifeEnd.MEMORY), *runs((1, 143), (1, 0)).lives)),
        memory_limit="32Mi",
    ),
    pod=ON_FAILURE,
    exits={"app": 3},
    phase="Succeeded",
)
NEVER_AGAIN = ending("never-exit-137", app(runs((1, 137))), pod=NEVER, exits={"app": 1}, phase="Failed")
SUCCESS_BETWEEN_FAILURES = exiting("success-between-failures", "reduced-decay", *BETWEEN_FAILURES, mode=Mode.ANNOTATED)
SUCCESS_ON_THE_LADDER = exiting(
    "success-between-failures", "stock", *BETWEEN_FAILURES[:5], mode=Mode.ANNOTATED, at_most_s=260
)
REFUSED = PodScenario(
    name="refused-starts",
    profile="reduced-decay",
    pod=Pod(
        containers=(
            app(refused(times=4)),
            app(refused(times=3), name="by-rule", policy=NEVER, rules=(restart_in(128),)),
        )
    ),
    until=Until(exits={"app": 4, "by-rule": 3}, at_most_s=QUICK_WATCH_S),
)
"""Commands that do not exist: the commonest of all crash loops."""
REFUSED_INIT = msgspec.structs.replace(
    REFUSED,
    name="refused-starts-of-init",
    pod=Pod(containers=(init(refused(times=3)), app(HOLDS)), restart_policy=ON_FAILURE),
    until=Until(exits={"setup": 3}, at_most_s=QUICK_WATCH_S),
)
REFUSED_SIDECAR = msgspec.structs.replace(
    REFUSED,
    name="refused-starts-of-a-sidecar",
    pod=Pod(
        containers=(init(refused(times=3), name="sidecar", policy=ALWAYS), app(HOLDS)),
        restart_policy=NEVER,
    ),
    until=Until(exits={"sidecar": 3}, at_most_s=QUICK_WATCH_S),
)
REFUSED_FOR_GOOD = msgspec.structs.replace(
    ending("refused-start-under-never", app(refused(times=1)), pod=NEVER, exits={"app": 1}, phase="Failed"),
    profile="stock",
)


@requirement("RULES-40")
def test_a_refused_start_is_an_exit() -> Iterator[Scenario]:
    yield from (REFUSED, REFUSED_INIT, REFUSED_SIDECAR)


@requirement("BACKOFF-9")
def test_never_means_never_after_a_refused_start() -> Scenario:
    return REFUSED_FOR_GOOD


@requirement("M7")
def test_codes_of_signals_are_delayed_by_the_maximum() -> Scenario:
    return DELAYED


@requirement("BACKOFF-20")
def test_looking_at_a_pod_changes_no_delay_after_a_signal() -> Scenario:
    return DELAYED


@requirement("BACKOFF-7")
def test_exit_0_takes_the_next_step_of_the_curve() -> Scenario:
    return SUCCESS_BETWEEN_FAILURES


@requirement("BACKOFF-7")
def test_exit_0_takes_the_next_step_of_the_default_curve() -> Scenario:
    return SUCCESS_ON_THE_LADDER


@requirement("BACKOFF-8")
def test_on_failure_restarts_after_a_signal() -> Scenario:
    return FAILURES


@requirement("BACKOFF-9")
def test_never_means_never_after_a_signal() -> Scenario:
    return NEVER_AGAIN


@requirement("RULES-3")
def test_a_rule_takes_the_code_of_a_signal() -> Scenario:
    return MATCHED


@requirement("RULES-4")
def test_the_code_of_a_signal_that_no_rule_matches_ends_the_pod() -> Scenario:
    return UNMATCHED


@requirement("RULES-15")
def test_restarts_by_rule_after_signals_are_counted() -> Scenario:
    return MATCHED


@requirement("RULES-16")
def test_restarts_by_rule_after_signals_wait_like_any_other() -> Scenario:
    return MATCHED


@requirement("RULES-17")
def test_a_restart_after_a_signal_stays_in_place() -> Iterator[Scenario]:
    yield MATCHED
    yield EVERY_KIND


@requirement("RULES-22")
def test_the_status_shows_each_exit_code() -> Iterator[Scenario]:
    yield EVERY_KIND
    yield DELAYED
    yield REFUSED
