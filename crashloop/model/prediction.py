"""The prediction for a scenario: admission, exits and decisions, delays, final phase; or for a kubelet's start.

Theory of operation. `predict` combines the parts of the model for one scenario on one node: the node's curve
(config.py), the pod's exits and decisions (rehearsal.py), its final phase (pod_status.py). Delays are not predicted in
advance: `Prediction.dues_for` derives them from the lives that were observed (backoff.py). The rehearsal knows only the
configuration that the node begins with; a kubelet that a scenario restarts with another one shows in the lives.

Before that a pod has to get to run: the scheduler places it on its node, and the kubelet takes it. Of the features here only
RestartAllContainersOnContainerExits is declared by nodes: the scheduler keeps pods with such a rule from nodes without it, and a
kubelet rejects one that is bound to it nevertheless, also when it starts again and finds it running. ContainerRestartRules is
not declared: a kubelet without it takes the pod and goes by the pod's restart policy. What the API server makes of a pod is in
api_server.py.
Source: KEP-5532, Version Skew Strategy and Upgrade / Downgrade Strategy; KEP-5328 (NodeDeclaredFeatures);
pkg/scheduler/framework/plugins/nodedeclaredfeatures, pkg/kubelet/lifecycle/handlers.go@v1.37.1.
"""

import math
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from crashloop.model.backoff import Due, dues
from crashloop.model.config import Curve, InForce, Refusal, effective_curve, in_force, unknown_flag
from crashloop.model.counter import Setting
from crashloop.model.gates import NODE_DECLARED_FEATURES_GATE, enabled_by_default, is_enabled
from crashloop.model.lives import Observed
from crashloop.model.planned_exit import PlannedExit
from crashloop.model.pod_status import FAILED, PENDING, SUCCEEDED
from crashloop.model.rehearsal import Rehearsal, rehearse
from crashloop.model.variants import DOCUMENTED, RESTART_ALL_OFF_REJECTS_POD, require_known
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Action, Pod
from crashloop.spec.profile import RESTART_ALL_GATE, KubeletProfile
from crashloop.spec.scenario import Mode, PodScenario, StartupScenario
from crashloop.spec.version import KubernetesVersion


class Admission(StrEnum):
    """What becomes of a pod before any of its containers starts."""

    RUNS = "runs"
    REJECTED = "rejected"
    """Its kubelet fails it."""
    UNPLACED = "unplaced"
    """The scheduler leaves it Pending."""


def needs_restart_all(pod: Pod) -> bool:
    """Whether a pod requires a node with RestartAllContainersOnContainerExits."""
    return any(rule.action is Action.RESTART_ALL_CONTAINERS for each in pod.containers for rule in each.rules)


def kubelet_rejects(
    pod: Pod, gates: dict[str, bool], version: KubernetesVersion, deviations: frozenset[str] = DOCUMENTED
) -> bool:
    """Whether the kubelet fails a pod that is bound to it instead of running it."""
    # "the action is ignored" -- KEP-5532, Version Skew Strategy
    return (
        needs_restart_all(pod)
        and is_enabled(NODE_DECLARED_FEATURES_GATE, gates, version)
        and not is_enabled(RESTART_ALL_GATE, gates, version)
        and RESTART_ALL_OFF_REJECTS_POD in deviations
    )


def scheduler_places(
    pod: Pod, gates: dict[str, bool], version: KubernetesVersion, scheduler_version: KubernetesVersion
) -> bool:
    """Whether a scheduler with the gates of its release binds a pod to a node with these gates and that version."""
    declared = is_enabled(NODE_DECLARED_FEATURES_GATE, gates, version) and is_enabled(RESTART_ALL_GATE, gates, version)
    return (
        declared or not needs_restart_all(pod) or not enabled_by_default(NODE_DECLARED_FEATURES_GATE, scheduler_version)
    )


_SYNCS_THE_POD = (
    InterventionKind.ANNOTATE,
    InterventionKind.LABEL,
    InterventionKind.CHANGE_IMAGE,
    InterventionKind.RESIZE,
)


class ContainerPrediction(msgspec.Struct, frozen=True, kw_only=True):
    """What one container is expected to do, interventions apart."""

    name: str
    exits: tuple[PlannedExit, ...]
    """In order. A container that loops for ever has more of them."""
    restarts: int | None
    """How often it is restarted in all; None if it loops for ever."""
    other_sync_sources: bool
    """Whether anything else than its own exits makes the kubelet look at the pod."""


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What the model expects of one scenario."""

    scenario: str
    profile: str
    """Of the node."""
    in_force: dict[str, InForce]
    """What a kubelet runs with, by profile: the node's, and those that the scenario restarts it with."""
    mode: Mode
    containers: dict[str, ContainerPrediction]
    phase: str
    """The pod's phase once all programs have ended, holding included."""
    deviations: frozenset[str] = DOCUMENTED
    admission: Admission = Admission.RUNS

    @property
    def at_first(self) -> InForce:
        """What the kubelet runs with when the scenario begins."""
        return self.in_force[self.profile]

    @property
    def curve(self) -> Curve:
        return self.at_first.curve

    def dues_for(self, container: str, lives: Iterable[Observed], begins: InForce | None = None) -> tuple[Due, ...]:
        """The window of each restart of a container, from the lives it has had. Raises KeyError.

        `begins` is in force at its first start; the default is what the node begins with.
        """
        expected, begins = self.containers[container], begins or self.at_first
        return dues(
            begins.curve,
            lives,
            version=begins.version,
            mode=self.mode,
            deviations=self.deviations,
            other_sync_sources=expected.other_sync_sources,
        )


def predict(
    scenario: PodScenario,
    profile: KubeletProfile,
    version: KubernetesVersion,
    deviations: frozenset[str] = DOCUMENTED,
    *,
    later: Iterable[KubeletProfile] = (),
) -> Prediction:
    """What to expect of `scenario` on a node with `profile`. `version` is the cluster's.

    `later` are the profiles that the scenario restarts the kubelet with. Raises UsageError if a kubelet does not start with
    one of them.
    """
    require_known(deviations)
    begins = in_force(profile, version, deviations)
    setting = setting_of(scenario, begins, deviations)
    admission = admission_of(scenario, begins, version, deviations)
    if admission is Admission.RUNS:
        rehearsal = rehearse(scenario.pod, setting, begins.gates, pace=lambda due_s: due_s)
    else:
        stays = FAILED if admission is Admission.REJECTED else PENDING
        rehearsal = Rehearsal(exits={}, exits_s={}, starts_s={}, phase=stays, ended_s=0.0, loops=False)
    deadline_s = scenario.pod.active_deadline_s
    over = rehearsal.phase in (SUCCEEDED, FAILED) and rehearsal.ended_s < (deadline_s or math.inf)
    return Prediction(
        scenario=scenario.name,
        profile=profile.name,
        in_force={each.name: in_force(each, version, deviations) for each in later} | {profile.name: begins},
        mode=scenario.mode,
        containers={each.name: _container(scenario, each.name, rehearsal) for each in scenario.pod.containers},
        phase=rehearsal.phase if deadline_s is None or over else FAILED,
        deviations=deviations,
        admission=admission,
    )


def admission_of(
    scenario: PodScenario, in_force: InForce, version: KubernetesVersion, deviations: frozenset[str] = DOCUMENTED
) -> Admission:
    """What becomes of the pod of a scenario on a node with that in force. `version` is the scheduler's."""
    pod, gates = scenario.pod, in_force.gates
    if scenario.by_scheduler and not scheduler_places(pod, gates, in_force.version, version):
        return Admission.UNPLACED
    return Admission.REJECTED if kubelet_rejects(pod, gates, in_force.version, deviations) else Admission.RUNS


def predict_startup(
    scenario: StartupScenario,
    candidate: KubeletProfile,
    version: KubernetesVersion,
    deviations: frozenset[str] = DOCUMENTED,
) -> Curve | Refusal:
    """What becomes of the kubelet that `scenario` starts: the curve it runs with, or why it does not start.

    Raises ValueError if `candidate` is not the profile that the scenario names.
    """
    if candidate.name != scenario.candidate:
        raise ValueError(f"scenario {scenario.name} tries profile {scenario.candidate}, not {candidate.name}")
    if scenario.unknown_flags:
        return unknown_flag(scenario.unknown_flags[0])
    return effective_curve(candidate, version, deviations=deviations)


def setting_of(scenario: PodScenario, in_force: InForce, deviations: frozenset[str]) -> Setting:
    """What the counters of a scenario's containers go by, on a node with that in force."""
    return Setting(
        curve=in_force.curve,
        version=in_force.version,
        mode=scenario.mode,
        deviations=deviations,
        other_sync_sources=any(_others_sync(scenario, each.name) for each in scenario.pod.containers),
    )


def _container(scenario: PodScenario, name: str, rehearsal: Rehearsal) -> ContainerPrediction:
    restarts = len(rehearsal.restarts_s.get(name, ()))
    return ContainerPrediction(
        name=name,
        exits=rehearsal.exits.get(name, ()),
        restarts=None if rehearsal.loops and restarts else restarts,
        other_sync_sources=_others_sync(scenario, name),
    )


def _others_sync(scenario: PodScenario, name: str) -> bool:
    """Whether siblings that exit, a probe or an update of the pod make the kubelet look at it."""
    return (
        any(each.probes or (each.program.exits and each.name != name) for each in scenario.pod.containers)
        or any(each.action in _SYNCS_THE_POD for each in scenario.interventions)
    )  # fmt: skip
