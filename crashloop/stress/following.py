"""Follows the load generator's progress through the stages, and summarizes it in a line."""

from pathlib import Path

import msgspec

from crashloop.stress.assignment import StageMark
from crashloop.stress.profile import Stage


class Marks:
    """The new lines of stages.jsonl since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._decode = msgspec.json.Decoder(StageMark).decode

    def new(self) -> list[StageMark]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        return [self._decode(line) for line in whole.splitlines()]


class Situation(msgspec.Struct, kw_only=True):
    """Progress of a run, for its status line."""

    stages: tuple[Stage, ...]
    mark: StageMark | None = None
    """The newest one."""
    pods: int = 0
    """Pods there are."""

    def introduction(self, mark: StageMark) -> str:
        """Such as `stage 2 of 3 (storm): measuring for 120 s with 1 healthy, 14 crashers`."""
        stage = self.stages[mark.index]
        loads = ", ".join(f"{count} {name}" for name, count in stage.users.items())
        return f"{self._place(mark)}: measuring for {stage.duration_s:g} s with {loads}"

    def line(self, *, starts_per_s: float | None, now_ns: int) -> str:
        """Such as `stage 2 of 3 (storm): 40 of 120 s, 18 pods, 7.9 container starts/s`; a rate that is not known is left out."""
        if self.mark is None:
            return "load: the generator is starting"
        stage = self.stages[self.mark.index]
        part_s = (now_ns - self.mark.t_ns) / 1e9
        doing = {
            "begin": "users start",
            "measure": f"{min(part_s, stage.duration_s):.0f} of {stage.duration_s:.0f} s",
            "drain": "users stop",
            "end": "over",
        }[self.mark.what]
        rate = "" if starts_per_s is None else f", {starts_per_s:.1f} container starts/s"
        return f"{self._place(self.mark)}: {doing}, {self.pods} pods{rate}"

    def lingering(self, mark: StageMark) -> str:
        """Such as `stage 2 of 3 (storm) ended with 4 users that had not stopped.`"""
        return f"{self._place(mark)} ended with {mark.users} users that had not stopped."

    def _place(self, mark: StageMark) -> str:
        stage = self.stages[mark.index]
        arm = f", {stage.arm}" if stage.arm else ""
        return f"stage {mark.index + 1} of {len(self.stages)} ({stage.label}{arm})"
