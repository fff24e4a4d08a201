"""The input of a checker: one scenario as declared, as predicted and as recorded."""

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any

import msgspec

from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory, Recording
from crashloop.model.after_restart import SKIPPED
from crashloop.model.api_server import as_stored
from crashloop.model.config import InForce
from crashloop.model.prediction import Prediction, predict
from crashloop.model.restart import Decided, Decision, decide, effective_policy, stranded
from crashloop.model.variants import DOCUMENTED, RULES_MATCH_KILLS, Consulted
from crashloop.spec.intervention import CHANGE_A_CONTAINER, InterventionKind
from crashloop.spec.pod import Container, ContainerKind, RestartPolicy
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import KILLED, Life, LifeEnd, Program
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion


class Memo:
    """What the judgements on one recorded scenario have in common, worked out once; keys begin with the model's variants."""

    def __init__(self, played: "Memo | None" = None) -> None:
        """`played` has met a pod that is alike, on a kubelet that is: the model does not play it through again."""
        # A prediction asks its own Consulted for variants, so both belong together.
        self.documented: Consulted = played.documented if played else Consulted()
        """No variant, as all judgements by the promise have it."""
        self.predictions: dict[frozenset[str], Prediction] = played.predictions if played else {}
        self.delays: dict[tuple[frozenset[str], str, str], tuple[Any, ...]] = {}
        """By pod uid and container: crashloop.restarts.restart.Restart."""
        self.resets: dict[tuple[frozenset[str], str], tuple[Any, ...]] = {}
        """By pod uid: crashloop.restarts.restart_all.RestartAllTrigger."""
        self.replacements: dict[tuple[frozenset[str], str, str], dict[int, Any]] = {}
        """By pod uid and container: crashloop.restarts.restart_all.Replacement of each instance, by ordinal."""
        self.refused_ns: dict[frozenset[str], tuple[tuple[int, int], ...]] = {}
        """Times in which the API server refuses the statuses of a pod."""
        self.syncing_ns: tuple[tuple[int, int], ...] | None = None
        """Times of syncs that start or kill something, apart from each other and in order; whatever the variants."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a checker of a pod scenario may look at."""

    scenario: PodScenario
    profile: KubeletProfile
    """Of the node."""
    later: tuple[KubeletProfile, ...] = ()
    """Those that the kubelet was restarted with in mid-scenario."""
    prediction: Prediction
    recording: Recording
    memo: Memo = msgspec.field(default_factory=Memo)
    parameters: dict[str, Any] = {}
    """From the requirement: such as min_delays."""

    @property
    def pods(self) -> tuple[PodHistory, ...]:
        """The pods in the order of their appearance: one, or more if the scenario recreates it."""
        return self.recording.pods

    @property
    def pod(self) -> PodHistory:
        """The first pod. A case is only made of recordings that hold one."""
        return self.recording.pods[0]

    @property
    def restarts_all(self) -> bool:
        """Whether a rule of the pod can restart all its containers."""
        return self.scenario.pod.restarts_all

    def is_changed(self, container: str) -> bool:
        """Whether the scenario changes the container's definition."""
        return self._meets(container, CHANGE_A_CONTAINER)

    def changes_ns(self, container: str) -> list[int]:
        """When the scenario changed its definition, UTC."""
        return [
            each.t_ns
            for each in self.recording.interventions
            if each.data.action in CHANGE_A_CONTAINER and (each.data.arguments or {}).get("container") == container
        ]

    def is_removed(self, container: str) -> bool:
        """Whether the scenario has the runtime forget the container."""
        return self._meets(container, {InterventionKind.REMOVE_CONTAINER})

    def may_lack_instance(self, container: str) -> bool:
        """Whether a container that has run may have no instance for a while, of which a status then knows no id.

        RestartAllContainers removes them, a scenario may, and the kubelet removes init containers for another sandbox
        (pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 purgeInitContainers).
        """
        is_init = self.scenario.pod.container(container).kind is ContainerKind.INIT
        kills = (each.action == InterventionKind.KILL_SANDBOX for each in self.scenario.interventions)
        return self.restarts_all or self.is_removed(container) or (is_init and any(kills))

    def record_lost_ns(self, container: str, instance: Instance, *, by_its_kill: bool = False) -> int | None:
        """When the scenario had the runtime forget an instance that had ended, before another began (UTC); None if it did not.

        `by_its_kill`: or one that still ran, which ends it.
        """
        ended_ns = instance.exit_ns
        begun_ns = (each.begun_ns for pod in self.pods for each in pod.instances(container))
        following_ns = min(
            (each for each in begun_ns if each and ended_ns and each >= ended_ns), default=self.recording.end_ns
        )
        removals = (
            (each.t_ns, each.data.ended_ns if by_its_kill and each.data.ended_ns else each.t_ns)
            for each in self.recording.interventions
            if each.ok
            and each.data.action == InterventionKind.REMOVE_CONTAINER
            and (each.data.arguments or {}).get("container") == container
        )
        if ended_ns is None:
            return None
        return next((at_ns for at_ns, until_ns in removals if ended_ns <= until_ns and at_ns <= following_ns), None)

    def _meets(self, container: str, actions: Collection[InterventionKind]) -> bool:
        """Whether one of these interventions of the scenario names the container."""
        return any(
            each.action in actions and each.arguments.get("container") == container
            for each in self.scenario.interventions
        )

    def profile_at(self, t_ns: int) -> KubeletProfile:
        """The profile that the kubelet was to run with at a time (UTC)."""
        name = self.recording.reconfigured_to(t_ns)
        return next((each for each in self.later if each.name == name), self.profile)

    def in_force_at(self, t_ns: int | None) -> InForce:
        """What the kubelet ran with at a time (UTC); at the end of the recording, if the time is not known."""
        return self.prediction.in_force[self.profile_at(self.recording.end_ns if t_ns is None else t_ns).name]

    def lost_sandbox(self, instance: Instance, following: Instance | None) -> bool:
        """Whether the pod's sandbox was killed after an instance began, and before it ended or the next one began."""
        return self.sandbox_killed_ns(instance, following) is not None

    def sandbox_killed_ns(self, instance: Instance, following: Instance | None) -> int | None:
        """When the sandbox was killed then, UTC; None if it was not."""
        begun_ns = following.begun_ns if following else self.recording.end_ns
        until_ns = max((each for each in (instance.exit_ns, begun_ns) if each is not None), default=None)
        from_ns = instance.begun_ns or 0
        if instance.exit_ns is None:
            return None
        # An instance that is being created meanwhile comes into the sandbox that is gone.
        of_pod = (each for each in self.pods if any(instance in of_one for of_one in each.containers.values()))
        pod = next(of_pod, self.pod) if len(self.pods) > 1 else self.pod
        made = [each.fact for each in pod.sandboxes if each.phase == "created"]
        since_ns = max((each.utc_ns or 0 for each in made if (each.utc_ns or 0) <= from_ns), default=from_ns)
        killed_ns = next((each for each in self.sandbox_kills_ns if since_ns <= each <= (until_ns or 0)), None)
        # What a sync under way still starts was decided before, and comes into the sandbox that is gone, too.
        is_seen = any(each.phase == "exited" for each in pod.sandboxes)
        if following and killed_ns and is_seen and instance.exit_ns < killed_ns and begun_ns is not None:
            # A coarse stamp is rounded down, so that the next sandbox may seem to be there before the kill.
            spans_ns = ((each.utc_ns or 0, (each.utc_ns or 0) + each.resolution_ns) for each in made)
            return killed_ns if any(first <= begun_ns and killed_ns < last for first, last in spans_ns) else None
        return killed_ns

    @property
    def sandbox_kills_ns(self) -> list[int]:
        """When the scenario, a lack of memory, or the end of all that a pod had to run killed a sandbox, UTC, in order."""
        done = (each for each in self.recording.interventions if each.data.action == InterventionKind.KILL_SANDBOX)
        ooms_ns = (each.fact.utc_ns or 0 for pod in self.pods for each in pod.sandboxes if each.out_of_memory)
        return sorted((*(each.t_ns for each in done if each.ok), *ooms_ns, *self._last_kills_ns()))

    def _last_kills_ns(self) -> Iterator[int]:
        """When a probe's kill left a pod without anything to run: a rule under Never restarts later, so the kubelet ends the pod.

        pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 computePodActions.
        """
        if RULES_MATCH_KILLS not in self.prediction.deviations:
            return
        for pod, spec in product(self.pods, self.scenario.pod.of_kind(ContainerKind.REGULAR)):
            for each in pod.instances(spec.name) if spec.rules and spec.killing_probes else ():
                by_kill = each.exit_code in (spec.exit_code_on_term, KILLED) and not ended_as_planned(spec, each)
                if by_kill and each.exit_ns is not None and self._is_last(pod, spec, each):
                    yield each.exit_ns

    def _is_last(self, pod: PodHistory, spec: Container, instance: Instance) -> bool:
        """Whether its policy is Never, and each other regular container had ended for good by its end."""
        kubelet = self.in_force_at(instance.exit_ns)
        known: dict[str, Any] = {"gates": kubelet.gates, "version": kubelet.version}
        for other in (each for each in self.scenario.pod.of_kind(ContainerKind.REGULAR) if each != spec):
            begun = [each for each in pod.instances(other.name) if (each.begun_ns or 0) < (instance.exit_ns or 0)]
            ended = begun[-1] if begun else None
            if ended is None or ended.exit_code is None or (ended.exit_ns or 0) > (instance.exit_ns or 0):
                return False
            if decide(self.scenario.pod, other, ended.exit_code, **known).decision is not Decision.STOP:
                return False
        return self.is_under_never(spec, instance.exit_ns)

    def is_under_never(self, spec: Container, t_ns: int | None) -> bool:
        """Whether the restart policy that counts for a container at a time (UTC) is Never."""
        kubelet = self.in_force_at(t_ns)
        return effective_policy(self.scenario.pod, spec, kubelet.gates, kubelet.version)[0] is RestartPolicy.NEVER

    def decided(
        self, container: str, instance: Instance, *, killed: bool = False, following: Instance | None = None
    ) -> Decided:
        """What the model decides after the exit of an instance, with the exit code that was seen.

        The kubelet decides at every sync: a restart that one has decided is decided again by the one that carries it out.
        """

        pod, spec = self.scenario.pod, self.scenario.pod.container(container)

        def by(kubelet: InForce) -> Decided:
            known: dict[str, Any] = {
                "gates": kubelet.gates,
                "version": kubelet.version,
                "deviations": self.prediction.deviations,
            }
            code = instance.exit_code if instance.exit_code is not None else 0
            decided = decide(
                pod,
                spec,
                code,
                killed=killed,
                sandbox_lost=self.lost_sandbox(instance, following),
                record_lost=self.record_lost_ns(container, instance) is not None,
                **known,
            )
            if not killed or not spec.killing_probes or decided.decision is not Decision.RESTART:
                return decided
            alone = any(
                self._is_last(each, spec, instance) for each in self.pods if instance in each.instances(container)
            )
            return stranded(pod, spec, alone=alone, **known) or decided

        first = self.in_force_at(instance.exit_ns)
        last = self.in_force_at(following.begun_ns if following else None)
        if self._is_by_the_same(instance, following):
            last = first
        decided = by(first)
        return decided if first is last or (decided.decision is Decision.STOP and following is None) else by(last)

    def _is_by_the_same(self, instance: Instance, following: Instance | None) -> bool:
        """Whether the kubelet of an exit decided the next start: the process after it was seen to start later than that."""
        ended_ns = instance.exit_ns
        begun_ns = following.begun_ns if following else None
        if ended_ns is None or begun_ns is None:
            return False
        later = (each.data.kubelet_started_ns for each in self.recording.nodes)
        next_ns = min((each for each in later if each is not None and each > ended_ns), default=None)
        return next_ns is not None and begun_ns < next_ns

    def number(self, parameter: str, default: float) -> float:
        """A numeric parameter of the requirement."""
        return float(self.parameters.get(parameter, default))


_BY_ITS_TIME = frozenset({LifeEnd.EXIT, LifeEnd.SIGNAL, LifeEnd.MEMORY})
"""Ends of a life that come at its own time, so that an earlier one with the same code was a kill."""

START_EARLY_NS = 100_000_000
"""By how much sooner than planned a life may seem to end: its start is stamped after its program began."""


def ended_as_planned(spec: Container, instance: Instance, number: int | None = None) -> bool:
    """Whether an instance ended as its program says of life `number`, by default its place among all instances.

    Where its code is also that of a kill, what it has left tells: its own exit leaves its name in the termination log; or else
    how long it ran.
    """
    lives = _each_life(spec.program)
    number = instance.ordinal if number is None else number
    number += sum(int(note.value) for note in instance.notes if note.name == SKIPPED)
    if number >= len(lives) or instance.exit_code != lives[number].exit_code:
        return False
    codes = (spec.exit_code_on_term, KILLED) if spec.killing_probes else (spec.exit_code_on_term,)
    by_kill_too = instance.exit_code in codes and lives[number].end in _BY_ITS_TIME
    if not by_kill_too or instance.told:
        return True
    if instance.journal_exited is not None:
        return instance.exit_code == KILLED  # nothing has the time to write that SIGKILL ends it
    starts = (instance.started, instance.journal_started)
    start_ns = min((each.utc_ns for each in starts if each is not None and each.utc_ns is not None), default=None)
    if start_ns is None or instance.exit_ns is None:
        return True
    return instance.exit_ns - start_ns >= lives[number].run_s * 1e9 - START_EARLY_NS


@lru_cache(maxsize=64)
def _each_life(program: Program) -> tuple[Life, ...]:
    return program.each_life()


def case_of(
    declared: PodScenario,
    recording: Recording,
    profile: KubeletProfile,
    version: KubernetesVersion,
    *,
    memo: Memo,
    variants: frozenset[str] = DOCUMENTED,
    later: tuple[KubeletProfile, ...] = (),
    parameters: Mapping[str, Any] | None = None,
) -> Case:
    """A recorded scenario beside what the model promises of it under these variants. `version` is the cluster's.

    Raises UsageError if a kubelet does not start with one of the profiles.
    """
    asked = variants or memo.documented
    scenario = as_stored(declared, asked)
    if asked not in memo.predictions:
        memo.predictions[asked] = predict(scenario, profile, version, asked, later=later)
    return Case(
        scenario=scenario,
        profile=profile,
        later=later,
        prediction=memo.predictions[asked],
        recording=recording,
        memo=memo,
        parameters=dict(parameters or {}),
    )
