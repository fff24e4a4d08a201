"""Exit codes: what a program, a signal or the kernel's memory killer would leave, 0 between failures, and what is said of them.

Shells and runtimes report a signal as 128 and its number: 130 SIGINT, 137 SIGKILL, 143 SIGTERM; 255 is the largest code.
"""

from crashloop.spec.policy import restart_in
from crashloop.spec.program import runs
from crashloop.spec.scenario import Mode
from crashloop.verdict import Verdict
from fixtures.requirements import confirm, requirement
from suites.conformance.scenarios import NEVER, ON_FAILURE, app, ending, exiting, restarting

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
    app(runs((1, 143)), policy=NEVER, rules=(restart_in(42),)),
    pod=NEVER,
    exits={"app": 1},
    phase="Failed",
)
FAILURES = ending(
    "on-failure-signal-codes",
    app(runs((1, 137), (1, 143), (1, 0))),
    pod=ON_FAILURE,
    exits={"app": 3},
    phase="Succeeded",
)
NEVER_AGAIN = ending("never-exit-137", app(runs((1, 137))), pod=NEVER, exits={"app": 1}, phase="Failed")
SUCCESS_BETWEEN_FAILURES = exiting("success-between-failures", "reduced-decay", *BETWEEN_FAILURES, mode=Mode.ANNOTATED)
SUCCESS_ON_THE_LADDER = exiting(
    "success-between-failures", "stock", *BETWEEN_FAILURES[:5], mode=Mode.ANNOTATED, at_most_s=260
)


@requirement("M7", DELAYED)
def test_codes_of_signals_are_delayed_by_the_maximum(verdict: Verdict) -> None:
    """A maximum of 10 s MUST delay exits with the codes of signals like any others."""
    confirm(verdict)


@requirement("BACKOFF-20", DELAYED)
def test_looking_at_a_pod_changes_no_delay_after_a_signal(verdict: Verdict) -> None:
    """A pod update during a delay MUST NOT shorten it, whatever the exit code was."""
    confirm(verdict)


@requirement("BACKOFF-7", SUCCESS_BETWEEN_FAILURES)
def test_exit_0_takes_the_next_step_of_the_curve(verdict: Verdict) -> None:
    """Between failures, a container that exits with 0 MUST wait as long as one that fails."""
    confirm(verdict)


@requirement("BACKOFF-7", SUCCESS_ON_THE_LADDER, scope="full")
def test_exit_0_takes_the_next_step_of_the_default_curve(verdict: Verdict) -> None:
    """Exits with 0 between failures MUST leave the delays at 10, 20, 40 and 80 s."""
    confirm(verdict)


@requirement("BACKOFF-8", FAILURES)
def test_on_failure_restarts_after_a_signal(verdict: Verdict) -> None:
    """Under OnFailure a container that ended with the code of a signal MUST restart."""
    confirm(verdict)


@requirement("BACKOFF-9", NEVER_AGAIN)
def test_never_means_never_after_a_signal(verdict: Verdict) -> None:
    """Under Never a container MUST NOT restart after the code of a signal."""
    confirm(verdict)


@requirement("RULES-3", MATCHED)
def test_a_rule_takes_the_code_of_a_signal(verdict: Verdict) -> None:
    """A rule with In MUST restart a container on codes of 128 and above."""
    confirm(verdict)


@requirement("RULES-4", UNMATCHED)
def test_the_code_of_a_signal_that_no_rule_matches_ends_the_pod(verdict: Verdict) -> None:
    """The code of a signal that no rule matches MUST NOT restart a container under Never."""
    confirm(verdict)


@requirement("RULES-15", MATCHED)
def test_restarts_by_rule_after_signals_are_counted(verdict: Verdict) -> None:
    """restartCount MUST rise by one with each restart after the code of a signal."""
    confirm(verdict)


@requirement("RULES-16", MATCHED)
def test_restarts_by_rule_after_signals_wait_like_any_other(verdict: Verdict) -> None:
    """Restarts by rule after the codes of signals MUST follow the node's backoff curve."""
    confirm(verdict)


@requirement("RULES-17", MATCHED, EVERY_KIND)
def test_a_restart_after_a_signal_stays_in_place(verdict: Verdict) -> None:
    """A restart MUST keep the pod, its sandbox and its node, with rules and without."""
    confirm(verdict)


@requirement("RULES-22", EVERY_KIND, DELAYED)
def test_the_status_shows_each_exit_code(verdict: Verdict) -> None:
    """The container status MUST show the exit code of the previous instance as it was."""
    confirm(verdict)
