"""The scenarios of the kubelets: short versions of the conformance scenarios, and their requirements."""

from typing import Any

import msgspec

from crashloop.spec.dependency import ConfigObject, Variable
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, ContainerKind, Pod, Probe, ProbeKind, RestartPolicy, restart_in
from crashloop.spec.program import HOLDS, Life, Program, exits_with, runs
from crashloop.spec.scenario import ApiScenario, Mode, PodScenario, StartupScenario, Until
from suites.conformance.api_objects import codes, container, pod, ruled, stored

WATCH_S = 60.0
"""Longest wait for a restart. A stall of the host excuses a delay of the same length, so a late restart has to be very late."""
QUIET_S = 66.0
"""Observation of "it does not restart" after the last exit: twice (the largest due delay, 2 s, plus 30 s), and a margin."""
SPARE_S = 5.0


class StartTrial(msgspec.Struct, frozen=True, kw_only=True):
    """Starts of the kubelet with a configuration that it has to refuse, beside a valid one."""

    name: str
    candidate: str
    """Kubelet profiles (manifests/kubelet)."""
    control: str
    judged_by: tuple[str, ...]

    @property
    def tried(self) -> tuple[str, ...]:
        return self.candidate, self.control

    def on(self, profile: str) -> StartupScenario:
        """The scenario on a node with that profile."""
        return StartupScenario(
            name=f"{self.name}--{profile}",
            profile=profile,
            candidate=f"{self.candidate}--on--{profile}",
            control=f"{self.control}--on--{profile}",
        )


class ApiTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that the API server stores and that never runs, and its requirements."""

    name: str
    object: dict[str, Any]
    judged_by: tuple[str, ...]
    tried: tuple[str, ...] = ()

    def on(self, profile: str) -> ApiScenario:
        """The scenario of a node with that profile, which it does not need: the pod's name ends with the profile's."""
        name = f"{self.name}--{profile}"
        return ApiScenario(name=name, requests=(stored({**self.object, "metadata": {"name": name}}),))


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A pod and its requirements, for any node."""

    name: str
    pod: Pod
    until: Until
    judged_by: tuple[str, ...]
    mode: Mode = Mode.NATURAL
    interventions: tuple[Intervention, ...] = ()
    objects: tuple[ConfigObject, ...] = ()
    tried: tuple[str, ...] = ()

    def on(self, profile: str) -> PodScenario:
        """The scenario on a node with that profile."""
        return PodScenario(
            name=f"{self.name}--{profile}",
            profile=profile,
            pod=self.pod,
            until=self.until,
            mode=self.mode,
            interventions=self.interventions,
            objects=self.objects,
        )


def _restarting(
    name: str, *judged_by: str, restarts: int, policy: RestartPolicy = RestartPolicy.ALWAYS, container: Container
) -> Trial:
    return Trial(
        name=name,
        pod=Pod(containers=(container,), restart_policy=policy),
        until=Until(restarts={container.name: restarts}, at_most_s=WATCH_S),
        judged_by=judged_by,
    )


def _ending(
    name: str,
    *judged_by: str,
    policy: RestartPolicy,
    exits: int,
    within_s: float,
    phase: str,
    container: Container,
) -> Trial:
    """`within_s`: the most that all lives and the delays between them take."""
    return Trial(
        name=name,
        pod=Pod(containers=(container,), restart_policy=policy),
        until=Until(
            exits={container.name: exits},
            phase=phase,
            at_least_s=within_s + QUIET_S,
            at_most_s=within_s + QUIET_S + SPARE_S,
        ),
        judged_by=judged_by,
    )


def _by_rule(program: Program) -> Container:
    return Container(program=program, restart_policy=RestartPolicy.NEVER, rules=(restart_in(42),))


CRASHING = _restarting(
    "crashing",
    *("BACKOFF-2", "BACKOFF-3", "BACKOFF-4", "CONFIG-14", "RULES-20", "RULES-22"),
    restarts=5,
    container=Container(program=exits_with(1, times=5)),
)
POKED = Trial(
    name="poked",
    # Lives of fractional seconds, so that the patches hit the delay early.
    pod=Pod(containers=(Container(program=exits_with(1, after_s=0.5, times=8)),)),
    until=Until(restarts={"app": 8}, at_most_s=WATCH_S),
    judged_by=("BACKOFF-2", "BACKOFF-20"),
    mode=Mode.ANNOTATED,
)
"""Without the requeue's jitter, which would hide a delay that is a second too short."""
AIMED = tuple(
    Trial(
        name=name,
        pod=Pod(containers=(Container(program=Program((Life(run_s=0.96, times=40),), aims_at_s=1.0)),)),
        until=Until(restarts={"app": 40}, at_most_s=150.0),
        judged_by=("BACKOFF-2", "BACKOFF-20"),
        mode=Mode.ANNOTATED,
    )
    for name in ("aimed", "aimed-too")
)
"""The kubelet looks about once a second, and most looks come long before or after the end of a delay. These come at it.

Two thirds of them then come just before it or just after the next look, and a slow create hides how early a restart was. Beside
34 nodes 8 and 12 of 78 delays showed 30 ms, so 19 delays are too few."""
LONGER = Trial(
    name="longer",
    pod=Pod(containers=(Container(program=exits_with(1, times=4)),)),
    until=Until(restarts={"app": 4}, at_most_s=90.0),
    judged_by=("BACKOFF-2", "BACKOFF-20", "CONFIG-14"),
    mode=Mode.ANNOTATED,
)
LIVENESS = Trial(
    name="liveness",
    pod=Pod(containers=(Container(program=HOLDS, probes=(Probe(pattern="FFSFFF"),)),)),
    until=Until(restarts={"app": 1}, at_most_s=WATCH_S),
    judged_by=("PROBE-2",),
)
READINESS = Trial(
    name="readiness",
    pod=Pod(
        containers=(
            Container(program=HOLDS, probes=(Probe(kind=ProbeKind.READINESS, pattern="SS" + "F" * 40, period_s=2),)),
        )
    ),
    until=Until(at_least_s=45.0),
    judged_by=("PROBE-25",),
)
CONFIGURED = Trial(
    name="configured",
    pod=Pod(
        containers=(
            Container(
                program=runs((2.5, 1), (10, 1), (4, 1), (4, 1)), env=(Variable(name="GREETING", object="settings"),)
            ),
        )
    ),
    until=Until(restarts={"app": 4}, quiet_s=3, at_most_s=WATCH_S),
    judged_by=("OVH-4",),
    objects=(ConfigObject(name="settings", data={"GREETING": "one"}),),
    interventions=(
        Intervention(
            trigger=Trigger(after_s=7),
            action=InterventionKind.CHANGE_OBJECT,
            arguments={"object": "settings", "data": {"GREETING": "two"}},
        ),
    ),
)
"""The ConfigMap changes during the second life, so that the third has the new value."""
SEVERAL_RULES = _restarting(
    "several-rules",
    "RULES-6",
    restarts=2,
    policy=RestartPolicy.NEVER,
    container=Container(
        program=runs((1, 42), (1, 43)), restart_policy=RestartPolicy.NEVER, rules=(restart_in(42), restart_in(43))
    ),
)
KUBELET_RESTARTED = Trial(
    name="kubelet-restarted",
    pod=Pod(containers=(Container(program=exits_with(1, times=5)),)),
    until=Until(restarts={"app": 5}, at_most_s=WATCH_S),
    judged_by=("RULES-22",),
    interventions=(
        Intervention(trigger=Trigger(container="app", after_restart=2), action=InterventionKind.RESTART_KUBELET),
    ),
)
BAD_CONFIGURATION = StartTrial(
    name="bad-configuration", candidate="max-301s", control="max-300s", judged_by=("CONFIG-2",)
)
SUCCEEDING = _restarting(
    "succeeding", "BACKOFF-7", "RULES-22", restarts=5, container=Container(program=exits_with(0, times=5))
)
BY_RULE = _restarting(
    "by-rule",
    *("RULES-3", "RULES-15", "RULES-16", "RULES-17"),
    restarts=4,
    policy=RestartPolicy.NEVER,
    container=_by_rule(exits_with(42, times=4)),
)
INIT = Trial(
    name="init",
    pod=Pod(
        containers=(
            Container(name="setup", kind=ContainerKind.INIT, program=runs((3, 1), (3, 1), (3, 1), (3, 1), (3, 0))),
            Container(program=HOLDS),
        )
    ),
    until=Until(restarts={"setup": 4}, phase="Running", at_most_s=WATCH_S),
    judged_by=("BACKOFF-16",),
)
REDUCED = _restarting(
    "reduced",
    *("DECAY-1", "BACKOFF-2", "BACKOFF-3"),
    restarts=5,
    container=Container(program=exits_with(1, times=5)),
)
UNTIL_SUCCESS = _ending(
    "until-success",
    "BACKOFF-8",
    policy=RestartPolicy.ON_FAILURE,
    exits=3,
    within_s=11.0,
    phase="Succeeded",
    container=Container(program=runs((1, 1), (1, 1), (1, 0))),
)
UNMATCHED = _ending(
    "unmatched",
    "RULES-4",
    policy=RestartPolicy.NEVER,
    exits=1,
    within_s=3.0,
    phase="Failed",
    container=_by_rule(runs((1, 43))),
)
UNMATCHED_UNDER_ALWAYS = msgspec.structs.replace(
    UNMATCHED,
    name="unmatched-under-always",
    pod=msgspec.structs.replace(UNMATCHED.pod, restart_policy=RestartPolicy.ALWAYS),
)
"""Only the container's own policy keeps it from a restart."""
STORED_RULES = ApiTrial(
    name="stored-rules",
    object=pod(
        "unnamed",
        ruled(codes("In", 42), codes("In", 43)),
        init=(ruled(codes("NotIn", 0), codes("In", 3), name="setup"), container("sidecar", restartPolicy="Always")),
    ),
    judged_by=("VAL-18",),
)
