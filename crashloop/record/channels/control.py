"""The control channel: how long the runtime of a node takes when no kubelet is involved.

Every 2 s the recorder has the runtime create a container that never runs and list what it has, as the kubelet does for a
restart and for a relist: a slow disk or a busy runtime shows here, and a slow kubelet does not.
"""

import logging
import time

from crashloop.history.event import Kind
from crashloop.record.channels.containerd.wire import Containerd, StreamLost
from crashloop.record.channels.events import Sink, now_ns, recorder_event
from crashloop.record.channels.follower import Follower

EVERY_S = 2.0

log = logging.getLogger(__name__)


class ControlChannel(Follower):
    """Reports how long control containers take on one node to its scenarios."""

    def __init__(self, node: str, socket: str, sink: Sink) -> None:
        super().__init__(f"control-{node}")
        self._node = node
        self._socket = socket
        self._sink = sink
        self._number = 0

    def follow(self) -> None:
        runtime = Containerd(self._socket)
        failed = False
        while not self.stopped.wait(EVERY_S):
            try:
                self._report(runtime)
                failed = False
            except StreamLost as error:
                # Without it the verdicts fall back on I/O pressure.
                if not failed:
                    log.warning("node %s: no control container: %s", self._node, error)
                failed = True
        runtime.close()

    def _report(self, runtime: Containerd) -> None:
        self._number += 1
        name = f"control-{self._number}"
        began_ns = time.monotonic_ns()
        runtime.create_control(name)
        created_ns = time.monotonic_ns()
        runtime.list_as_kubelets_do()
        listed_ns = time.monotonic_ns()
        data = {"create_ns": created_ns - began_ns, "list_ns": listed_ns - created_ns}
        self._sink.node(self._node, recorder_event(Kind.CONTROL, now_ns(), data, node=self._node))
        runtime.remove_control(name)
