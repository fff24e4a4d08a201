"""Reads the evidence of a stress run from its directory: every pod as a lifecycle, and the gaps of its history."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from crashloop.history.event import Channel
from crashloop.history.recording import Gap, Recording
from crashloop.history.reduction import read_recording
from crashloop.model.config import Curve, effective_curve
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.model.restart import Decision, decide
from crashloop.slo.lifecycles import Promise, lifecycles
from crashloop.slo.types import Lifecycle
from crashloop.spec.pod import Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.assignment import Operation
from crashloop.stress.folder import StressDir
from crashloop.stress.loads import AnyLoad, Jobs, Rollout, group, has_known_delays, is_stateless, load_of
from crashloop.stress.plan import StressPlan
from crashloop.verdict import Verdict


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """Gaps and events in a pod's history that may explain a missing event. UTC nanoseconds."""

    unheard_ns: tuple[tuple[int, int], ...] = ()
    """Intervals in which events of the runtime may be lost."""
    damaged: bool = False
    """Whether lines of the history cannot be read."""
    kubelet_started_ns: tuple[int, ...] = ()
    """Restarts of its node's kubelet."""


class StressEvidence(msgspec.Struct, kw_only=True):
    """All pods of a run, and the load's operations."""

    lifecycles: tuple[Lifecycle, ...]
    lacking: tuple[str, ...]
    """Gaps of the histories, one sentence per gap."""
    events: int
    """Lines of all histories."""
    operations: tuple[Operation, ...] = ()
    circumstances: dict[str, Circumstances] = {}
    """By the pod's name."""
    of_pods: tuple[Verdict, ...] = ()
    """Of each pod, on the requirements that hold for every pod."""


PodJudge = Callable[[Recording, KubeletProfile], Iterable[Verdict]]
"""The verdicts on a pod that ran on a node with that profile."""


def read_recorded(run: StressDir, plan: StressPlan, judge: PodJudge = lambda *_: ()) -> StressEvidence:
    """Read every history of the run, once. Raises OSError if one cannot be read."""
    operations = tuple(run.operations())
    ends_ns = _ends_ns(operations)
    found: list[Lifecycle] = []
    lacking: list[str] = []
    circumstances: dict[str, Circumstances] = {}
    of_pods: list[Verdict] = []
    events = 0
    for path in sorted(run.history_dir.glob("*.jsonl")):
        with path.open("rb") as lines:
            recording = read_recording(lines)
        load = plan.load.loads[load_of(path.stem, tuple(plan.load.loads)) or ""]
        until_ns = next((ends_ns[name] for name in owners(load, path.stem) if name in ends_ns), None)
        found.extend(lifecycles_of(recording, load, plan, until_ns))
        lacking.extend(f"{path.stem}: {sentence}" for sentence in shortcomings(recording))
        circumstances[path.stem] = circumstances_of(recording)
        of_pods.extend(judge(recording, plan.kubelet(load.node)))
        events += recording.events
    return StressEvidence(
        lifecycles=tuple(found),
        lacking=tuple(lacking),
        events=events,
        operations=operations,
        circumstances=circumstances,
        of_pods=tuple(of_pods),
    )


def lifecycles_of(
    recording: Recording, load: AnyLoad, plan: StressPlan, until_ns: int | None = None
) -> tuple[Lifecycle, ...]:
    """The pods of a history until that moment (UTC), with the model's due delays and expected restarts."""
    kubelet, version = plan.kubelet(load.node), KubernetesVersion.parse(plan.kubernetes_version)
    spec = recording.begin.scenario.pod_spec if recording.begin else None
    decided = None if spec is None else _Decided(spec, kubelet, version)
    return lifecycles(
        recording,
        group=group(load),
        stateless=is_stateless(load),
        promise=_promise(recording, load, kubelet, version),
        expects=decided.restarts if decided else None,
        triggers=decided.restarts_all if decided else None,
        until_ns=until_ns,
    )


def _ends_ns(operations: Iterable[Operation]) -> dict[str, int]:
    """When each object's deletion was first requested, or its journals before that, which know no later start."""
    found: dict[str, int] = {}
    for each in operations:
        if each.what in ("delete", "log"):
            found.setdefault(each.pod, each.sent_ns)
    return found


def owners(load: AnyLoad, pod: str) -> tuple[str, ...]:
    """Names of the objects that a load may have made for a pod: the pod itself, its Job, its Deployment."""
    if not isinstance(load, Jobs | Rollout):
        return (pod,)
    job = pod.rpartition("-")[0]
    return (job, job.rpartition("-")[0])


def circumstances_of(recording: Recording) -> Circumstances:
    """The contents of a history besides the lives of its pod."""
    return Circumstances(
        unheard_ns=tuple((gap.from_ns, gap.to_ns) for gap in recording.gaps if _may_hide_restarts(gap)),
        damaged=bool(recording.broken),
        kubelet_started_ns=_kubelet_started_ns(recording),
    )


def shortcomings(recording: Recording) -> Iterator[str]:
    """Why a history may lack restarts."""
    yield from (f"line {damage.line}: {damage.problem}" for damage in recording.broken)
    for lost in filter(_may_hide_restarts, recording.gaps):
        yield f"the runtime's events were lost for {(lost.to_ns - lost.from_ns) / 1e9:.1f} s ({lost.reason})"
    for pod in recording.pods:
        for container, instances in pod.containers.items():
            # An instance that never ran was created by a kubelet that could not start it: nothing of it is missing.
            ran = (each for each in instances[:-1] if each.has_run)
            unseen = sum(1 for each in ran if each.start is None or each.exit is None)
            if unseen:
                yield f"start or exit of {unseen} instances of {container!r} was not seen"


def _may_hide_restarts(gap: Gap) -> bool:
    return gap.lost and gap.channel == Channel.RUNTIME


def _kubelet_started_ns(recording: Recording) -> tuple[int, ...]:
    """Restarts of the kubelet; the first report is of the kubelet at the start of the recording."""
    starts = (node.data.kubelet_started_ns for node in recording.nodes[1:])
    return tuple(started_ns for started_ns in starts if started_ns is not None)


class _Decided:
    """The model's decision about each exit."""

    def __init__(self, pod: Pod, kubelet: KubeletProfile, version: KubernetesVersion) -> None:
        self._pod = pod
        self._gates = effective_gates(kubelet, version)
        self._version = kubelet_version(kubelet, version)

    def restarts(self, container: str, exit_code: int | None) -> bool:
        return exit_code is not None and self._decide(container, exit_code) is not Decision.STOP

    def restarts_all(self, container: str, exit_code: int | None) -> bool:
        return exit_code is not None and self._decide(container, exit_code) is Decision.RESTART_ALL

    def _decide(self, container: str, exit_code: int) -> Decision:
        found = self._pod.container(container)
        return decide(self._pod, found, exit_code, gates=self._gates, version=self._version).decision


def _promise(
    recording: Recording, load: AnyLoad, kubelet: KubeletProfile, version: KubernetesVersion
) -> Promise | None:
    """The due delay after every exit, where the model has one."""
    curve = effective_curve(kubelet, version)
    if not has_known_delays(load) or not isinstance(curve, Curve):
        return None
    return Promise(
        curve=curve,
        version=kubelet_version(kubelet, version),
        counter_lost_ns=_kubelet_started_ns(recording),
    )
