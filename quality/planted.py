"""The table of nodes: planted fault, scenarios, and expected verdicts."""

import msgspec

from crashloop.verdict import Outcome, Verdict
from quality import faults
from quality.fault import Fault
from quality.scenarios import (
    AIMED,
    BAD_CONFIGURATION,
    BY_RULE,
    CONFIGURED,
    CRASHING,
    INIT,
    KUBELET_RESTARTED,
    LIVENESS,
    LONGER,
    POKED,
    READINESS,
    REDUCED,
    SEVERAL_RULES,
    STORED_RULES,
    SUCCEEDING,
    UNMATCHED,
    UNMATCHED_UNDER_ALWAYS,
    UNTIL_SUCCESS,
    ApiTrial,
    StartTrial,
    Trial,
)

MAX_2S = "max-2s"
MAX_1S, MAX_20S = "max-1s", "max-20s"
REDUCED_DECAY = "reduced-decay"


AnyTrial = Trial | StartTrial | ApiTrial


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """The expected verdicts of a node."""

    outcome: Outcome
    """FAIL: the node's verdicts give exit code 1. PASS: exit code 0, and all of them are PASS.
    Anything else, for a disturbance: none is a FAIL, since Kubernetes is not at fault."""
    requirements: tuple[str, ...] = ()
    """Requirements whose verdicts all have this outcome; for FAIL at least one."""
    says: str = ""
    """Words in a finding of every such verdict: the cause."""
    spares: tuple[str, ...] = ()
    """Requirements without a FAIL: their promises are those of a component that is a correct one."""


class Planted(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the run."""

    fault: Fault
    declared: str = MAX_2S
    """Kubelet profile (manifests/kubelet) that the node claims to run."""
    trials: tuple[AnyTrial, ...]
    expected: Expectation

    @property
    def node(self) -> str:
        """Name of the node; a kubelet's sockets lie below a folder of that name, and their paths must be short."""
        return self.fault.name

    @property
    def profile(self) -> str:
        """Name of the node's profile."""
        return f"{self.declared}--{self.fault.name}"

    def judged_by(self, verdict: Verdict) -> bool:
        """Whether a verdict is on it; one on what its API server stores names no profile."""
        return verdict.profile == self.profile or verdict.scenario in {
            each.on(self.profile).name for each in self.trials
        }


def _fails(*requirements: str, says: str = "", spares: tuple[str, ...] = ()) -> Expectation:
    return Expectation(outcome=Outcome.FAIL, requirements=requirements, says=says, spares=spares)


def _accuses_the_api_server(field: str, *spared: Trial) -> Expectation:
    """What it stores is accused, for a field, and not the kubelet for what it makes of that."""
    spares = tuple(requirement for each in spared for requirement in each.judged_by)
    return _fails("VAL-18", says=f"{field} as stored", spares=spares)


def _says(outcome: Outcome, words: str, *requirements: str) -> Expectation:
    return Expectation(outcome=outcome, requirements=requirements, says=words)


PASSES = Expectation(outcome=Outcome.PASS)


def _planted(fault: Fault, *trials: AnyTrial, expected: Expectation, declared: str = MAX_2S) -> Planted:
    return Planted(fault=fault, declared=declared, trials=trials, expected=expected)


SLOW: tuple[Planted, ...] = (
    _planted(
        faults.TRUE,
        *(
            UNTIL_SUCCESS,
            UNMATCHED,
            UNMATCHED_UNDER_ALWAYS,
            BY_RULE,
            CRASHING,
            LIVENESS,
            READINESS,
            CONFIGURED,
            STORED_RULES,
        ),
        expected=PASSES,
    ),
    _planted(faults.TAKES_FAILURE_FOR_SUCCESS, UNTIL_SUCCESS, expected=_fails("BACKOFF-8")),
    _planted(faults.SWAPS_EXIT_CODES, UNMATCHED, BY_RULE, expected=_fails("RULES-3", "RULES-4")),
    _planted(faults.REALLY_NO_RULES, BY_RULE, expected=_fails("RULES-3")),
    _planted(faults.RESTARTS_LATE, CRASHING, SUCCEEDING, expected=_fails("BACKOFF-3", "BACKOFF-7")),
    _planted(faults.CREATES_LATE, CRASHING, BY_RULE, expected=_fails("BACKOFF-3", "BACKOFF-4")),
    _planted(faults.REALLY_60S, CRASHING, SUCCEEDING, expected=_fails("BACKOFF-3", "CONFIG-14")),
    _planted(faults.REALLY_4S, CRASHING, SUCCEEDING, expected=_fails("BACKOFF-3", "CONFIG-14")),
    _planted(faults.LATE_TWICE, CRASHING, SUCCEEDING, expected=_fails("BACKOFF-3", "CONFIG-14")),
    _planted(faults.LONG_20_PERCENT, LONGER, expected=_fails("CONFIG-14"), declared=MAX_20S),
    _planted(faults.MAXIMUM_EARLY, LONGER, expected=_fails("CONFIG-14"), declared=MAX_20S),
    _planted(faults.LATE_FROM_THIRD, CRASHING, expected=_fails("BACKOFF-3", "CONFIG-14")),
    _planted(
        faults.DROPS_RULES, STORED_RULES, BY_RULE, expected=_accuses_the_api_server("restartPolicyRules", BY_RULE)
    ),
    _planted(
        faults.DROPS_SECOND_RULE,
        STORED_RULES,
        SEVERAL_RULES,
        expected=_accuses_the_api_server("restartPolicyRules", SEVERAL_RULES),
    ),
    _planted(faults.NO_SECOND_RULE, SEVERAL_RULES, expected=_fails("RULES-6")),
    _planted(faults.REALLY_NOT_REDUCED, REDUCED, expected=_fails("BACKOFF-3", "DECAY-1"), declared=REDUCED_DECAY),
)
"""Missing or late restarts: their proof takes up to a minute and a half."""

QUICK: tuple[Planted, ...] = (
    _planted(faults.TRUE_BEHIND_HELPERS, CRASHING, POKED, SUCCEEDING, BY_RULE, INIT, expected=PASSES),
    _planted(faults.RESTARTS_EARLY, CRASHING, POKED, expected=_fails("BACKOFF-2", "BACKOFF-20")),
    _planted(faults.REALLY_1S, CRASHING, POKED, expected=_fails("BACKOFF-2", "BACKOFF-20")),
    _planted(faults.FORGETS_EXITED, CRASHING, SUCCEEDING, expected=_fails("BACKOFF-2", "BACKOFF-7")),
    _planted(faults.REMOVES_EXITED, CRASHING, SUCCEEDING, expected=_fails("RULES-22")),
    _planted(faults.RESTARTS_BY_ITSELF, CRASHING, BY_RULE, expected=_fails("BACKOFF-2", "RULES-16")),
    _planted(faults.STARTS_TWICE, INIT, CRASHING, expected=_fails("BACKOFF-16", says="before it had exited")),
    _planted(faults.COUNTS_ONE_MORE, CRASHING, BY_RULE, expected=_fails("RULES-15", "RULES-22")),
    _planted(faults.EARLY_30_MS, *AIMED, expected=_fails("BACKOFF-2", "BACKOFF-20"), declared=MAX_1S),
    _planted(faults.COUNTS_ONE_MORE_AGAIN, KUBELET_RESTARTED, expected=_fails("RULES-22")),
    _planted(faults.PROBES_ALWAYS_SUCCEED, LIVENESS, READINESS, expected=_fails("PROBE-2", "PROBE-25")),
    _planted(faults.SEES_NO_READINESS_FAILURE, READINESS, expected=_fails("PROBE-25")),
    _planted(faults.STALE_ENVIRONMENT, CONFIGURED, expected=_fails("OVH-4")),
    _planted(
        faults.DROPS_POLICIES,
        STORED_RULES,
        UNMATCHED_UNDER_ALWAYS,
        expected=_accuses_the_api_server("restartPolicy", UNMATCHED_UNDER_ALWAYS),
    ),
    _planted(faults.PANICS, BAD_CONFIGURATION, expected=_fails("CONFIG-2", says="panic: runtime error")),
    _planted(faults.PENDING_WHILE_ALL_WAIT, CRASHING, expected=_fails("RULES-20")),
    _planted(
        faults.KUBELET_KILLED,
        CRASHING,
        expected=_says(Outcome.INCONCLUSIVE, "the kubelet was restarted meanwhile", *CRASHING.judged_by),
    ),
    _planted(
        faults.RUNTIME_KILLED,
        BY_RULE,
        expected=_says(Outcome.INCONCLUSIVE, "runtime events were lost", "RULES-17"),
    ),
    _planted(
        faults.OTHER_CONFIGURATION,
        CRASHING,
        expected=_says(Outcome.ERROR, "did not run with the profile's configuration", *CRASHING.judged_by),
    ),
)
"""Restarts that are early, double or miscounted, and the disturbances."""

PLANTED = (*SLOW, *QUICK)
"""Every node of the run, in the order in which they come up: those that take longest first."""
