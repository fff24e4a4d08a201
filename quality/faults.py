"""The planted faults and disturbances, and the correct kubelets beside them."""

from crashloop.spec.pod import ProbeKind
from crashloop.spec.profile import REDUCED_DECAY_GATE, RESTART_ALL_GATE, RESTART_RULES_GATE
from quality.api_server import Drop
from quality.fault import PASSES_ON, Accident, Fault, Meddling
from quality.lies import Lie

TRUE = Fault(name="true", sentence="is a correct kubelet")
TRUE_BEHIND_HELPERS = Fault(
    name="true-behind-helpers",
    sentence="is a correct kubelet, behind a proxy and a front that change nothing",
    meddling=PASSES_ON,
    fronted=True,
)

RESTARTS_EARLY = Fault(
    name="finishes-early",
    sentence="takes exits for 1 s older than they are, and restarts too early",
    meddling=Meddling(lie=Lie(finished_by_ms=(-1_000,))),
)
RESTARTS_LATE = Fault(
    name="finishes-late",
    sentence="takes exits for 30 s younger than they are, and restarts too late",
    meddling=Meddling(lie=Lie(finished_by_ms=(30_000,))),
)
FORGETS_EXITED = Fault(
    name="hides-exited",
    sentence="does not see exited containers, and restarts without a delay",
    meddling=Meddling(lie=Lie(hides_exited=True)),
)
REMOVES_EXITED = Fault(
    name="removes-exited",
    sentence="removes exited containers at once, and restarts without a delay",
    meddling=Meddling(removes_exited=True),
)
CREATES_LATE = Fault(
    name="creates-late",
    sentence="creates the container of each restart 30 s late",
    meddling=Meddling(create_late_s=30.0),
)
COUNTS_ONE_MORE = Fault(
    name="counts-one-more",
    sentence="counts one restart too many with each container",
    meddling=Meddling(lie=Lie(restart_count_by=1)),
)
RESTARTS_BY_ITSELF = Fault(
    name="replaces-exited",
    sentence="has a runtime that restarts exited containers by itself, without a delay",
    meddling=Meddling(replaces_exited=True),
)
STARTS_TWICE = Fault(
    name="starts-twice",
    sentence="starts two instances at each restart",
    meddling=Meddling(starts_twice=True),
)
TAKES_FAILURE_FOR_SUCCESS = Fault(
    name="takes-success",
    sentence="takes exit code 1 for 0",
    meddling=Meddling(lie=Lie(exit_codes={1: 0})),
)
SWAPS_EXIT_CODES = Fault(
    name="swaps-codes",
    sentence="takes exit code 42 for 43 and 43 for 42",
    meddling=Meddling(lie=Lie(exit_codes={42: 43, 43: 42})),
)

PROBES_ALWAYS_SUCCEED = Fault(
    name="probes-succeed",
    sentence="takes every answer of an exec probe for a success",
    meddling=Meddling(lie=Lie(succeeding_probes=tuple(ProbeKind))),
)
SEES_NO_READINESS_FAILURE = Fault(
    name="always-ready",
    sentence="never sees a failure of a readiness probe",
    meddling=Meddling(lie=Lie(succeeding_probes=(ProbeKind.READINESS,))),
)
STALE_ENVIRONMENT = Fault(
    name="stale-values",
    sentence="starts containers again with the first values of a ConfigMap",
    meddling=Meddling(keeps_environment=True),
)

LATE_TWICE = Fault(
    name="late-twice",
    sentence="waits twice as long as is due, on every curve",
    stretch=2.0,
)
LONG_20_PERCENT = Fault(
    name="long-20-percent",
    sentence="waits 20 % longer than is due",
    stretch=1.2,
)
EARLY_30_MS = Fault(
    name="early-30-ms",
    sentence="takes a delay for over 30 ms before it is",
    meddling=Meddling(lie=Lie(finished_by_ms=(-30,))),
)
MAXIMUM_EARLY = Fault(
    name="maximum-early",
    sentence="reaches its maximum one step early",
    meddling=Meddling(lie=Lie(finished_by_ms=(0, 10_000, 0))),
)
LATE_FROM_THIRD = Fault(
    name="late-from-third",
    sentence="restarts a container 10 s late from its third restart on",
    meddling=Meddling(create_late_s=10.0, create_late_from=3),
)
NO_SECOND_RULE = Fault(
    name="no-second-rule",
    sentence="takes exit code 43 for 44, so that it ignores the rule for 43",
    meddling=Meddling(lie=Lie(exit_codes={43: 44})),
)
COUNTS_ONE_MORE_AGAIN = Fault(
    name="recounts",
    sentence="counts one restart too many once it was started again",
    meddling=Meddling(lie=Lie(restart_count_by=1)),
    from_second_start=True,
)
PANICS = Fault(
    name="panics",
    sentence="panics where it should refuse its configuration",
    panics=True,
)
PENDING_WHILE_ALL_WAIT = Fault(
    name="says-pending",
    sentence="states the phase Pending while all containers of a pod wait",
    phase_while_all_wait="Pending",
)

_HAS_RULES = "has(c.restartPolicyRules)"
_RULES = Drop("restartPolicyRules", where=_HAS_RULES)
DROPS_RULES = Fault(
    name="drops-rules",
    sentence="has an API server that drops restart rules in silence",
    drops=(_RULES,),
)
DROPS_SECOND_RULE = Fault(
    name="drops-second-rule",
    sentence="has an API server that drops the second restart rule of each container in silence",
    drops=(Drop("restartPolicyRules/1", where=f"{_HAS_RULES} && size(c.restartPolicyRules) > 1"),),
)
DROPS_POLICIES = Fault(
    name="drops-policies",
    sentence="has an API server that drops container restart policies, and rules with them, in silence",
    drops=(_RULES, Drop("restartPolicy", where="has(c.restartPolicy)")),
)

REALLY_60S = Fault(
    name="really-60s",
    sentence="shows a maximum of 2 s and runs with 60 s",
    really={"crashLoopBackOff": {"maxContainerRestartPeriod": "60s"}},
    fronted=True,
)
REALLY_4S = Fault(
    name="really-4s",
    sentence="shows a maximum of 2 s and runs with 4 s, so that it waits twice as long as is due",
    really={"crashLoopBackOff": {"maxContainerRestartPeriod": "4s"}},
    fronted=True,
)
REALLY_1S = Fault(
    name="really-1s",
    sentence="shows a maximum of 2 s and runs with 1 s",
    really={"crashLoopBackOff": {"maxContainerRestartPeriod": "1s"}},
    fronted=True,
)
REALLY_NOT_REDUCED = Fault(
    name="really-not-reduced",
    sentence="shows a reduced initial delay and runs with the old one",
    really={"featureGates": {REDUCED_DECAY_GATE: False}},
    fronted=True,
)
REALLY_NO_RULES = Fault(
    name="really-no-rules",
    sentence="shows restart rules and runs with their gates off",
    really={"featureGates": {RESTART_RULES_GATE: False, RESTART_ALL_GATE: False}},
    fronted=True,
)

KUBELET_KILLED = Fault(
    name="kubelet-killed",
    sentence="is killed and started again behind the recorder's back",
    accident=Accident.KUBELET_KILLED,
)
RUNTIME_KILLED = Fault(
    name="runtime-killed",
    sentence="loses its runtime for a moment, and with it the runtime's event stream",
    accident=Accident.RUNTIME_KILLED,
)
OTHER_CONFIGURATION = Fault(
    name="other-configuration",
    sentence="runs with a maximum of 4 s instead of 2 s, and says so",
    really={"crashLoopBackOff": {"maxContainerRestartPeriod": "4s"}},
)
