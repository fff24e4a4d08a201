"""Recordings with longer or shorter delays than the kubelet gave: what a verdict on them is shows what the judge can see.

Theory of operation. All that a recording says to have happened from a moment on is moved, by whatever clock it is stamped with.
A delay that is longer is so from its first eighth on: the kubelet looks as long before its end, and holds the start back. One
that is shorter is so by the last time before the create. Time that is put in shows the host as the seconds before it did: copies
of the recorder's own samples, and as much more in the one that it falls into.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

Line = dict[str, Any]
"""A line of a history."""
Shift = Callable[[int, float], float]
"""Seconds that a delay is to be longer by, of the number of the restart and the seconds that it took."""

HOST_KINDS = frozenset({"pressure", "cpu-wait", "control"})
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
_UTC_FROM_NS = 10**18
"""Smaller stamps count from something else than the Unix epoch."""
JUST_BEFORE_NS = 1_000_000


def stretched(lines: Sequence[Line], container: str, shift: Shift) -> list[Line]:
    """The lines with the delays of one container's restarts changed, in the order in which they would have been received."""
    moved = _Moved(_creates(lines, container), shift)
    reading = next(line for line in lines if line["kind"] == "clock")
    boot_ns = reading["t_ns"] - reading["data"]["boot_ns"]
    made = [_moved_line(line, moved, boot_ns) for line in lines]
    # The recorder writes as it receives, but for what it looks up at the begin and at the end.
    placed = [*zip(accumulate((line["received_ns"] for line in made), max), made, strict=True)]
    for begin_ns, length_ns in moved.put_in:
        window = (line for line in lines if begin_ns - length_ns < line["t_ns"] <= begin_ns)
        by_ns = length_ns + moved.by_ns(begin_ns - 1)
        copies = [_later(line, by_ns) for line in window if line["kind"] in HOST_KINDS]
        placed += [(line["received_ns"], line) for line in copies]
    placed.sort(key=lambda each: each[0])
    return [line | {"seq": number} for number, (_, line) in enumerate(placed)]


def can_be_moved(lines: Iterable[Line], container: str) -> bool:
    """Whether the runtime's events show restarts of the container, and a reading of all clocks how they belong together."""
    lines = tuple(lines)
    return bool(_creates(lines, container)) and any(line["kind"] == "clock" for line in lines)


def _later(line: Line, by_ns: int) -> Line:
    return line | {"t_ns": line["t_ns"] + by_ns, "received_ns": line["received_ns"] + by_ns}


def _creates(lines: Iterable[Line], container: str) -> list[tuple[int, int, int]]:
    """Number of the restart, exit before it and create, in UTC nanoseconds, by the runtime's events."""
    exits, found = [], []
    for line in lines:
        if line["channel"] == "runtime" and line.get("container") == container:
            if line["kind"] == "exited":
                exits.append(line["t_ns"])
            elif line["kind"] == "created" and exits:
                found.append((len(exits), exits[-1], line["t_ns"]))
    return found


class _Moved:
    """By how much times move."""

    def __init__(self, creates: Iterable[tuple[int, int, int]], shift: Shift) -> None:
        self.put_in: list[tuple[int, int]] = []
        self._from_ns, sums_ns = [], [0]
        for number, exit_ns, at_ns in creates:
            by_ns = round(shift(number, (at_ns - exit_ns) / 1e9) * 1e9)
            begin_ns = exit_ns + (at_ns - exit_ns) // 8 if by_ns > 0 else at_ns - JUST_BEFORE_NS
            self._from_ns.append(begin_ns)
            sums_ns.append(sums_ns[-1] + by_ns)
            self.put_in += [(begin_ns, by_ns)] if by_ns > 0 else []
        self._sums_ns = sums_ns

    def put_into_ns(self, from_ns: int, to_ns: int) -> int:
        """What is put in within that time."""
        return sum(by_ns for at_ns, by_ns in self.put_in if from_ns < at_ns <= to_ns)

    def by_ns(self, t_ns: int) -> int:
        return self._sums_ns[bisect_right(self._from_ns, t_ns)]


def _moved_line(line: Line, moved: _Moved, boot_ns: int) -> Line:
    utc_ns = line["t_ns"] + (boot_ns if line.get("clock") == "boot" else 0)
    by_ns, received_by_ns = moved.by_ns(utc_ns), moved.by_ns(line["received_ns"])
    data = line.get("data", {})
    if "interval_ns" in data:
        share = 1 + moved.put_into_ns(line["t_ns"] - data["interval_ns"], line["t_ns"]) / data["interval_ns"]
        data = {
            key: round(each * share) if key.endswith(("_us", "_ns")) and each else each for key, each in data.items()
        }
    if line["kind"] == "clock":
        data = {k: v + by_ns if k in ("boot_ns", "monotonic_ns") and v else v for k, v in data.items()}
    return line | {
        "t_ns": line["t_ns"] + by_ns,
        "received_ns": line["received_ns"] + max(by_ns, received_by_ns),
        "data": _moved_stamps(data, moved),
    }


def _moved_stamps(value: Any, moved: _Moved) -> Any:
    """The same with every UTC stamp in it moved: nanoseconds, or the RFC 3339 seconds of Kubernetes."""
    if isinstance(value, dict):
        return {key: _moved_stamps(each, moved) for key, each in value.items()}
    if isinstance(value, list):
        return [_moved_stamps(each, moved) for each in value]
    if isinstance(value, int) and value >= _UTC_FROM_NS:
        return value + moved.by_ns(value)
    if isinstance(value, str) and _STAMP.match(value):
        stamp_ns = int(datetime.fromisoformat(value).timestamp()) * 10**9
        # A stamp lost its fraction: what it stands for may come after the create of its own second.
        by_ns = moved.by_ns(stamp_ns + 10**9 - 1)
        return datetime.fromtimestamp((stamp_ns + by_ns) // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return value
