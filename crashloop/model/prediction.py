"""The prediction for a scenario: exits and decisions, delays, final phase; or for a kubelet's start.

Theory of operation. `predict` combines the parts of the model for one scenario on one node: the node's curve
(config.py), the pod's exits and decisions (rehearsal.py), its final phase (phase.py). Delays are not predicted in
advance: `Prediction.dues_for` derives them from the lives that were observed (backoff.py).
"""

from collections.abc import Iterable

import msgspec

from crashloop.errors import UsageError
from crashloop.model.admission import kubelet_rejects
from crashloop.model.backoff import Due, dues
from crashloop.model.completion import complete_s
from crashloop.model.config import Curve, Refusal, effective_curve
from crashloop.model.counter import Setting
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.model.lateness import soonest_s
from crashloop.model.lives import Lived, Observed
from crashloop.model.phase import FAILED
from crashloop.model.planned_exit import PlannedExit
from crashloop.model.rehearsal import Rehearsal, rehearse
from crashloop.model.restart import Decision
from crashloop.model.variants import DOCUMENTED, as_shipped, require_known
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import InterventionKind, Mode, PodScenario, StartupScenario
from crashloop.spec.version import KubernetesVersion

_SYNCS_THE_POD = (InterventionKind.ANNOTATE, InterventionKind.CHANGE_IMAGE, InterventionKind.RESIZE)
_SLOW_START_S = 3.0
"""What a start takes on a loaded node: image check, create, start; for the first one scheduling and sandbox too."""


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
    version: KubernetesVersion
    """Of the node's kubelet."""
    curve: Curve
    mode: Mode
    containers: dict[str, ContainerPrediction]
    phase: str
    """The pod's phase once all programs have come to their end, holding included."""
    deviations: frozenset[str] = DOCUMENTED

    def dues_for(self, container: str, lives: Iterable[Observed]) -> tuple[Due, ...]:
        """The window of each restart of a container, from the lives it has had. Raises KeyError."""
        expected = self.containers[container]
        return dues(
            self.curve,
            _with_resets(lives, expected.exits),
            version=self.version,
            mode=self.mode,
            deviations=self.deviations,
            other_sync_sources=expected.other_sync_sources,
        )


def predict(
    scenario: PodScenario,
    profile: KubeletProfile,
    version: KubernetesVersion,
    deviations: frozenset[str] = DOCUMENTED,
) -> Prediction:
    """What to expect of `scenario` on a node with `profile`. `version` is the cluster's.

    Raises UsageError if the kubelet does not start with the profile.
    """
    require_known(deviations)
    curve = _curve_of(profile, version, deviations)
    setting = _setting(scenario, profile, version, curve, deviations)
    gates = effective_gates(profile, version)
    rehearsal = rehearse(scenario.pod, setting, gates, pace=lambda due_s: due_s)
    if kubelet_rejects(scenario.pod, gates, setting.version, deviations):
        rehearsal = Rehearsal(exits={}, exits_s={}, restarts_s={}, phase=FAILED, ended_s=0.0, loops=False)
    return Prediction(
        scenario=scenario.name,
        profile=profile.name,
        version=setting.version,
        curve=curve,
        mode=scenario.mode,
        containers={each.name: _container(scenario, each.name, rehearsal) for each in scenario.pod.containers},
        phase=rehearsal.phase,
        deviations=deviations,
    )


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
    return effective_curve(candidate, version, deviations=deviations)


def expected_duration_s(
    scenario: PodScenario,
    profile: KubeletProfile,
    version: KubernetesVersion,
    deviations: frozenset[str] | None = None,
) -> tuple[float, float]:
    """Earliest and latest time from the pod's creation until its evidence is complete; interventions apart.

    Both end with the watch itself. By default for the kubelet as shipped, known deviations included.
    Raises UsageError if the kubelet does not start with the profile.
    """
    known = as_shipped(kubelet_version(profile, version)) if deviations is None else deviations
    setting = _setting(scenario, profile, version, _curve_of(profile, version, known), known)
    gates = effective_gates(profile, version)
    soonest = rehearse(
        scenario.pod,
        setting,
        gates,
        pace=lambda due_s: soonest_s(due_s, setting.version, mode=setting.mode),
    )
    latest = rehearse(scenario.pod, setting, gates, pace=setting.latest_s, start_s=_SLOW_START_S)
    return complete_s(scenario.until, soonest), complete_s(scenario.until, latest)


def _curve_of(profile: KubeletProfile, version: KubernetesVersion, deviations: frozenset[str]) -> Curve:
    curve = effective_curve(profile, version, deviations=deviations)
    if isinstance(curve, Refusal):
        raise UsageError(
            f"kubelet profile {profile.name!r}: a kubelet {kubelet_version(profile, version)} does not start with it "
            f"({curve.kind}).\nIt says: {curve.text}"
        )
    return curve


def _setting(
    scenario: PodScenario,
    profile: KubeletProfile,
    version: KubernetesVersion,
    curve: Curve,
    deviations: frozenset[str],
) -> Setting:
    return Setting(
        curve=curve,
        version=kubelet_version(profile, version),
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
        any(each.probe is not None or (each.program.exits and each.name != name) for each in scenario.pod.containers)
        or any(each.action in _SYNCS_THE_POD for each in scenario.interventions)
    )  # fmt: skip


def _with_resets(lives: Iterable[Observed], exits: tuple[PlannedExit, ...]) -> Iterable[Observed]:
    """The lives, those marked that a RestartAllContainers is expected to end."""
    planned = iter(exits)
    for each in lives:
        plan = next(planned, None) if isinstance(each, Lived) else None
        if isinstance(each, Lived) and plan is not None and plan.decision is Decision.RESTART_ALL:
            each = msgspec.structs.replace(
                each, restart_all=True, killed_by_kubelet=each.killed_by_kubelet or plan.killed
            )
        yield each
