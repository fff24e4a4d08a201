"""Reads the evidence of a stress run from its directory: every pod as a lifecycle, and the gaps of its history."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import msgspec

from crashloop.history.event import Channel
from crashloop.history.recording import Gap, PodHistory, Recording
from crashloop.history.reduction import read_recording
from crashloop.history.statuses import ContainerState
from crashloop.model.config import Curve, effective_curve
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.model.restart import Decision, decide
from crashloop.processors import are_worth_sharing, on_all_processors
from crashloop.report.text import counted
from crashloop.slo.lifecycles import Promise, lifecycles
from crashloop.slo.types import Lifecycle
from crashloop.spec.pod import Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.assignment import Operation
from crashloop.stress.folder import StressDir
from crashloop.stress.loads import AnyLoad, Crash, Jobs, Rollout, group, has_known_delays, is_stateless, load_of
from crashloop.stress.own_delays import with_known_delays
from crashloop.stress.plan import StressPlan
from crashloop.stress.pod_template import PodTemplate
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
    waits: dict[str, str] = {}
    """By the name of a user's own pod that ran nothing, as far as is known: why, by its last status."""


class PodEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of one history."""

    pod: str
    """The pod's name."""
    lifecycles: tuple[Lifecycle, ...]
    lacking: tuple[str, ...]
    events: int
    circumstances: Circumstances
    verdicts: tuple[Verdict, ...]
    waits: str
    """Why a user's own pod ran nothing; empty otherwise."""


PodJudge = Callable[[Recording, KubeletProfile], Iterable[Verdict]]
"""The verdicts on a pod that ran on a node with that profile."""


def unjudged(_recording: Recording, _kubelet: KubeletProfile) -> Iterable[Verdict]:
    """The judge of a reader that wants no verdicts on pods."""
    return ()


def read_recorded(run: StressDir, plan: StressPlan, judge: PodJudge = unjudged) -> StressEvidence:
    """Read every history of the run, once; `judge` is picklable, for a run with large histories.

    Raises OSError if one cannot be read.
    """
    operations = tuple(run.operations())
    read = partial(_read_pods, plan, judge, _ends_ns(operations))
    histories = sorted(run.history_dir.glob("*.jsonl"))
    pods = on_all_processors(read, histories) if are_worth_sharing(histories) else read(histories)
    return StressEvidence(
        lifecycles=tuple(each for pod in pods for each in pod.lifecycles),
        lacking=tuple(f"{pod.pod}: {sentence}" for pod in pods for sentence in pod.lacking),
        events=sum(pod.events for pod in pods),
        operations=operations,
        circumstances={pod.pod: pod.circumstances for pod in pods},
        of_pods=tuple(each for pod in pods for each in pod.verdicts),
        waits={pod.pod: pod.waits for pod in pods if pod.waits},
    )


def _read_pods(
    plan: StressPlan, judge: PodJudge, ends_ns: Mapping[str, int], histories: Iterable[Path]
) -> list[PodEvidence]:
    return [_read_pod(plan, judge, ends_ns, each) for each in histories]


def _read_pod(plan: StressPlan, judge: PodJudge, ends_ns: Mapping[str, int], history: Path) -> PodEvidence:
    with history.open("rb") as lines:
        recording = read_recording(lines)
    pod = history.stem
    load = plan.load.loads[load_of(pod, tuple(plan.load.loads)) or ""]
    is_own = isinstance(load, Crash) and load.own is not None
    until_ns = next((ends_ns[name] for name in owners(load, pod) if name in ends_ns), None)
    waits = [why for each in recording.pods if (why := waits_for(each))] if is_own else []
    return PodEvidence(
        pod=pod,
        lifecycles=lifecycles_of(recording, load, plan, until_ns),
        lacking=(*shortcomings(recording), *(unheard(recording) if is_own else ())),
        events=recording.events,
        circumstances=circumstances_of(recording),
        verdicts=tuple(judge(recording, plan.kubelet(load.node))),
        waits=waits[-1] if waits else "",
    )


def lifecycles_of(
    recording: Recording, load: AnyLoad, plan: StressPlan, until_ns: int | None = None
) -> tuple[Lifecycle, ...]:
    """The pods of a history until that moment (UTC), with the model's due delays and expected restarts."""
    kubelet, version = plan.kubelet(load.node), KubernetesVersion.parse(plan.kubernetes_version)
    spec = recording.begin.scenario.pod_spec if recording.begin else None
    own = load.own if isinstance(load, Crash) else None
    is_decided = spec is not None and (own is None or _is_decided(own))
    decided = _Decided(spec, kubelet, version, own) if spec is not None and is_decided else None
    found = lifecycles(
        recording,
        group=group(load),
        stateless=is_stateless(load),
        promise=_promise(recording, load, kubelet, version),
        expects=decided.restarts if decided else None,
        triggers=decided.restarts_all if decided else None,
        until_ns=until_ns,
    )
    return found if own is None else tuple(with_known_delays(each, own) for each in found)


def _is_decided(template: PodTemplate) -> bool:
    """Whether the model decides after exits of a user's own pod.

    A hook that hangs holds every restart up, and a kill is no exit that could restart all containers.
    """
    return not template.has_hooks and not (template.pod.restarts_all and template.killed_after_s)


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


def unheard(recording: Recording) -> Iterator[str]:
    """Pods that ran, whose containers keep no journal, on a node without events of the runtime."""
    for pod in recording.pods:
        containers = pod.statuses[-1].containers.values() if pod.statuses else ()
        count = sum(each.restart_count for each in containers)
        has_run = any(each.container_id for each in containers)
        if has_run and Channel.RUNTIME not in pod.channels:
            yield (
                f"its containers keep no journal, and the runtime's events were not seen: {counted(count, 'restart')} by "
                "restartCount, at unknown times."
            )


def waits_for(pod: PodHistory) -> str:
    """What keeps a pod from running its containers, by its last status; empty if they run, or it does not say."""
    last = pod.statuses[-1] if pod.statuses else None
    if last is None or pod.containers:
        return ""
    if last.reason:
        return f"the pod is {last.phase} ({last.reason})"
    waiting = ((name, each.state) for name, each in last.containers.items() if each.state.kind == "waiting")
    said = ((name, state) for name, state in waiting if state.reason not in ("", "PodInitializing"))
    return next((f'container "{name}" waits ({_said(state)})' for name, state in said), "")


def _said(state: ContainerState) -> str:
    """Reason and message of a wait, in one line."""
    return ": ".join(filter(None, (state.reason, " ".join(state.message.split()).rstrip("."))))


def _may_hide_restarts(gap: Gap) -> bool:
    return gap.lost and gap.channel == Channel.RUNTIME


def _kubelet_started_ns(recording: Recording) -> tuple[int, ...]:
    """Restarts of the kubelet; the first report is of the kubelet at the start of the recording."""
    starts = (node.data.kubelet_started_ns for node in recording.nodes[1:])
    return tuple(started_ns for started_ns in starts if started_ns is not None)


class _Decided:
    """The model's decision about each exit."""

    def __init__(
        self, pod: Pod, kubelet: KubeletProfile, version: KubernetesVersion, own: PodTemplate | None = None
    ) -> None:
        self._pod = pod
        self._killable = own.killed_after_s.keys() if own else frozenset[str]()
        """Containers whose exits may be kills."""
        self._gates = effective_gates(kubelet, version)
        self._version = kubelet_version(kubelet, version)

    def restarts(self, container: str, exit_code: int | None) -> bool | None:
        """None where that depends on whether it was a kill, and for a container that the pod did not declare."""
        if exit_code is None:
            return False
        if not self._knows(container):
            return None
        kinds = (False, True) if container in self._killable else (False,)
        decided = {self._decide(container, exit_code, killed=killed) is not Decision.STOP for killed in kinds}
        return decided.pop() if len(decided) == 1 else None

    def restarts_all(self, container: str, exit_code: int | None) -> bool:
        if exit_code is None or not self._knows(container):
            return False
        return self._decide(container, exit_code) is Decision.RESTART_ALL

    def _knows(self, container: str) -> bool:
        """An admission plugin may have added it."""
        return any(each.name == container for each in self._pod.containers)

    def _decide(self, container: str, exit_code: int, *, killed: bool = False) -> Decision:
        found = self._pod.container(container)
        return decide(self._pod, found, exit_code, gates=self._gates, version=self._version, killed=killed).decision


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
