"""What happened to one pod, in lanes along time: what ran and when it was due, what was stated of it, what was done to it.

As SVG a timeline has one row per lane, with class names only, so that it follows the page.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec
from markupsafe import Markup

from crashloop.history.recording import JobReport, KubernetesEvent, PodHistory, Recording
from crashloop.history.statuses import ContainerReport
from crashloop.report.chart import Scale, n, picture, text
from crashloop.report.curves import PlottedCurve
from crashloop.report.text import seconds, shortened
from crashloop.spec.pod import FAILS, ProbeKind

MOST_IN_A_LANE = 200
"""Stretches, or moments; what comes later is left out."""
EVENTS = "Events"
INTERVENTIONS = "interventions"
JOB = "Job"


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a lane."""

    look: str
    """ran (an instance), due (the window of its restart), stated (a state), breach (of a requirement)."""
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
    begin_s: float = 0.0
    """Above 0 for an excerpt."""


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
        yield Lane(name=JOB, stretches=_first_stretches(self._stated(map(_job_state, self._recording.jobs))))
        yield Lane(
            name="pod",
            stretches=_first_stretches(self._stated((each.t_ns, each.phase, each.line) for each in self._pod.statuses)),
        )
        for name in self._pod.containers:
            yield Lane(name=name, stretches=_first_stretches((*self._due(name, due.get(name)), *self._ran(name))))
            yield Lane(name=f"{name}, as stated", stretches=_first_stretches(self._stated(self._states(name))))
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
            yield report.t_ns, ("ready, " if denied and said.ready else "") + _state_in_words(said), report.line

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


def _first_stretches(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    return tuple(stretches)[:MOST_IN_A_LANE]


def _job_state(report: JobReport) -> tuple[int, str, int]:
    said = (f"{each.type} ({each.reason})" for each in report.status.conditions or () if each.status == "True")
    return report.t_ns, ", ".join(said) or "active", report.line


def _state_in_words(said: ContainerReport) -> str:
    state = said.state
    code = "" if state.exit_code is None else f" {state.exit_code}"
    reason = f" ({state.reason}{code})" if state.reason else code
    return f"{state.kind}{reason}, restartCount {said.restart_count}"


WIDTH, LEFT, RIGHT, TOP, BOTTOM = 900, 132, 10, 4, 26
ROW, BAR = 20, 12
LONGEST_NAME = 22
LETTER = 5.4
"""Width of a letter of a label; a label that does not fit is only a title."""


FROM_CREATION = "seconds from the creation of the pod"


def with_breach(
    timeline: Timeline, lines: Sequence[int], name: str, *, from_s: float = 0.0, to_s: float = 0.0
) -> Timeline | None:
    """The same with a lane for a breach, below the lane that it is of; None where no part stands on these history lines.

    `from_s`, `to_s`: its begin and end in seconds after the exit that stands on one of them.
    """
    for number, lane in enumerate(timeline.lanes):
        exits_s = [each.to_s for each in lane.stretches if each.line in lines and each.look == "ran"]
        others_s = [each.from_s for each in lane.stretches if each.line in lines]
        for zero_s in (*exits_s, *others_s, *(each.at_s for each in lane.moments if each.line in lines)):
            if zero_s is not None:
                where = Stretch(look="breach", from_s=zero_s + from_s, to_s=zero_s + to_s, label=name)
                lanes = (
                    *timeline.lanes[: number + 1],
                    Lane(name=name, stretches=(where,)),
                    *timeline.lanes[number + 1 :],
                )
                return msgspec.structs.replace(timeline, lanes=lanes)
    return None


def excerpt(timeline: Timeline) -> Timeline:
    """Ten seconds or more around the breach that is marked in a timeline; times still count from the creation of the pod."""
    (breach,) = (each for lane in timeline.lanes for each in lane.stretches if each.look == "breach")
    to_s = breach.from_s if breach.to_s is None else breach.to_s
    spare_s = max(3.0, (10.0 - (to_s - breach.from_s)) / 2)
    begin_s, end_s = max(breach.from_s - spare_s, 0.0), to_s + spare_s
    lanes = tuple(
        msgspec.structs.replace(
            lane,
            stretches=tuple(
                msgspec.structs.replace(
                    each, from_s=max(each.from_s, begin_s), to_s=None if each.to_s is None else min(each.to_s, end_s)
                )
                for each in lane.stretches
                if each.from_s < end_s and (each.to_s is None or each.to_s >= begin_s)
            ),
            moments=tuple(each for each in lane.moments if begin_s <= each.at_s <= end_s),
        )
        for lane in timeline.lanes
    )
    return msgspec.structs.replace(
        timeline,
        begin_s=begin_s,
        length_s=end_s,
        lanes=tuple(each for each in lanes if each.stretches or each.moments),
    )


def timeline_svg(timeline: Timeline, *, name: str, axis_label: str = FROM_CREATION) -> Markup:
    """The picture. `name` is unique in its page: ids begin with it."""
    height = height_of(timeline)
    axis = _Axis(timeline.begin_s, max(timeline.length_s, timeline.begin_s + 1e-3))
    ticks = [(_x_at(axis, at_s), seconds(at_s)) for at_s in axis.ticks()]
    body = [
        *(f'<path class="grid" d="M{n(x)} {TOP}V{height - BOTTOM}"/>' for x, _ in ticks),
        *(f'<text class="x" x="{n(x)}" y="{height - BOTTOM + 13}">{label}</text>' for x, label in ticks),
        f'<text class="axis" x="{(WIDTH + LEFT) // 2}" y="{height - 2}">{text(axis_label)}</text>',
        *(part for row, lane in enumerate(timeline.lanes) for part in _lane_svg(lane, TOP + row * ROW, axis)),
    ]
    return picture(
        body,
        size=(WIDTH, height),
        title=f"What happened in {timeline.scenario}",
        description=f"Lanes: {', '.join(each.name for each in timeline.lanes)}.",
        name=name,
    )


def height_of(timeline: Timeline) -> int:
    return TOP + ROW * len(timeline.lanes) + BOTTOM


class _Axis(NamedTuple):
    """Seconds from `low` to `high`."""

    low: float
    high: float

    def ticks(self) -> Iterator[float]:
        first, second, *_ = Scale(self.high - self.low).ticks(10)
        step = second - first
        return (round(step * k, 6) for k in range(math.ceil(self.low / step), math.floor(self.high / step + 1e-9) + 1))


def _x_at(axis: _Axis, at_s: float) -> float:
    share = (min(max(at_s, axis.low), axis.high) - axis.low) / (axis.high - axis.low)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _lane_svg(lane: Lane, top: float, axis: _Axis) -> Iterator[str]:
    middle = top + ROW / 2
    yield f'<text class="y" x="{LEFT - 6}" y="{n(middle + 3.5)}">{text(_short_name(lane.name))}</text>'
    labelled = ("ran", "stated") if any(each.look != "due" for each in lane.stretches) else ("due",)
    for stretch in lane.stretches:
        yield _stretch_svg(stretch, middle, axis, labelled=stretch.look in labelled)
    ends_s = (*(each.at_s for each in lane.moments[1:]), axis.high)
    for moment, next_s in zip(lane.moments, ends_s, strict=False):
        yield _moment_svg(moment, next_s, middle, axis)


def _short_name(name: str) -> str:
    """Without its middle if it is long: names, and what they are about, differ at their ends."""
    tail = LONGEST_NAME * 2 // 3
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - tail - 1]}…{name[-tail:]}"


def _stretch_svg(stretch: Stretch, middle: float, axis: _Axis, *, labelled: bool) -> str:
    left = _x_at(axis, stretch.from_s)
    width = max(_x_at(axis, axis.high if stretch.to_s is None else stretch.to_s) - left, 1.0)
    label = _label_svg(stretch.label, left + 3, left + width - 1, middle) if labelled else ""
    title = text(_title_of(stretch.label, stretch.line, stretch.from_s, stretch.to_s))
    return (
        f'<rect class="{stretch.look}-stretch" x="{n(left)}" y="{n(middle - BAR / 2)}" width="{n(width)}" '
        f'height="{BAR}"><title>{title}</title></rect>{label}'
    )


def _moment_svg(moment: Moment, next_s: float, middle: float, axis: _Axis) -> str:
    """With its label, if that fits before the next."""
    x = _x_at(axis, moment.at_s)
    title = text(_title_of(moment.label, moment.line, moment.at_s, moment.at_s))
    return (
        f'<circle class="dot" cx="{n(x)}" cy="{n(middle)}" r="3.6"><title>{title}</title></circle>'
        f"{_label_svg(moment.label, x + 6, _x_at(axis, next_s) - 6, middle)}"
    )


def _label_svg(label: str, left: float, right: float, middle: float) -> str:
    """Empty if it does not fit."""
    if len(label) * LETTER >= right - left:
        return ""
    return f'<text class="in-stretch" x="{n(left)}" y="{n(middle + 3.5)}">{text(label)}</text>'


def _title_of(label: str, line: int | None, from_s: float, to_s: float | None) -> str:
    until = "" if to_s == from_s else " on" if to_s is None else f" to {seconds(to_s)}"
    where = "" if line is None else f" (history line {line})"
    return f"{seconds(from_s)}{until} s: {shortened(label, 300)}{where}"
