"""Reads all evidence of a stress run from its directory: plan, scrapes, measured stages, and every pod as a lifecycle.

Nothing is judged but the pods, one by one while their histories are read, by what holds for every pod.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import msgspec

from crashloop.checks.checker import Holds
from crashloop.checks.everywhere import holding, judge_everywhere
from crashloop.checks.judgement import JudgementInput
from crashloop.cluster.providers import LENDING
from crashloop.deviations import load_deviations
from crashloop.history.event import Channel
from crashloop.history.recording import Gap, PodHistory, Recording
from crashloop.history.reduction import read_recording
from crashloop.history.statuses import ContainerState
from crashloop.processors import are_worth_sharing, on_all_processors
from crashloop.report.text import counted
from crashloop.requirements import load_requirements
from crashloop.restarts.case import Case, Memo, case_of
from crashloop.rundir import RunInfo
from crashloop.slo.lifecycles import lifecycles
from crashloop.slo.measurements import Lifecycle, Measured, Phase
from crashloop.slo.rows import ConservationSli, SloRow
from crashloop.slo.scrapes import Scrapes
from crashloop.spec.pod import Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Deviation, Requirement
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.arrivals import reads_of
from crashloop.stress.assignment import Operation
from crashloop.stress.costing import predicted_per_s, why_unpredicted
from crashloop.stress.folder import Incident, StressDir, cuts_ns, load_scrapes
from crashloop.stress.loads import AnyLoad, Crash, Jobs, Rollout, group, has_known_delays, is_stateless, load_of
from crashloop.stress.phases import Measurement, began_ns, cut_ns, ended_ns, measurements
from crashloop.stress.plan import StressPlan
from crashloop.stress.profile import loaded_in
from crashloop.stress.requirements import rows_of
from crashloop.stress.served import served_pods
from crashloop.verdict import Verdict


class EveryPod:
    """Judges one pod after the other. Pods of a load are alike: the model plays each kind of them through once."""

    def __init__(
        self, catalogue: Mapping[str, Requirement], deviations: Sequence[Deviation], version: KubernetesVersion
    ) -> None:
        """`version` is the cluster's. An empty catalogue judges nothing: pods are only read."""
        self._catalogue, self._of_any_program = (holding(catalogue, each) for each in (Holds.LOADS, Holds.ANY_PROGRAM))
        self._deviations, self._version = deviations, version
        self._played: dict[tuple[Pod, str], Memo] = {}
        """By pod and profile."""

    def __reduce__(self) -> tuple[type["EveryPod"], tuple[object, ...]]:
        """For another process, which plays for itself."""
        return EveryPod, (self._catalogue, self._deviations, self._version)

    def case(self, recording: Recording, kubelet: KubeletProfile, pod: Pod | None = None) -> Case | None:
        """One pod of a load beside what is promised of it; None for a history without its first line.

        It is the pod that the history declares, since the plan of a stress run has loads, not pods; or `pod`, a user's own.
        """
        scenario = recording.begin.scenario if recording.begin else None
        if scenario is None or scenario.pod_spec is None:
            return None
        declared = cast(PodScenario, scenario if pod is None else msgspec.structs.replace(scenario, pod=pod))
        memo = Memo(self._played.get((declared.pod, kubelet.name)))
        self._played.setdefault((declared.pod, kubelet.name), memo)
        return case_of(declared, recording, kubelet, self._version, memo=memo)

    def judge(self, case: Case) -> Iterator[Verdict]:
        """One verdict per requirement; of a user's own pod only on those that hold whatever its containers do."""
        is_known = all(each.program.known for each in case.scenario.pod.containers)
        catalogue = self._catalogue if is_known else self._of_any_program
        if not catalogue:
            return
        question = JudgementInput(
            requirement=next(iter(catalogue.values())),
            scenario=case.scenario,
            profile=case.profile,
            version=self._version,
            recording=case.recording,
            memo=case.memo,
        )
        yield from judge_everywhere(catalogue, question, self._deviations)


class RecordedPods(msgspec.Struct, kw_only=True):
    """All pods of a run, and the load's operations."""

    lifecycles: tuple[Lifecycle, ...]
    lacking: tuple[str, ...]
    """Gaps of the histories, one sentence per gap."""
    events: int
    """Lines of all histories."""
    operations: tuple[Operation, ...] = ()
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
    verdicts: tuple[Verdict, ...]
    waits: str
    """Why a user's own pod ran nothing; empty otherwise."""


def read_recorded(run: StressDir, plan: StressPlan, every_pod: EveryPod | None = None) -> RecordedPods:
    """Read every history of the run, once; without `every_pod` pods are read and not judged.

    Raises OSError if one cannot be read.
    """
    every_pod = every_pod or EveryPod({}, (), KubernetesVersion.parse(plan.kubernetes_version))
    operations = tuple(run.operations())
    read = partial(_read_pods, plan, every_pod, _ends_ns(operations))
    histories = sorted(run.history_dir.glob("*.jsonl"))
    pods = on_all_processors(read, histories) if are_worth_sharing(histories) else read(histories)
    return RecordedPods(
        lifecycles=tuple(each for pod in pods for each in pod.lifecycles),
        lacking=tuple(f"{pod.pod}: {sentence}" for pod in pods for sentence in pod.lacking),
        events=sum(pod.events for pod in pods),
        operations=operations,
        of_pods=tuple(each for pod in pods for each in pod.verdicts),
        waits={pod.pod: pod.waits for pod in pods if pod.waits},
    )


def _read_pods(
    plan: StressPlan, every_pod: EveryPod, ends_ns: Mapping[str, int], histories: Iterable[Path]
) -> list[PodEvidence]:
    return [_read_pod(plan, every_pod, ends_ns, each) for each in histories]


def _read_pod(plan: StressPlan, every_pod: EveryPod, ends_ns: Mapping[str, int], history: Path) -> PodEvidence:
    with history.open("rb") as lines:
        recording = read_recording(lines)
    pod = history.stem
    load = plan.load.loads[load_of(pod, tuple(plan.load.loads)) or ""]
    own = load.own if isinstance(load, Crash) else None
    case = every_pod.case(recording, plan.kubelet(load.node), own.pod if own else None)
    until_ns = next((ends_ns[name] for name in owners(load, pod) if name in ends_ns), None)
    waits = [why for each in recording.pods if (why := waits_for(each))] if own else []
    return PodEvidence(
        pod=pod,
        lifecycles=lifecycles(
            recording,
            case,
            group=group(load),
            stateless=is_stateless(load),
            until_ns=until_ns,
            has_known_delays=has_known_delays(load),
        ),
        lacking=(*shortcomings(recording), *(unheard(recording) if own else ())),
        events=recording.events,
        verdicts=tuple(every_pod.judge(case)) if case else (),
        waits=waits[-1] if waits else "",
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


WHOLE = "whole run"


class RunEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run. UTC nanoseconds."""

    plan: StressPlan
    info: RunInfo
    rows: tuple[SloRow, ...]
    catalogue: Mapping[str, Requirement]
    hosts: dict[str, str]
    """Name of the Node object for each node of the profile."""
    incidents: tuple[Incident, ...]
    recorded: RecordedPods
    scrapes: tuple[Scrapes, ...]
    began_ns: int
    ended_ns: int
    stages: tuple[Measurement, ...]
    """Those that were measured."""
    measured: Measured
    """What SLOs are judged by, in these stages."""

    def measured_for(self, row: SloRow) -> Measured:
        """Conservation is judged over the whole run, everything else over the measured stages."""
        if not isinstance(row.sli, ConservationSli):
            return self.measured
        everything = Phase(name=WHOLE, from_ns=self.began_ns, to_ns=self.ended_ns)
        return msgspec.structs.replace(self.measured, phases=(everything,))


def read_evidence(run: StressDir) -> RunEvidence:
    """Raises UsageError if its plan cannot be read, OSError if its evidence cannot."""
    plan, info, marks, incidents = run.stress_plan(), run.info(), run.marks(), run.incidents()
    catalogue = load_requirements()
    every_pod = EveryPod(catalogue, load_deviations(), KubernetesVersion.parse(plan.kubernetes_version))
    recorded, scrapes = read_recorded(run, plan, every_pod), load_scrapes(run.metrics_dir)
    began = began_ns(marks) or round(info.started.timestamp() * 1e9)
    ended = max(_last_ns(recorded.lifecycles, scrapes), ended_ns(marks) or began, began + 1)
    hosts, unpredicted = run.hosts(), why_unpredicted(info.started)
    seen = measurements(plan.stages, marks, until_ns=cut_ns(marks, cuts_ns(incidents)) or ended)
    stages = tuple(_under_load(each, plan, hosts, unpredicted) for each in seen)
    return RunEvidence(
        plan=plan,
        info=info,
        rows=rows_of(plan.load.slos),
        catalogue=catalogue,
        hosts=hosts,
        incidents=incidents,
        recorded=recorded,
        scrapes=scrapes,
        began_ns=began,
        ended_ns=ended,
        stages=stages,
        measured=Measured(
            phases=tuple(each.phase for each in stages),
            scrapes=scrapes,
            lifecycles=recorded.lifecycles,
            reads=tuple(reads_of(plan.load.loads, recorded.operations)),
            served=tuple(served_pods(plan.load.loads, recorded.operations, recorded.lifecycles)),
            facts={"etcd_fsync": float(_waits_for_its_disk(run, plan))},
        ),
    )


def _waits_for_its_disk(run: StressDir, plan: StressPlan) -> bool:
    """Whether etcd does. A cluster of others is taken to be as it should; older recordings of other clusters do not say it."""
    info: dict[str, object] = msgspec.json.decode(run.cluster_json.read_bytes()) if run.cluster_json.exists() else {}
    return plan.provider in LENDING or bool(info.get("etcd_disk"))


def _under_load(measured: Measurement, plan: StressPlan, hosts: Mapping[str, str], unpredicted: str) -> Measurement:
    """The stage with the Node objects under load in it, and its predicted restarts."""
    phase = msgspec.structs.replace(
        measured.phase,
        nodes=tuple(plan.spread or loaded_in(measured.stage, plan.load.loads, hosts)),
        predicted_per_s=None if unpredicted else predicted_per_s(plan, measured.stage),
        unpredicted=unpredicted,
    )
    return msgspec.structs.replace(measured, phase=phase)


def _last_ns(lifecycles: Iterable[Lifecycle], scrapes: Iterable[Scrapes]) -> int:
    seen = (pod.deleted_ns or pod.seen_until_ns or 0 for pod in lifecycles)
    return max([*seen, *(each.t_ns[-1] for each in scrapes if each.t_ns)], default=0)
