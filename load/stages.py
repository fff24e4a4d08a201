"""Decides the current stage and its number of users. Pure: its inputs are the time and the number of present users.

Theory of operation. A stage starts its users, settles, measures for its duration, and drains; the next one begins when no
user is left. Every part has a time limit, so that a run always ends: a stage short of users measures with those it has; if
its users do not leave in time, the next stage starts anyway. Before a stage in which arms change places the clock waits until
the runner has prepared it; then the wash-out of the stage passes without load.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Literal

import msgspec

from crashloop.stress.assignment import StageMark
from crashloop.stress.profile import Stage, changes_places

COMES_WITHIN_S = 30.0
"""Longest start of a stage's users, beyond the time by its spawn rate."""
DRAIN_PER_S = 100.0

_What = Literal["begin", "measure", "drain", "end"]


class WantedUsers(msgspec.Struct, frozen=True):
    """Users by load, and how many start or stop per second."""

    users: dict[str, int]
    per_s: float

    @property
    def total(self) -> int:
        return sum(self.users.values())


class _Part(Enum):
    BEFORE = auto()
    RESTING = auto()
    COMING = auto()
    SETTLING = auto()
    MEASURING = auto()
    DRAINING = auto()


class StageClock:
    """Goes through the stages, one call of `tick` after the other."""

    def __init__(self, stages: Sequence[Stage], *, drain_within_s: float) -> None:
        self._stages = stages
        self._drain_within_s = drain_within_s
        self._index = 0
        self._part = _Part.BEFORE
        self._since_s = 0.0
        self.marks: list[StageMark] = []
        """Progress lines in order; the caller removes them."""

    @property
    def stage(self) -> Stage | None:
        """The current stage; None after the last."""
        return self._stages[self._index] if self._index < len(self._stages) else None

    def tick(self, *, now_ns: int, users: int, prepared: int = 0) -> WantedUsers | None:
        """The users to have now; None after the last stage. `prepared`: index of the last stage that the runner has prepared."""
        moved = True
        while moved and self.stage is not None:
            moved = self._move(now_ns, users, prepared)
        stage = self.stage
        if stage is None:
            return None
        if self._part in (_Part.BEFORE, _Part.RESTING, _Part.DRAINING):
            return WantedUsers({}, DRAIN_PER_S)
        return WantedUsers(self._users(stage), stage.spawn_per_s)

    def _move(self, now_ns: int, users: int, prepared: int) -> bool:
        """Go on to the next part if it is time."""
        stage = self._stages[self._index]
        part_s = now_ns / 1e9 - self._since_s
        if self._part is _Part.BEFORE:
            waits = changes_places(self._stages, self._index) and prepared < self._index
            return not waits and self._enter(_Part.RESTING, None, now_ns, users)
        if self._part is _Part.RESTING:
            return part_s >= stage.washout_s and self._enter(_Part.COMING, "begin", now_ns, users)
        if self._part is _Part.COMING:
            total = sum(self._users(stage).values())
            late = part_s > total / stage.spawn_per_s + COMES_WITHIN_S
            return (users >= total or late) and self._enter(_Part.SETTLING, None, now_ns, users)
        if self._part is _Part.SETTLING:
            return part_s >= stage.settle_s and self._enter(_Part.MEASURING, "measure", now_ns, users)
        if self._part is _Part.MEASURING:
            return part_s >= stage.duration_s and self._enter(_Part.DRAINING, "drain", now_ns, users)
        if users == 0 or part_s > self._drain_within_s:
            self._enter(_Part.BEFORE, "end", now_ns, users)
            self._index += 1
            return True
        return False

    def _enter(self, part: _Part, mark: _What | None, now_ns: int, users: int) -> bool:
        stage = self._stages[self._index]
        self._part, self._since_s = part, now_ns / 1e9
        if mark is not None:
            self.marks.append(
                StageMark(index=self._index, stage=stage.name, arm=stage.arm, what=mark, t_ns=now_ns, users=users)
            )
        return True

    @staticmethod
    def _users(stage: Stage) -> dict[str, int]:
        return {name: int(count) for name, count in stage.users.items()}
