"""Deviation variants: named differences between the kubelet and its documentation.

Theory of operation. Without a variant the model follows the KEPs and the documentation. A variant, passed by name in
`deviations`, replaces one rule of the model with the behaviour of the kubelet's source. A history that fits only a variant
is a known deviation. deviations.yaml refers to these names; every function of the model with `deviations` accepts the whole
set and applies those that concern it.
"""

from collections.abc import Mapping
from typing import Self

import msgspec

from crashloop.spec.version import KubernetesVersion

Release = tuple[int, int]

DOCUMENTED: frozenset[str] = frozenset()
"""No variant: what the KEPs and the documentation promise."""


class Consulted(frozenset[str]):
    """DOCUMENTED that notes which variants the model asks it for: any other one changes nothing of what the model says."""

    asked: set[object]

    def __new__(cls) -> Self:
        made = super().__new__(cls)
        made.asked = set()
        return made

    def __contains__(self, name: object) -> bool:
        self.asked.add(name)
        return False


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of the model as the kubelet of some releases has it."""

    name: str
    sentence: str
    """What the kubelet does, and what was promised."""
    source: str
    since: Release
    """First release, of those the model knows, that behaves so."""
    fixed_in: Release | None = None
    """First release that does as documented again; None while none does."""

    def holds_in(self, version: KubernetesVersion) -> bool:
        return self.since <= version.release and (self.fixed_in is None or version.release < self.fixed_in)


GATE_OFF_REFUSES_START = "gate-off-refuses-start"
REDUCED_DECAY_KEEPS_300S = "reduced-decay-keeps-300s"
MAXIMUM_IN_MILLISECONDS = "maximum-in-whole-milliseconds"
RESTART_RULES_OFF_REFUSES_START = "restart-rules-off-alone-refuses-start"
COUNTER_COLLECTED = "counter-collected-while-waiting"
FAILED_STARTS_COUNT = "failed-start-attempts-double-the-delay"
BACKOFF_HOLDS_UP_OTHERS = "backoff-holds-up-failed-starts"
TWO_FREE_AFTER_KILLS = "two-free-restarts-after-kills"
CLEAN_EXIT_AFTER_KILL_STOPS = "clean-exit-after-probe-kill-stops"
RULES_MATCH_KILLS = "rules-match-probe-kills"
RULE_HIDES_LATER_RULES = "ignored-restart-all-rule-hides-later-rules"
RESTART_ALL_WITHOUT_BACKOFF = "restart-all-without-backoff"
RESTART_ALL_STAYS_RUNNING = "restart-all-stays-running"
RESTART_ALL_HIDES_EXIT_CODE = "restart-all-hides-exit-code"
RESTART_ALL_STALLS = "restart-all-stalls-when-nothing-runs"
PROBE_FAILURES_GO_ON = "probe-failures-go-on-after-a-restart"
PROBE_SUCCESSES_GO_ON = "probe-successes-go-on-after-a-restart"
STARTED_CARRIES_OVER = "started-carries-over-a-kill"
STARTED_BY_ITS_KUBELET = "started-comes-with-the-kubelet"
READY_BY_ITS_KUBELET = "ready-comes-with-the-kubelet"
SIDECARS_PROBED_AT_END = "sidecars-are-probed-while-their-pod-ends"
FORGOTTEN_RUNS_AGAIN = "what-has-ended-runs-again-without-its-record"
NEVER_GETS_NO_SANDBOX = "never-gets-no-second-sandbox"
SUCCESS_GETS_NO_SANDBOX = "success-gets-no-second-sandbox"
SANDBOX_HIDES_EXIT = "new-sandbox-hides-exits-of-init-containers"
SANDBOX_FORGETS_DELAY = "new-sandbox-forgets-delays-of-init-containers"
SANDBOX_REPEATS_NEVER = "new-sandbox-runs-containers-under-never-again"
RESTART_ALL_LOSES_PROBES = "restart-all-loses-probes"
RESTART_ALL_OFF_REJECTS_POD = "restart-all-off-rejects-pod"
RESTART_ALL_COUNTS_EACH = "restart-all-counts-each-container"
API_SERVER_DROPS_POLICIES = "api-server-drops-container-policies"
REPLACES_AT_ONCE = "ended-pods-are-replaced-at-once"
POD_START_MEASURED_TWICE = "pod-start-measured-twice"
FIRST_RESTART_WAITS = "first-restart-waits"
NEVER_RAN_BACKS_OFF = "failed-first-starts-back-off"

VARIANTS: tuple[Variant, ...] = (
    Variant(
        name=GATE_OFF_REFUSES_START,
        sentence="With KubeletCrashLoopBackOffMax off and maxContainerRestartPeriod set the kubelet does not start; "
        "it was to log a warning and use its defaults.",
        source="KEP-5593, Conflict resolution; pkg/kubelet/apis/config/validation/validation.go@v1.37.1",
        since=(1, 33),
    ),
    Variant(
        name=REDUCED_DECAY_KEEPS_300S,
        sentence="With both gates on and no period set the maximum stays 300 s, because the period was defaulted to it; "
        "ReduceDefaultCrashLoopBackOffDecay was to lower it to 60 s.",
        source="KEP-4603, Design; pkg/kubelet/apis/config/v1beta1/defaults.go@v1.37.1",
        since=(1, 33),
    ),
    Variant(
        name=MAXIMUM_IN_MILLISECONDS,
        sentence="The kubelet compares maxContainerRestartPeriod in whole milliseconds, so it accepts up to a millisecond more "
        "than 300 s; it was to refuse everything above 300 s.",
        source="Pod Lifecycle, Configurable container restart delay; "
        "pkg/kubelet/apis/config/validation/validation.go@v1.37.1",
        since=(1, 33),
    ),
    Variant(
        name=RESTART_RULES_OFF_REFUSES_START,
        sentence="ContainerRestartRules switched off by itself keeps the kubelet from starting, because "
        "RestartAllContainersOnContainerExits is on by default and depends on it; it was to be a rollback.",
        source="KEP-5307, Rollout, Upgrade and Rollback; pkg/features/kube_features.go@v1.37.1",
        since=(1, 36),
    ),
    Variant(
        name=COUNTER_COLLECTED,
        sentence="The counter is collected 600 s after the last start attempt even while the container waits, so a run of "
        "more than 600 s less the delay cuts the wait short and resets the curve; 10 minutes of running were to do that.",
        source="KEP-5593, Summary; pkg/kubelet/kubelet_pods.go@v1.37.1 HandlePodCleanups, "
        "client-go util/flowcontrol/backoff.go@v0.37.1 GC",
        since=(1, 33),
    ),
    Variant(
        name=FAILED_STARTS_COUNT,
        sentence="Every start attempt doubles the delay, also one that fails before the container runs; "
        "only restarts were to.",
        source="KEP-5593, Summary; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 doBackOff",
        since=(1, 33),
    ),
    Variant(
        name=BACKOFF_HOLDS_UP_OTHERS,
        sentence="A container whose start failed is tried again only when another container's delay is over, up to 60 s and "
        "their jitter later; it was to be tried again after 10 s to 15 s.",
        source="Pod Lifecycle, Container restarts; pkg/kubelet/pod_workers.go@v1.37.1 completeWork",
        since=(1, 35),
    ),
    Variant(
        name=TWO_FREE_AFTER_KILLS,
        sentence="After a kill by the kubelet the delay is measured from the exit before: two restarts are free, then a "
        "restart is immediate whenever the killed instance outlived the delay; each was to wait 10, 20, 40 s.",
        source="kubernetes/kubernetes#22240, #99697; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 SyncPod",
        since=(1, 33),
    ),
    Variant(
        name=CLEAN_EXIT_AFTER_KILL_STOPS,
        sentence="A container under OnFailure that exits 0 when a probe has it killed is not restarted once a delay is due; "
        "a failed probe was to restart it.",
        source="kubernetes/kubernetes#109537; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 computePodActions",
        since=(1, 33),
    ),
    Variant(
        name=RULES_MATCH_KILLS,
        sentence="Restart rules match the exit code of a container that a probe had killed: beside a running container it is "
        "restarted, alone in a Never pod it leaves the pod Running for good; rules were for exits of its own.",
        source="KEP-5307, Design Details; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 computePodActions",
        since=(1, 34),
    ),
    Variant(
        name=RULE_HIDES_LATER_RULES,
        sentence="With RestartAllContainersOnContainerExits off a matching RestartAllContainers rule ends the search, "
        "and later rules are not tried; it was to be ignored.",
        source="KEP-5532, Version Skew Strategy; pkg/api/v1/pod/util.go@v1.37.1 ContainerShouldRestart",
        since=(1, 34),
    ),
    Variant(
        name=RESTART_ALL_WITHOUT_BACKOFF,
        sentence="Restarts by RestartAllContainers are never delayed, because the exited instances are removed first; "
        "the exponential backoff was to apply.",
        source="KEP-5532, Risks and Mitigations; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 doBackOff",
        since=(1, 35),
    ),
    Variant(
        name=RESTART_ALL_STAYS_RUNNING,
        sentence="While all containers restart the pod's phase is Running, and Pending only while an init container runs or a "
        "sidecar has yet to start; it was to be Pending throughout.",
        source="KEP-5532, Design Details; pkg/kubelet/kubelet_pods.go@v1.37.1 getPhase",
        since=(1, 35),
    ),
    Variant(
        name=RESTART_ALL_HIDES_EXIT_CODE,
        sentence="After RestartAllContainers every container's last state says exit code 137, without times; "
        "the previous exit was to be visible.",
        source="KEP-5307, Monitoring; KEP-5532, Design Details; pkg/kubelet/kubelet_pods.go@v1.37.1",
        since=(1, 35),
    ),
    Variant(
        name=RESTART_ALL_STALLS,
        sentence="When nothing else was running, the pod starts again only at the next resync, 60 to 90 s later; "
        "it was to restart at once.",
        source="kubernetes/kubernetes#136966; KEP-5532, Goals",
        since=(1, 35),
        fixed_in=(1, 36),
    ),
    Variant(
        name=PROBE_FAILURES_GO_ON,
        sentence="Failures of a probe before the exit of a container count after its restart, so that one can kill the new "
        "instance; each instance was to be judged by its own answers.",
        source="documentation, Configure Probes, failureThreshold; pkg/kubelet/prober/worker.go@v1.37.1 doProbe",
        since=(1, 33),
    ),
    Variant(
        name=PROBE_SUCCESSES_GO_ON,
        sentence="Successes of a readiness probe before the exit of a container count after its restart, so that one can make "
        "the new instance ready; each instance was to be judged by its own answers.",
        source="k8s.io/api/core/v1/types.go@v0.37.1 Probe, successThreshold; pkg/kubelet/prober/worker.go@v1.37.1 doProbe",
        since=(1, 33),
    ),
    Variant(
        name=NEVER_GETS_NO_SANDBOX,
        sentence="A pod under Never that has lost its sandbox gets no other, and stays Running without a container if one of its "
        "containers was to be restarted by a policy or rule of its own; it was to be restarted, or the pod to end.",
        source="KEP-5307, Design Details; kubernetes/kubernetes#141948; "
        "pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 computePodActions",
        since=(1, 33),
    ),
    Variant(
        name=SUCCESS_GETS_NO_SANDBOX,
        sentence="A pod that loses its sandbox after its container has succeeded under OnFailure gets no other, and stays "
        "Running without a container if a rule restarts that container after success; it was to be restarted.",
        source="KEP-5307, Design Details; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 computePodActions",
        since=(1, 34),
    ),
    Variant(
        name=SANDBOX_HIDES_EXIT,
        sentence="An init container or sidecar that the kubelet ends and removes to create another sandbox shows no last exit "
        "in its next instance; it was to show it.",
        source="Pod Lifecycle, Container states; pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 purgeInitContainers",
        since=(1, 33),
    ),
    Variant(
        name=SANDBOX_FORGETS_DELAY,
        sentence="An init container that waits for its restart when its pod gets another sandbox is removed, started again "
        "without a delay, and counted from 0, which no status shows until it exceeds the count before; statuses in which one "
        "runs that had ended with 0 are dropped under OnFailure. Its delay and its count were to go on.",
        source="Pod Lifecycle, How Pods handle problems with containers; "
        "pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 purgeInitContainers; kuberuntime_manager.go doBackOff",
        since=(1, 33),
    ),
    Variant(
        name=SANDBOX_REPEATS_NEVER,
        sentence="A container that has ended under its own restart policy Never runs again when its pod gets another sandbox, "
        "if the pod is not under Never and has no init containers, and its pod is not stated for as long; it was to stay down.",
        source="KEP-5307, Design Details; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 computePodActions",
        since=(1, 34),
    ),
    Variant(
        name=RESTART_ALL_LOSES_PROBES,
        sentence="After RestartAllContainers, probes of a container that had exited for good before are not resumed, so that it "
        "counts as ready; they were to go on.",
        source="KEP-5532, Restart Phases and Probes; pkg/kubelet/prober/prober_manager.go@v1.37.1 AddPod",
        since=(1, 35),
    ),
    Variant(
        name=RESTART_ALL_OFF_REJECTS_POD,
        sentence="A kubelet with RestartAllContainersOnContainerExits off rejects pods with such a rule, running ones too "
        "when it restarts; the action was to be ignored.",
        source="KEP-5532, Upgrade / Downgrade Strategy; pkg/kubelet/kubelet.go@v1.37.1 HandlePodAdditions",
        since=(1, 36),
    ),
    Variant(
        name=RESTART_ALL_COUNTS_EACH,
        sentence="The Job controller counts one RestartAllContainers once for each container of the pod, so that it alone can "
        "exhaust the backoffLimit; it was to be one restart.",
        source="KEP-5532, Design Details; pkg/controller/job/job_controller.go@v1.37.1 pastBackoffLimitOnFailure",
        since=(1, 35),
    ),
    Variant(
        name=API_SERVER_DROPS_POLICIES,
        sentence="An API server with ContainerRestartRules off drops the restart policies of containers from a pod, so that "
        "one under Never restarts for ever in a pod under Always; it was to stay down.",
        source="KEP-5307, Feature Enablement and Rollback; pkg/api/pod/util.go@v1.37.1 dropContainerRestartRules",
        since=(1, 34),
    ),
    Variant(
        name=STARTED_CARRIES_OVER,
        sentence="A container that is started again at once after a kill counts as started, if the one before it had, until its "
        "startup probe is asked; it was to count as started after a success of its own startup probe.",
        source="Pod Lifecycle, Types of probe; pkg/kubelet/kubelet_pods.go@v1.37.1 convertToAPIContainerStatuses",
        since=(1, 35),
    ),
    Variant(
        name=STARTED_BY_ITS_KUBELET,
        sentence="What runs when its kubelet starts counts as started until that asks its startup probe, which it does not ask "
        "of what has run for 10 s; it was to count as started after a success of its startup probe.",
        source="Pod Lifecycle, Types of probe; pkg/kubelet/prober/prober_manager.go@v1.37.2 isContainerStarted",
        since=(1, 33),
    ),
    Variant(
        name=READY_BY_ITS_KUBELET,
        sentence="What has run for less than 10 s when its kubelet starts, until 1.34 whatever has run, counts as ready until "
        "that asks its readiness probe; it was to be ready after a success of that probe.",
        source="Pod Lifecycle, Types of probe; pkg/kubelet/prober/prober_manager.go@v1.37.2 UpdatePodStatus",
        since=(1, 33),
    ),
    Variant(
        name=SIDECARS_PROBED_AT_END,
        sentence="Liveness and startup probes of sidecars go on while their pod ends; they were to end with that.",
        source="kubernetes/kubernetes#110191; pkg/kubelet/prober/prober_manager.go@v1.37.2 StopLivenessAndStartup",
        since=(1, 33),
    ),
    Variant(
        name=FORGOTTEN_RUNS_AGAIN,
        sentence="A regular container that has ended for good runs again once the runtime has lost its record; it was to stay "
        "down.",
        source="Pod Lifecycle, Container restarts; pkg/kubelet/container/helpers.go@v1.37.1 ShouldContainerBeRestarted",
        since=(1, 33),
    ),
    Variant(
        name=REPLACES_AT_ONCE,
        sentence="A ReplicaSet replaces a pod whose containers have ended for good at once, without a backoff, and the ended "
        "pods stay; a Deployment was not to flood the cluster.",
        source="KEP-5307, Design Details; pkg/controller/replicaset/replica_set.go@v1.37.1 manageReplicas",
        since=(1, 34),
    ),
    Variant(
        name=POD_START_MEASURED_TWICE,
        sentence="kubelet_pod_start_duration_seconds has two samples for each pod, the first of them at its first sync; one was "
        "to measure the pod's start.",
        source="KEP-5593, Monitoring Requirements; pkg/kubelet/kubelet.go@v1.37.1 SyncPod",
        since=(1, 33),
    ),
)

IN_MOTION: Mapping[str, Variant] = {
    "kubernetes/kubernetes#133472": Variant(
        name=FIRST_RESTART_WAITS,
        sentence="The first restart waits for the first delay as well; it was to be immediate.",
        source="kubernetes/kubernetes#133472, #133577; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 doBackOff",
        since=(1, 38),
    ),
    "kubernetes/kubernetes#142033": Variant(
        name=NEVER_RAN_BACKS_OFF,
        sentence="A container that fails before it has ever run waits for exponential delays as well; it was to be tried again "
        "after 10 s to 15 s.",
        source="kubernetes/kubernetes#142032, #142033; pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 doBackOff",
        since=(1, 38),
    ),
}
"""Rules that an open change of upstream's would bring, by that change: a kubelet newer than the model may follow either."""

_BY_NAME = {each.name: each for each in (*VARIANTS, *IN_MOTION.values())}


def variant(name: str) -> Variant:
    """The variant of that name. Raises KeyError."""
    return _BY_NAME[name]


def as_shipped(version: KubernetesVersion) -> frozenset[str]:
    """Names of all variants that hold in that release: what its kubelet does, as far as known."""
    return frozenset(each.name for each in VARIANTS if each.holds_in(version))


def require_known(deviations: frozenset[str]) -> None:
    """Raises ValueError if a name is not in the registry."""
    unknown = sorted(deviations - _BY_NAME.keys())
    if unknown:
        raise ValueError(f"unknown deviation variants {unknown}, expected some of {sorted(_BY_NAME)}")
