"""Stages as Locust's load shape, and the lines of their progress."""

import time
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from locust import LoadTestShape, User

from crashloop.stress.assignment import MARKS, Order, prepared_stage
from load.remote_workers import RemoteWorkers
from load.stages import DRAIN_PER_S, StageClock


class Stages(LoadTestShape):
    """Asks the clock once a second."""

    abstract = True
    use_common_options = True
    remote: ClassVar[RemoteWorkers | None] = None
    """The workers on other machines, if the master has such."""

    def __init__(self, order: Order, classes: dict[str, type[User]]) -> None:
        super().__init__()
        self._clock = StageClock(order.stages, drain_within_s=order.drain_within_s)
        self._folder = Path(order.folder)
        self._marks = self._folder / MARKS
        self._classes = classes

    def tick(self) -> Any:
        if self.remote is not None and not self.remote.may_begin():
            return 0, DRAIN_PER_S, None
        wanted = self._clock.tick(
            now_ns=time.time_ns(), users=self.get_current_user_count(), prepared=prepared_stage(self._folder)
        )
        with self._marks.open("ab") as file:
            while self._clock.marks:
                mark = self._clock.marks.pop(0)
                file.write(msgspec.json.encode(mark) + b"\n")
                if self.remote is not None and mark.what == "begin":
                    self.remote.begin(mark.index)
        if wanted is None:
            if self.remote is not None:
                self.remote.end()
            return None
        for name, each in self._classes.items():
            each.fixed_count = wanted.users.get(name, 0)
        return wanted.total, wanted.per_s, [self._classes[name] for name in wanted.users] or None
