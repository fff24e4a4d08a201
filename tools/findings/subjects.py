"""What a picture is about, as timelines: the pods of a scenario beside what was promised, or the kubelet that it tried."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from crashloop.history.recording import ProcessEvent, Recording, Sample
from crashloop.report.curves import curves_of
from crashloop.report.timeline import EVENTS, Lane, Moment, Stretch, Timeline, timelines_of
from crashloop.run.judging import judge_scenario, read_history
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan
from tools.findings.pictures import Picture

COMPLAINT = re.compile(r"(?:invalid configuration: |^panic: .*?, error: )(.*?)(?:, path:|$)", re.MULTILINE)
LONGER = 1.5
"""A kubelet that runs on is shown for so many times as long as the trials took."""


def subjects(run: RunDir, plan: Plan, picture: Picture) -> tuple[Timeline, ...]:
    """Empty if the run has no history of the picture's scenario. Windows are those of the promise: no deviation excuses."""
    planned = next((each for each in plan.scenarios if each.name == picture.scenario), None)
    recording = read_history(run, picture.scenario) if planned is not None else None
    if planned is None or recording is None:
        return ()
    if recording.started:
        return (trial(planned.name, recording),)
    promised = curves_of(judge_scenario(run, plan, planned.name, deviations=()).verdicts, plan)
    found = timelines_of(planned.name, planned.subject, recording, promised)
    extra = (measured(picture.histogram, recording.samples[-1]),) if picture.histogram else ()
    return tuple(
        msgspec.structs.replace(each, lanes=(*(part for lane in each.lanes for part in apart(lane)), *extra))
        for each in found
    )


def apart(lane: Lane) -> Iterator[Lane]:
    """What ran, and below it when it was due: each window up to the next, for several may have no end.

    Of Kubernetes Events only the reason is kept: their messages name paths of the machine.
    """
    if lane.name == EVENTS:
        reasons = (msgspec.structs.replace(each, label=each.label.partition(":")[0]) for each in lane.moments)
        lane = msgspec.structs.replace(lane, moments=tuple(reasons))
    due = [each for each in lane.stretches if each.look == "due"]
    yield msgspec.structs.replace(lane, stretches=tuple(each for each in lane.stretches if each.look != "due"))
    if not due:
        return
    next_s = (*(each.from_s for each in due[1:]), float("inf"))
    windows = (
        msgspec.structs.replace(each, to_s=min(float("inf") if each.to_s is None else each.to_s, later_s))
        for each, later_s in zip(due, next_s, strict=True)
    )
    yield Lane(name=f"{lane.name}, due", stretches=tuple(windows))


def trial(scenario: str, recording: Recording) -> Timeline:
    """The kubelet that was tried, in seconds from its start."""
    zero_ns = recording.started[0].t_ns
    ended = [*recording.exited, *recording.healthy]
    length_s = LONGER * max((each.t_ns - zero_ns for each in ended), default=0) / 1e9
    return Timeline(
        scenario=scenario,
        profile="",
        pod="",
        length_s=length_s,
        lanes=(
            _kubelet(zero_ns, recording.exited, recording.healthy),
            Lane(name="its last words", stretches=tuple(map(_last_words, recording.exited))),
        ),
    )


def _kubelet(zero_ns: int, exited: Sequence[ProcessEvent], healthy: Sequence[ProcessEvent]) -> Lane:
    def since(event: ProcessEvent) -> float:
        return round((event.t_ns - zero_ns) / 1e9, 3)

    label = f"exit code {exited[0].data.exit_code}" if exited else "goes on"
    return Lane(
        name="kubelet",
        stretches=(Stretch(look="ran", from_s=0.0, to_s=since(exited[0]) if exited else None, label=label),),
        moments=tuple(Moment(at_s=since(each), label="healthy", line=each.line) for each in healthy),
    )


def _last_words(exited: ProcessEvent) -> Stretch:
    stderr = exited.data.stderr.strip()
    complaint = COMPLAINT.search(stderr)
    label = complaint[1] if complaint else stderr.rpartition("\n")[2]
    return Stretch(look="stated", from_s=0.0, to_s=None, label=label, line=exited.line)


def measured(metric: str, sample: Sample) -> Lane:
    """The samples of a histogram by bucket, from its lower bound to its upper one."""
    return Lane(name="as measured", stretches=tuple(_buckets(metric, sample)))


def _buckets(metric: str, sample: Sample) -> Iterator[Stretch]:
    buckets = (each for each in sample.data.series if each.name == f"{metric}_bucket")
    counts = sorted((float(each.labels["le"]), each.value) for each in buckets)
    for (low_s, below), (high_s, upto) in pairwise(((0.0, 0.0), *counts)):
        if upto > below:
            to_s = None if high_s == float("inf") else high_s
            yield Stretch(
                look="stated",
                from_s=low_s,
                to_s=to_s,
                label=f"{upto - below:g} of {counts[-1][1]:g} samples",
                line=sample.line,
            )
