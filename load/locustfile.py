"""The entry point of Locust: a class of users per load of the assignment, and its stages as the load shape.

Started by crashloop.stress.generator, which also sets the variables that name the assignment, or the master that has it:
    python -m load -f load/locustfile.py --headless
"""

import gc
import os
from pathlib import Path
from typing import Any

from locust import LoadTestShape, User, events
from locust.env import Environment
from locust.runners import MasterRunner

from crashloop.stress.assignment import FOLDER_VARIABLE, Order
from load.lifeline import end_on_request
from load.records import FileRecords
from load.remote_master import SentRecords
from load.remote_workers import RemoteWorkers
from load.shape import Stages
from load.users import LoadUser, user_class
from load.worker import Worker, is_remote, read_order

_ORDER: Order
_ORDER, _NUMBER = read_order()
_CLASSES: dict[str, type[User]] = {name: user_class(name, load) for name, load in _ORDER.loads.items()}
globals().update(_CLASSES)


class Shape(Stages):
    """The only load shape for Locust."""

    abstract = False

    def __init__(self) -> None:
        super().__init__(_ORDER, _CLASSES)


@events.init.add_listener
def _begin(environment: Environment, **_: Any) -> None:
    environment.stop_timeout = _ORDER.drain_within_s
    gc.freeze()  # what was imported stays, and is not looked through again and again
    os.chdir(os.environ[FOLDER_VARIABLE])
    if is_remote():
        sent = SentRecords(environment)
        LoadUser.worker = Worker(environment, _ORDER, _NUMBER, sent)
        sent.arrived(_NUMBER)
        return
    LoadUser.worker = Worker(environment, _ORDER, _NUMBER, FileRecords(Path(_ORDER.folder), _NUMBER))
    if _ORDER.remote_workers and isinstance(environment.runner, MasterRunner):
        Shape.remote = RemoteWorkers(environment.runner, _ORDER)
    end_on_request(environment)


__all__ = ["LoadTestShape", "Shape"]
