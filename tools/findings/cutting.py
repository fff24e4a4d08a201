"""The part of a timeline that a picture shows."""

import msgspec

from crashloop.report.timeline import Lane, Timeline
from tools.findings.pictures import Picture


def cut(timeline: Timeline, picture: Picture) -> Timeline:
    """The timeline within the picture's span, which begins at 0 s, without the lanes that it leaves out or that are empty."""
    to_s = timeline.length_s if picture.to_s is None else picture.to_s
    end_s = min(timeline.length_s, to_s)
    lanes = (_within(each, picture.from_s, to_s, end_s) for each in timeline.lanes if each.name not in picture.without)
    return msgspec.structs.replace(
        timeline,
        length_s=round(to_s - picture.from_s, 3),
        lanes=tuple(each for each in lanes if each.stretches or each.moments),
    )


def _within(lane: Lane, from_s: float, to_s: float, end_s: float) -> Lane:
    """What has no end lasted to the end of the recording, and maybe longer."""

    def moved(at_s: float) -> float:
        return round(at_s - from_s, 3)

    return msgspec.structs.replace(
        lane,
        stretches=tuple(
            msgspec.structs.replace(
                each,
                from_s=max(moved(each.from_s), 0.0),
                to_s=moved(end_s if each.to_s is None else min(each.to_s, to_s)),
            )
            for each in lane.stretches
            if each.from_s < to_s and (each.to_s is None or each.to_s > from_s)
        ),
        moments=tuple(
            msgspec.structs.replace(each, at_s=moved(each.at_s)) for each in lane.moments if from_s <= each.at_s <= to_s
        ),
    )
