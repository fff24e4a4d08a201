"""Outcome of trying a kubelet configuration, as PROCESS_* events: it exits, becomes healthy, or does neither in time.

A second kubelet, the candidate, starts inside a node with a runtime, a cgroup and a folder of its own: if it shared the
node's, it would take the node's pods for orphans and kill them (HandlePodCleanups in
pkg/kubelet/kubelet_pods.go@v1.37.1).
"""

import logging
import re
import time
from collections.abc import Callable
from pathlib import Path

from crashloop.cluster.files import last_lines
from crashloop.cluster.processes import Daemon, exit_code, is_alive
from crashloop.history.event import Channel, Event, Kind
from crashloop.waiting import WaitTimeout, wait_until

LAST_LINES = 40
"""Enough for the message of a refusal."""
_CRASHES = re.compile(r"(panic|fatal error): ")

_log = logging.getLogger(__name__)


def candidate_event(node: str, kind: Kind, **data: object) -> Event:
    """An event of a candidate, stamped now; `node` is the node it was started in."""
    now = time.time_ns()
    return Event(seq=0, t_ns=now, received_ns=now, channel=Channel.KUBELET, kind=kind, node=node, data=data)


def last_words(log: Path) -> str:
    """The end of a log, from the message of a crash on if there is one, however many goroutines are printed after it."""
    lines = last_lines(log, count=10_000, at_most_bytes=1 << 20).splitlines()
    crash = next((line for line in lines if _CRASHES.match(line)), None)
    end = lines[-LAST_LINES:]
    return "\n".join(end if crash is None or crash in end else [crash, "...", *end])


def watch_candidate(
    node: str,
    kubelet: Daemon,
    log: Path,
    *,
    healthy: Callable[[], bool],
    configz: Callable[[], object],
    not_yet: type[Exception],
    at_most_s: float,
    every_s: float = 0.05,
) -> tuple[Event, ...]:
    """Watch a candidate until it exits, is healthy, or `at_most_s` have passed: one event, or none.

    `kubelet` is a child of this process whose exit code is the kubelet's, and `log` its output. `healthy` raises `not_yet` while
    nothing answers; the last reason is logged where neither came.
    """

    def outcome() -> Event | None:
        if not is_alive(kubelet):
            output = last_words(log)
            return candidate_event(node, Kind.PROCESS_EXITED, exit_code=exit_code(kubelet), stderr=output)
        if not healthy():
            return None
        return candidate_event(node, Kind.PROCESS_HEALTHY, configz=configz())

    try:
        what = "the candidate to exit or to be healthy"
        return (wait_until(what, outcome, timeout_s=at_most_s, every_s=every_s, not_yet=not_yet),)
    except WaitTimeout as error:
        _log.warning("node %s: %s", node, error)
        return ()
