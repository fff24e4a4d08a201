"""What happened to one pod, in lanes along time: what ran and when it was due, what was stated of it, what was done to it."""

from collections.abc import Iterable, Iterator
from itertools import groupby

import msgspec

from crashloop.history.recording import JobReport, KubernetesEvent, PodHistory, Recording
from crashloop.history.statuses import ContainerReport
from crashloop.report.curves import PlottedCurve
from crashloop.spec.pod import FAILS, ProbeKind

MOST_IN_A_LANE = 200
"""Stretches, or moments; what comes later is left out."""
EVENTS = "Events"
INTERVENTIONS = "interventions"
JOB = "Job"


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a lane."""

    look: str
    """ran (an instance), due (the window of its restart), stated (a state)."""
    from_s: float
    to_s: float | None
    """None: it lasted to the end of the recording, or had no bound."""
    label: str
    line: int | None = None
    """Of the history; of an instance, that of its exit."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A point of a lane."""

    at_s: float
    label: str
    line: int


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    stretches: tuple[Stretch, ...] = ()
    moments: tuple[Moment, ...] = ()


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """One pod; seconds count from its creation, or from the first thing that is known of it."""

    scenario: str
    profile: str
    pod: str
    """Its uid."""
    length_s: float
    lanes: tuple[Lane, ...]


def timelines_of(
    scenario: str, profile: str, recording: Recording, curves: Iterable[PlottedCurve]
) -> Iterator[Timeline]:
    """One per pod. The windows of restarts are those of `curves`, and left out where the scenario has several pods."""
    due = {each.container: each for each in curves if each.scenario == scenario} if len(recording.pods) == 1 else {}
    for pod in recording.pods:
        zero_ns = _zero_ns(pod, recording)
        end_ns = pod.deleted.utc_ns if pod.deleted is not None and pod.deleted.utc_ns else recording.end_ns
        lanes = _Lanes(pod, zero_ns, recording).all(due)
        yield Timeline(
            scenario=scenario,
            profile=profile,
            pod=pod.uid,
            length_s=round(max(end_ns - zero_ns, 0) / 1e9, 3),
            lanes=tuple(each for each in lanes if each.stretches or each.moments),
        )


def _zero_ns(pod: PodHistory, recording: Recording) -> int:
    if pod.created is not None and pod.created.utc_ns is not None:
        return pod.created.utc_ns
    begun = (each.begun_ns for instances in pod.containers.values() for each in instances)
    return min((ns for ns in begun if ns is not None), default=recording.begin_ns)


class _Lanes:
    def __init__(self, pod: PodHistory, zero_ns: int, recording: Recording) -> None:
        self._pod = pod
        self._zero_ns = zero_ns
        self._recording = recording

    def all(self, due: dict[str, PlottedCurve]) -> Iterator[Lane]:
        yield self._interventions()
        yield Lane(name=JOB, stretches=_first(self._stated(map(_job, self._recording.jobs))))
        yield Lane(
            name="pod",
            stretches=_first(self._stated((each.t_ns, each.phase, each.line) for each in self._pod.statuses)),
        )
        for name in self._pod.containers:
            yield Lane(name=name, stretches=_first((*self._due(name, due.get(name)), *self._ran(name))))
            yield Lane(name=f"{name}, as stated", stretches=_first(self._stated(self._states(name))))
            yield from self._probed(name)
        yield Lane(name=EVENTS, moments=tuple(map(self._event, self._pod.events[:MOST_IN_A_LANE])))

    def _s(self, t_ns: int) -> float:
        return round((t_ns - self._zero_ns) / 1e9, 3)

    def _interventions(self) -> Lane:
        done = self._recording.interventions[:MOST_IN_A_LANE]
        moments = tuple(
            Moment(at_s=self._s(each.t_ns), label=f"{each.data.action}: {each.data.outcome}", line=each.line)
            for each in done
        )
        return Lane(name=INTERVENTIONS, moments=moments)

    def _ran(self, name: str) -> Iterator[Stretch]:
        for each in self._pod.instances(name):
            start_ns = each.start_ns or each.begun_ns
            if start_ns is None:
                continue
            ended = each.exit
            label = f"start {each.ordinal}" + ("" if ended is None else f", exit code {each.exit_code}")
            to_s = None if each.exit_ns is None else self._s(each.exit_ns)
            line = ended.line if ended is not None else None
            yield Stretch(look="ran", from_s=self._s(start_ns), to_s=to_s, label=label, line=line)

    def _due(self, name: str, curve: PlottedCurve | None) -> Iterator[Stretch]:
        exits_ns = {each.ordinal: each.exit_ns for each in self._pod.instances(name)}
        for each in curve.delays if curve is not None else ():
            exit_ns = exits_ns.get(each.restart - 1)
            if exit_ns is None:
                continue
            exit_s = self._s(exit_ns)
            latest_s = None if each.latest_s is None else round(exit_s + each.latest_s, 3)
            label = f"restart {each.restart} is due"
            yield Stretch(look="due", from_s=round(exit_s + each.due_s, 3), to_s=latest_s, label=label)

    def _probed(self, name: str) -> Iterator[Lane]:
        """The answers of each probe, by the container's journal: those that failed, and the others."""
        notes = [note for each in self._pod.instances(name) for note in each.notes if note.fact.utc_ns is not None]
        for kind in ProbeKind:
            answers = [(each, each.value == FAILS) for each in notes if each.name.startswith(f"{kind}.")]
            for failed, said in ((True, "failed"), (False, "answered")):
                moments = tuple(
                    Moment(at_s=self._s(each.fact.utc_ns or 0), label=f"{each.name} {said}", line=each.line)
                    for each, is_failure in answers
                    if is_failure is failed
                )
                yield Lane(name=f"{name}, {kind} {said}", moments=moments[:MOST_IN_A_LANE])

    def _states(self, name: str) -> Iterator[tuple[int, str, int]]:
        """Readiness is named where a status has denied it to the container while it ran."""
        reports = [(each, each.containers[name]) for each in self._pod.statuses if name in each.containers]
        denied = any(said.state.kind == "running" and not said.ready for _, said in reports)
        for report, said in reports:
            yield report.t_ns, ("ready, " if denied and said.ready else "") + _state(said), report.line

    def _stated(self, said: Iterable[tuple[int, str, int]]) -> Iterator[Stretch]:
        """Each statement up to the next that differs."""
        first = [next(same) for _, same in groupby(said, key=lambda each: each[1])]
        for position, (t_ns, label, line) in enumerate(first):
            to_s = self._s(first[position + 1][0]) if position + 1 < len(first) else None
            yield Stretch(look="stated", from_s=self._s(t_ns), to_s=to_s, label=label, line=line)

    def _event(self, event: KubernetesEvent) -> Moment:
        said = event.data
        times = f" ({said.count} times)" if said.count > 1 else ""
        about = f"{event.container}: " if event.container else ""
        return Moment(at_s=self._s(event.t_ns), label=f"{said.reason}{times}: {about}{said.message}", line=event.line)


def _first(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    return tuple(stretches)[:MOST_IN_A_LANE]


def _job(report: JobReport) -> tuple[int, str, int]:
    said = (f"{each.type} ({each.reason})" for each in report.status.conditions or () if each.status == "True")
    return report.t_ns, ", ".join(said) or "active", report.line


def _state(said: ContainerReport) -> str:
    state = said.state
    code = "" if state.exit_code is None else f" {state.exit_code}"
    reason = f" ({state.reason}{code})" if state.reason else code
    return f"{state.kind}{reason}, restartCount {said.restart_count}"
