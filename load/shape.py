"""Stages as Locust's load shape, and the lines of their progress."""

import time
from pathlib import Path
from typing import Any

import msgspec
from locust import LoadTestShape, User

from crashloop.stress.assignment import MARKS, Order, prepared_stage
from load.stages import StageClock


class Stages(LoadTestShape):
    """Asks the clock once a second."""

    abstract = True
    use_common_options = True

    def __init__(self, order: Order, classes: dict[str, type[User]]) -> None:
        super().__init__()
        self._clock = StageClock(order.stages, drain_within_s=order.drain_within_s)
        self._folder = Path(order.folder)
        self._marks = self._folder / MARKS
        self._classes = classes

    def tick(self) -> Any:
        wanted = self._clock.tick(
            now_ns=time.time_ns(), users=self.get_current_user_count(), prepared=prepared_stage(self._folder)
        )
        with self._marks.open("ab") as file:
            while self._clock.marks:
                file.write(msgspec.json.encode(self._clock.marks.pop(0)) + b"\n")
        if wanted is None:
            return None
        for name, each in self._classes.items():
            each.fixed_count = wanted.users.get(name, 0)
        return wanted.total, wanted.per_s, [self._classes[name] for name in wanted.users] or None
