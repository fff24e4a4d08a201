"""Scenarios that several requirements share, and the words to build them with."""

import msgspec

from crashloop.run.planning import LONGEST_WATCH_S
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import (
    GRACE_PERIOD_S,
    Container,
    ContainerKind,
    Pod,
    Probe,
    QosClass,
    RestartPolicy,
    RestartRule,
    restart_in,
)
from crashloop.spec.program import HOLDS, Program, exits_with, runs
from crashloop.spec.requirement import Scope
from crashloop.spec.scenario import Mode, PodScenario, StartupScenario, Until

ALWAYS, ON_FAILURE, NEVER = RestartPolicy

QUICK_WATCH_S = LONGEST_WATCH_S[Scope.QUICK]

QUIET_S = 64.0
"""How long "it does not restart" is watched after the last exit: twice the sum of the largest delay due (2 s) and 30 s."""


def at(after_s: float, action: InterventionKind, **arguments: object) -> Intervention:
    """An intervention so long after the pod was created."""
    return Intervention(trigger=Trigger(after_s=after_s), action=action, arguments=arguments)


def after_restart(
    number: int, action: InterventionKind, *, of: str = "app", after_s: float = 0.0, **arguments: object
) -> Intervention:
    """An intervention once a container has exited again after that restart; 0 is its first exit."""
    return Intervention(
        trigger=Trigger(container=of, after_restart=number, after_s=after_s), action=action, arguments=arguments
    )


def crashing(
    profile: str,
    *,
    restarts: int,
    run_s: float = 1.0,
    exit_code: int = 1,
    mode: Mode = Mode.NATURAL,
    name: str = "crashing",
    at_most_s: float = QUICK_WATCH_S,
    qos: QosClass = QosClass.BURSTABLE,
) -> PodScenario:
    """One container that keeps exiting in the same way, until it has restarted that often."""
    return PodScenario(
        name=f"{name}-{profile}",
        profile=profile,
        pod=Pod(containers=(Container(program=exits_with(exit_code, after_s=run_s, times=restarts)),), qos=qos),
        until=Until(restarts={"app": restarts}, at_most_s=at_most_s),
        mode=mode,
    )


def looked_at(scenario: PodScenario, after_s: dict[int, float]) -> PodScenario:
    """The kubelet looks so long after the exits of these restarts: just before a delay is over, or just after it.

    A pod that it has left alone for a second it looks at at once; the recorder patches it up to 0.1 s later.
    """
    looks = (after_restart(number, InterventionKind.ANNOTATE, after_s=each_s) for number, each_s in after_s.items())
    return msgspec.structs.replace(scenario, interventions=(*scenario.interventions, *looks))


def exiting(
    name: str, profile: str, *exit_codes: int, mode: Mode = Mode.NATURAL, at_most_s: float = QUICK_WATCH_S
) -> PodScenario:
    """One container under Always that exits with each of these codes in turn, until it has restarted after each."""
    return PodScenario(
        name=f"{name}-{profile}",
        profile=profile,
        pod=Pod(containers=(Container(program=runs(*((1, each) for each in exit_codes))),)),
        until=Until(restarts={"app": len(exit_codes)}, at_most_s=at_most_s),
        mode=mode,
    )


def probed(
    name: str,
    *containers: Container,
    restarts: dict[str, int],
    profile: str = "max-2s",
    pod: RestartPolicy = ALWAYS,
    grace_s: int = GRACE_PERIOD_S,
    at_least_s: float = 0.0,
    at_most_s: float = QUICK_WATCH_S,
    mode: Mode = Mode.NATURAL,
) -> PodScenario:
    """A pod whose containers hold until their probes have them killed, watched until they have restarted that often."""
    return PodScenario(
        name=name,
        profile=profile,
        pod=Pod(containers=containers, restart_policy=pod, grace_s=grace_s),
        until=Until(restarts=restarts, at_least_s=at_least_s, at_most_s=at_most_s),
        mode=mode,
    )


def held(*probes: Probe, name: str = "app") -> Container:
    return Container(name=name, program=HOLDS, probes=probes)


def restarting(
    name: str, *containers: Container, pod: RestartPolicy, restarts: dict[str, int], phase: str | None = None
) -> PodScenario:
    """A pod on a node with a maximum of 2 s whose containers are due to restart that often."""
    return PodScenario(
        name=name,
        profile="max-2s",
        pod=Pod(containers=containers, restart_policy=pod),
        until=Until(restarts=restarts, phase=phase, at_most_s=QUICK_WATCH_S),
    )


def growing(
    name: str,
    *containers: Container,
    pod: RestartPolicy,
    restarts: dict[str, int],
    phase: str | None = None,
    quiet_s: float = 0.0,
    at_most_s: float = QUICK_WATCH_S,
) -> PodScenario:
    """A pod on a node with the reduced decay, with a container that climbs from 1 s."""
    return PodScenario(
        name=f"{name}-reduced-decay",
        profile="reduced-decay",
        pod=Pod(containers=containers, restart_policy=pod),
        until=Until(restarts=restarts, phase=phase, quiet_s=quiet_s, at_most_s=at_most_s),
        mode=Mode.ANNOTATED,
    )


def ending(
    name: str, *containers: Container, pod: RestartPolicy, exits: dict[str, int], phase: str | None
) -> PodScenario:
    """A pod on a node with a maximum of 2 s whose containers are due to stop; watched long enough to see that they do."""
    return PodScenario(
        name=name,
        profile="max-2s",
        pod=Pod(containers=containers, restart_policy=pod),
        until=Until(exits=exits, phase=phase, quiet_s=QUIET_S, at_most_s=QUICK_WATCH_S),
    )


def app(
    program: Program,
    *,
    name: str = "app",
    policy: RestartPolicy | None = None,
    rules: tuple[RestartRule, ...] = (),
    memory_limit: str | None = None,
) -> Container:
    """A regular container."""
    return Container(name=name, program=program, restart_policy=policy, rules=rules, memory_limit=memory_limit)


def init(
    program: Program, *, name: str = "setup", policy: RestartPolicy | None = None, rules: tuple[RestartRule, ...] = ()
) -> Container:
    """An init container; with the policy Always, a sidecar."""
    return Container(name=name, kind=ContainerKind.INIT, program=program, restart_policy=policy, rules=rules)


LONGEST_NAME = 63
"""k8s.io/apimachinery/pkg/util/validation/validation.go@v0.37.1 DNS1123LabelMaxLength."""


def long_name(last: str) -> str:
    """A name of a container that is as long as it may be and differs from the others in its last letter alone."""
    return f"{'container':-<{LONGEST_NAME - 1}}{last}"


VALID = "max-300s"
"""Profile of the control start, the same for all candidates, so that a run needs only one."""


def starting(candidate: str) -> StartupScenario:
    """A second kubelet that is started with the candidate's configuration inside the stock node, and one with a valid maximum."""
    control = None if candidate == VALID else VALID
    return StartupScenario(name=f"start-{candidate}", profile="stock", candidate=candidate, control=control)


# The curve of each node: the same pod, different kubelets.
STOCK = msgspec.structs.replace(crashing("stock", restarts=3), samples=("kubernetes_feature_enabled",))
MAX_1S = crashing("max-1s", restarts=12, run_s=0.0)
MAX_2S = crashing("max-2s", restarts=10)
MAX_10S = msgspec.structs.replace(
    crashing("max-10s", restarts=4, mode=Mode.ANNOTATED),
    samples=(
        "kubelet_pod_start_duration_seconds",
        "kubelet_runtime_operations_total",
        "kubelet_started_containers_errors_total",
        "kubelet_started_containers_total",
        "kubelet_started_pods_total",
    ),
)
MAX_11S = looked_at(crashing("max-11s", restarts=4), {1: 9.85, 2: 11.4, 3: 11.85})
REDUCED_DECAY = crashing("reduced-decay", restarts=7, mode=Mode.ANNOTATED)
REDUCED_DECAY_MAX_4S = looked_at(crashing("reduced-decay-max-4s", restarts=6), {3: 4.08, 4: 3.92, 5: 4.25})
MAX_GATE_OFF = crashing("max-gate-off", restarts=4, run_s=0.5, mode=Mode.ANNOTATED)
EVERY_CURVE = (STOCK, MAX_1S, MAX_2S, MAX_10S, MAX_11S, REDUCED_DECAY, REDUCED_DECAY_MAX_4S, MAX_GATE_OFF)

SAME_DELAY = looked_at(
    exiting("same-delay", "max-10s", 1, 1, 42, 130, 137, 255), {1: 10.15, 2: 9.85, 3: 10.4, 4: 9.85, 5: 10.75}
)
"""Five delays after different codes; the first restart is free."""

STOCK_TO_40_S = crashing("stock", restarts=4, run_s=0.0, mode=Mode.ANNOTATED, name="to-forty-seconds")
STOCK_LADDER = crashing("stock", restarts=5, name="ladder", at_most_s=260)
STOCK_TO_THE_CAP = crashing("stock", restarts=8, mode=Mode.ANNOTATED, name="to-the-cap", at_most_s=1080)
MAX_300S = crashing("max-300s", restarts=5, mode=Mode.ANNOTATED, at_most_s=240)

SUCCEEDING = crashing("max-2s", restarts=6, exit_code=0, name="succeeding", qos=QosClass.GUARANTEED)
FAILS_THEN_SUCCEEDS = ending(
    "on-failure-until-success",
    init(HOLDS, name="sidecar", policy=ALWAYS),
    app(runs((1, 1), (1, 1), (1, 0))),
    Container(name="debug", kind=ContainerKind.EPHEMERAL, program=runs((0, 1))),
    pod=ON_FAILURE,
    exits={"app": 3},
    phase="Succeeded",
)
"""The sidecar is ended with the pod, and an ephemeral container fails: neither makes it a failure."""
SIDECAR = restarting(
    "crashing-sidecar",
    msgspec.structs.replace(init(exits_with(1, after_s=3.0, times=4), name="sidecar", policy=ALWAYS), post_start=True),
    app(HOLDS),
    pod=ALWAYS,
    restarts={"sidecar": 4},
)
INIT = restarting(
    "crashing-init",
    init(runs((1, 1), (1, 1), (1, 1), (1, 1), (1, 0))),
    init(runs((0, 1), (0, 1), (0, 0)), name="second"),
    app(HOLDS),
    pod=ALWAYS,
    restarts={"setup": 4, "second": 2},
    phase="Running",
)
"""Each of its init containers has delays of its own."""

# Restarts by rule.
IN_MATCHES = restarting(
    "in-matches",
    app(exits_with(42, times=4), policy=NEVER, rules=(restart_in(42),)),
    pod=NEVER,
    restarts={"app": 4},
)
IN_SEVERAL = restarting(
    "in-several-values",
    app(runs((1, 3), (1, 99), (1, 42)), policy=NEVER, rules=(restart_in(3, 42, 99),)),
    pod=NEVER,
    restarts={"app": 3},
)
IN_EXIT_0 = msgspec.structs.replace(
    restarting(
        "in-exit-0", app(exits_with(0, times=3), policy=NEVER, rules=(restart_in(0),)), pod=NEVER, restarts={"app": 3}
    ),
    profile="reduced-decay",
)
"""Its delays grow."""
ON_FAILURE_AND_EXIT_0 = restarting(
    "on-failure-and-exit-0",
    app(runs((1, 0), (1, 1), (1, 0)), policy=ON_FAILURE, rules=(restart_in(0),)),
    pod=NEVER,
    restarts={"app": 3},
)
EVERY_RULE = (IN_MATCHES, IN_SEVERAL, IN_EXIT_0, ON_FAILURE_AND_EXIT_0)

KUBELET_RESTARTED = PodScenario(
    name="kubelet-restarted-beside-all-kinds",
    profile="stock",
    pod=Pod(
        containers=(
            init(runs((0, 0))),
            init(HOLDS, name="sidecar", policy=ALWAYS),
            init(exits_with(1, times=4), name="crashing-sidecar", policy=ALWAYS),
            app(HOLDS),
            app(runs((0, 0)), name="done"),
            app(runs((0, 1)), name="failed", policy=NEVER),
            app(exits_with(1, times=4), name="crashing"),
            app(exits_with(0, times=4), name="by-rule", policy=NEVER, rules=(restart_in(0),)),
            app(runs((1, 1), (28, 1)), name="lately", policy=ALWAYS),
        ),
        restart_policy=ON_FAILURE,
    ),
    until=Until(restarts={"crashing-sidecar": 4, "crashing": 4, "by-rule": 4, "lately": 2}, at_most_s=QUICK_WATCH_S),
    mode=Mode.ANNOTATED,
    interventions=(after_restart(2, InterventionKind.RESTART_KUBELET, of="crashing", after_s=1.0),),
)
"""Containers that run, that are done, that crash, that a rule restarts and that have crashed, over a restart of their kubelet.

The kubelet is away at about 17 s, and has 20 s to look at its pods again. The second life of "lately" lasts from 3 s to 31 s:
a delay of 10 s after that is no such look.
"""
