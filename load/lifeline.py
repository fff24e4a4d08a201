"""Ends Locust early: on the runner's request (SIGTERM), or when the runner is gone.

Either way the users stop as at the end of a stage, and remove their objects.
"""

import os
import signal

import gevent
from gevent.os import tp_read
from locust.env import Environment
from locust.runners import WorkerRunner


def end_on_request(environment: Environment) -> None:
    """Let SIGTERM, and the end of the runner, shut Locust down cleanly.

    Locust handles SIGTERM itself, but not while a load shape runs headless: there it handles only SIGINT, which a process in
    the background of a shell ignores.
    """
    options = environment.parsed_options
    if options is not None and options.headless and not isinstance(environment.runner, WorkerRunner):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        gevent.signal_handler(signal.SIGTERM, os.kill, os.getpid(), signal.SIGINT)
    gevent.spawn(_end_with_runner)


def _end_with_runner() -> None:
    """The runner holds the other end of our standard input."""
    while tp_read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
