"""Decides whether an exited container is restarted.

Theory of operation. The kind of the container decides first: ephemeral containers are never restarted, sidecars always,
regular init containers are done once they exit 0. Then the first restart rule that matches the exit code decides; then
the container's restart policy; then, where it has none, the pod's. A kill by a probe is no exit code of the
container's own, so it skips the rules. A kubelet without ContainerRestartRules knows the pod's policy only, and the
`Always` that makes a sidecar.
Source: KEP-5307, Design Details; KEP-5532, Design Details; pkg/api/v1/pod/util.go@v1.37.1 ContainerShouldRestart;
pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 computeInitContainerActions.
"""

from enum import StrEnum

import msgspec

from crashloop.model.gates import is_enabled
from crashloop.model.variants import (
    CLEAN_EXIT_AFTER_KILL_STOPS,
    DOCUMENTED,
    FORGOTTEN_RUNS_AGAIN,
    NEVER_GETS_NO_SANDBOX,
    RULE_HIDES_LATER_RULES,
    RULES_MATCH_KILLS,
    SANDBOX_REPEATS_NEVER,
    SUCCESS_GETS_NO_SANDBOX,
)
from crashloop.spec.pod import Action, Container, ContainerKind, Pod, RestartPolicy, RestartRule
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.spec.version import KubernetesVersion


class Decision(StrEnum):
    """What becomes of a container after an exit."""

    RESTART = "restart"
    RESTART_ALL = "restart all containers"
    STOP = "stop"


class Decided(msgspec.Struct, frozen=True):
    """A decision and the sentence that led to it."""

    decision: Decision
    step: str
    is_refused: bool = False
    """Whether the API server refuses statuses that show the restart: what has ended for good is not to leave that state.

    pkg/apis/core/validation/validation.go@v1.37.1 ValidateContainerStateTransition
    """


PUT_OFF = Decided(Decision.STOP, "the restart was put off, and OnFailure then sees exit code 0")
LEFT_OUT = Decided(Decision.STOP, "the restart with the sandbox was put off, and Never decides from then on")

# "Always", "OnFailure", "Never" -- documentation, Pod Lifecycle, Container restart policy
_BY_POLICY: dict[tuple[RestartPolicy, bool], Decision] = {
    # policy, exited 0
    (RestartPolicy.ALWAYS, True): Decision.RESTART,
    (RestartPolicy.ALWAYS, False): Decision.RESTART,
    (RestartPolicy.ON_FAILURE, True): Decision.STOP,
    (RestartPolicy.ON_FAILURE, False): Decision.RESTART,
    (RestartPolicy.NEVER, True): Decision.STOP,
    (RestartPolicy.NEVER, False): Decision.STOP,
}
_BY_ACTION = {Action.RESTART: Decision.RESTART, Action.RESTART_ALL_CONTAINERS: Decision.RESTART_ALL}


REDEFINED = Decided(Decision.RESTART, "its image was changed, which restarts it under every policy")
"""The decision about a container that was killed for a new image.

"Restart regardless of the restart policy because the container spec changed." --
pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 computePodActions
"""
RESIZED = Decided(Decision.RESTART, "its resize restarts it under every policy")
"""The decision about a container that was killed to be resized (kuberuntime_manager.go@v1.37.1 computePodResizeAction)."""


def decide(
    pod: Pod,
    container: Container,
    exit_code: int,
    *,
    gates: dict[str, bool],
    version: KubernetesVersion,
    killed: bool = False,
    sandbox_lost: bool = False,
    record_lost: bool = False,
    deviations: frozenset[str] = DOCUMENTED,
) -> Decided:
    """What the kubelet does about `container` of `pod` after an exit with `exit_code`.

    `gates` are those of the node; what they leave out is as the kubelet's `version` has it by default.
    `killed`: the kubelet had killed it, as after a failed liveness or startup probe. `sandbox_lost`: the pod's sandbox was gone
    by then, or before the restart. `record_lost`: the runtime has forgotten how it ended.
    """
    if container.kind is ContainerKind.EPHEMERAL:
        return Decided(Decision.STOP, "ephemeral containers are never restarted")
    rules_apply = not killed or _matches_kills(pod, container, gates, version, deviations)
    rule = _deciding_rule(container, exit_code, gates, version, deviations) if rules_apply else None
    # A RestartAllContainers comes before any question of sandboxes (kuberuntime_manager.go@v1.37.2 computePodActions).
    resets = rule is not None and _BY_ACTION[rule.action] is Decision.RESTART_ALL
    if sandbox_lost and not resets:
        if gets_no_second_sandbox(pod, deviations):
            return Decided(Decision.STOP, "a pod under Never gets no second sandbox")
        if rule is not None and _gets_no_sandbox(pod, container, exit_code, gates, version, deviations):
            return Decided(
                Decision.STOP, "a pod that has succeeded under OnFailure gets no second sandbox, rules or not"
            )
    if rule is not None:
        return Decided(_BY_ACTION[rule.action], f"{describe(rule)} matches exit code {exit_code}")
    if container.is_sidecar:
        return Decided(Decision.RESTART, "a sidecar is always restarted")
    is_init = container.kind is ContainerKind.INIT
    if is_init and sandbox_lost and (killed or exit_code == 0) and pod.restart_policy is not RestartPolicy.NEVER:
        return Decided(Decision.RESTART, "another sandbox runs all init containers again")
    if is_init and exit_code == 0:
        return Decided(Decision.STOP, "an init container that exits 0 is done")
    policy, owner = effective_policy(pod, container, gates, version)
    if sandbox_lost and policy is RestartPolicy.NEVER and _runs_again(pod, container, deviations):
        return Decided(Decision.RESTART, "another sandbox runs what has ended under Never again", is_refused=True)
    # "Liveness: ... the container is subjected to its restart policy": a failed probe counts as a failure.
    succeeded = exit_code == 0 and not killed
    if record_lost and container.kind is ContainerKind.REGULAR and FORGOTTEN_RUNS_AGAIN in deviations:
        return Decided(Decision.RESTART, "a kubelet takes a container without a record for one that has not run")
    cause = f"after exit code {exit_code}"
    if killed:
        by_whom = "after a failed probe" if container.killing_probes else "after a kill"
        cause = "after the loss of its sandbox" if sandbox_lost else by_whom
    return Decided(_BY_POLICY[policy, succeeded], f"{owner} {policy} decides {cause}")


def gets_no_second_sandbox(pod: Pod, deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether a pod in which a container was created starts nothing more once its sandbox is lost, its first starts included."""
    return pod.restart_policy is RestartPolicy.NEVER and NEVER_GETS_NO_SANDBOX in deviations


def stranded(
    pod: Pod,
    container: Container,
    *,
    alone: bool,
    gates: dict[str, bool],
    version: KubernetesVersion,
    deviations: frozenset[str] = DOCUMENTED,
) -> Decided | None:
    """What becomes of a restart that a rule requires after a probe's kill; None if it comes.

    `alone`: no other regular container runs.
    """
    policy, _ = effective_policy(pod, container, gates, version)
    never = policy is RestartPolicy.NEVER and pod.restart_policy is RestartPolicy.NEVER
    if never and alone and RULES_MATCH_KILLS in deviations:
        return Decided(Decision.STOP, "the pod was killed with its last container, and Never gets no new sandbox")
    return None


def looks_done(
    pod: Pod,
    container: Container,
    exit_code: int,
    *,
    gates: dict[str, bool],
    version: KubernetesVersion,
    deviations: frozenset[str] = DOCUMENTED,
) -> bool:
    """Whether a restart after a kill does not come once its delay puts it off: OnFailure then sees the exit code 0."""
    policy, _ = effective_policy(pod, container, gates, version)
    return policy is RestartPolicy.ON_FAILURE and exit_code == 0 and CLEAN_EXIT_AFTER_KILL_STOPS in deviations


def _runs_again(pod: Pod, container: Container, deviations: frozenset[str]) -> bool:
    """Whether another sandbox runs a container under Never again: it leaves out only what has succeeded under OnFailure."""
    regular_only = container.kind is ContainerKind.REGULAR and not pod.of_kind(ContainerKind.INIT)
    return regular_only and pod.restart_policy is not RestartPolicy.NEVER and SANDBOX_REPEATS_NEVER in deviations


def _gets_no_sandbox(
    pod: Pod,
    container: Container,
    exit_code: int,
    gates: dict[str, bool],
    version: KubernetesVersion,
    deviations: frozenset[str],
) -> bool:
    """Whether the success of the only regular container keeps its pod from another sandbox, whatever its rules say."""
    policy, _ = effective_policy(pod, container, gates, version)
    alone = pod.of_kind(ContainerKind.REGULAR) == (container,)
    return alone and exit_code == 0 and policy is RestartPolicy.ON_FAILURE and SUCCESS_GETS_NO_SANDBOX in deviations


def effective_policy(
    pod: Pod, container: Container, gates: dict[str, bool], version: KubernetesVersion
) -> tuple[RestartPolicy, str]:
    """The restart policy that counts for a container, and whose it is."""
    if container.restart_policy is not None and (
        container.is_sidecar or is_enabled(RESTART_RULES_GATE, gates, version)
    ):
        return container.restart_policy, "container restart policy"
    return pod.restart_policy, "pod restart policy"


def describe(rule: RestartRule) -> str:
    """A rule as a reader of the manifest knows it."""
    return f"restart rule {rule.action} {rule.operator} {list(rule.values)}"


def _deciding_rule(
    container: Container,
    exit_code: int,
    gates: dict[str, bool],
    version: KubernetesVersion,
    deviations: frozenset[str],
) -> RestartRule | None:
    """The first matching rule that the kubelet acts on. Rules count only beside a container restart policy."""
    if container.restart_policy is None or not is_enabled(RESTART_RULES_GATE, gates, version):
        return None
    for rule in container.rules:
        if not rule.matches(exit_code):
            continue
        if rule.action is Action.RESTART:
            return rule if _heeds_restart_action(container, exit_code) else None
        if is_enabled(RESTART_ALL_GATE, gates, version):
            return rule
        # "the rule is ignored" -- KEP-5532, Version Skew Strategy. The kubelet's search ends here all the same.
        if RULE_HIDES_LATER_RULES in deviations:
            return None
    return None


def _heeds_restart_action(container: Container, exit_code: int) -> bool:
    """Whether the action Restart means anything: not to sidecars, nor to an init container that is done."""
    return container.kind is ContainerKind.REGULAR or (exit_code != 0 and not container.is_sidecar)


def _matches_kills(
    pod: Pod, container: Container, gates: dict[str, bool], version: KubernetesVersion, deviations: frozenset[str]
) -> bool:
    """Whether the rules see the exit code of a kill: at the next sync, if the kill was not followed by a start at once.

    "For probe failures, use container-level restart policy only" -- pkg/kubelet/kuberuntime/kuberuntime_manager.go
    """
    policy, _ = effective_policy(pod, container, gates, version)
    return policy is RestartPolicy.NEVER and RULES_MATCH_KILLS in deviations
