"""The runtime channels of one node: containerd's event stream as events of the pods' histories, and control containers.

Theory of operation. Subscribe, then list what exists, then follow. When the stream is lost (a restarted runtime),
connect again at once: events in between are lost, which is recorded in every scenario on the node (`gap`); containers
created in between are found by listing. Their starts and exits are not guessed. Of a start that the runtime refuses there is no
event: CRI is asked what became of each container that was created and not started, before its successor replaces it.

The control channel shows how long the runtime takes when no kubelet is involved. Every 2 s the recorder has the runtime create
a container that never runs and list what it has, as the kubelet does for a restart and for a relist: a slow disk or a busy
runtime shows here, and a slow kubelet does not.
"""

import logging
import threading
import time
from collections.abc import Callable

from crashloop.history.event import Channel, Kind
from crashloop.record.channels.channel import Follower, Sink, Stopwatch, gap, now_ns, recorder_event
from crashloop.record.channels.containerd.attribution import (
    Attributed,
    Attribution,
    created_event,
    event_of,
    refused_event,
)
from crashloop.record.channels.containerd.wire import Containerd, ContainerRecord, RuntimeEvent, StreamLost, Topic

RECONNECT_S = 0.2

log = logging.getLogger(__name__)


class RuntimeChannel(Follower):
    """Follows one node's runtime."""

    def __init__(self, node: str, socket: str, namespace: str, sink: Sink) -> None:
        super().__init__(f"runtime-{node}")
        self.node = node
        self._socket = socket
        self._namespace = namespace
        self._sink = sink
        self._attribution = Attribution()
        self._runtime: Containerd | None = None
        self._connected = threading.Event()
        self._complete_ns = now_ns()
        self._lost: str | None = None
        self._unstarted: dict[str, Attributed] = {}
        """Containers that were created and have not started, by id."""
        self._asking = threading.Lock()

    def has_answered(self, *, within_s: float) -> bool:
        """Whether the runtime answers within that time. If not, it is tried further."""
        return self._connected.wait(within_s)

    def stop(self) -> None:
        self.stopped.set()
        if (runtime := self._runtime) is not None:
            runtime.close()
        super().stop()
        for container_id, why in self._attribution.unattributed.items():
            log.info("runtime of node %s: container %s could not be attributed: %s", self.node, container_id, why)

    def broken_since(self) -> tuple[int, str] | None:
        """Since when nothing is heard of the runtime, and why; None while it is."""
        return None if self._lost is None else (self._complete_ns, self._lost)

    def follow(self) -> None:
        while not self.stopped.is_set():
            self._runtime = Containerd(self._socket)
            try:
                self._stream(self._runtime)
            except StreamLost as error:
                if not self.stopped.is_set() and self._lost is None:
                    log.warning("runtime of node %s: the event stream is lost (%s)", self.node, error)
                    self._lost = str(error)
            finally:
                self._runtime.close()
            self.stopped.wait(RECONNECT_S)

    def _stream(self, runtime: Containerd) -> None:
        events = runtime.subscribe()
        existing = runtime.containers()
        if self._lost is not None:
            running = [each.container_id for each in existing if self._runs(runtime, each.container_id)]
            since_ns, reason, self._lost = self._complete_ns, self._lost, None
            lost = gap(
                Channel.RUNTIME, from_ns=since_ns, to_ns=now_ns(), reason=reason, node=self.node, running=running
            )
            self._sink.node(self.node, lost)
        for record in sorted(existing, key=lambda record: record.created_ns):
            if not self._attribution.knows(record.container_id):
                self._take_listed(record)
        self._complete_ns = now_ns()
        self._connected.set()
        for event in events:
            self._complete_ns = now_ns()
            self._take(runtime, event)

    def _runs(self, runtime: Containerd, container_id: str) -> bool:
        """Whether a container of ours that was met before still runs."""
        whose = self._attribution.whose(container_id)
        ours = whose is not None and whose.namespace == self._namespace and whose.container is not None
        return ours and runtime.runs(container_id)

    def _take(self, runtime: Containerd, event: RuntimeEvent) -> None:
        container_id = event.container_id
        if event.topic is Topic.TASK_DELETE and not self._tells_of_an_exit(event):
            return
        if not self._attribution.knows(container_id):
            record = runtime.container(container_id)
            if record is None:
                self._give_up(event)
            elif event.topic is Topic.CREATE:
                self._attribution.learn(record)
            else:
                self._take_listed(record)
        whose = self._attribution.whose(container_id)
        if whose is not None and whose.namespace == self._namespace:
            self._heed_starts(runtime, whose, event)
            self._sink.pod(whose.pod, event_of(whose, event, node=self.node, received_ns=self._complete_ns))
        if event.topic is Topic.DELETE:
            self._attribution.forget(container_id)

    def _tells_of_an_exit(self, cleared: RuntimeEvent) -> bool:
        """Whether what was cleared away is the process of a container that was met before and not removed meanwhile."""
        whose = self._attribution.whose(cleared.container_id)
        return not cleared.is_of_exec and whose is not None and whose.container is not None

    def _heed_starts(self, runtime: Containerd, whose: Attributed, event: RuntimeEvent) -> None:
        if event.topic is Topic.CREATE and whose.container is not None:
            self.ask_for_refused(runtime)
            self._unstarted[whose.container_id] = whose
        elif event.topic in (Topic.START, Topic.EXIT, Topic.DELETE) and not event.is_of_exec:
            self._unstarted.pop(whose.container_id, None)

    def ask_for_refused(self, runtime: Containerd) -> None:
        """Report the starts that the runtime has refused since the last question. Raises StreamLost."""
        with self._asking:
            for container_id, whose in tuple(self._unstarted.items()):
                refused = runtime.refused_start(container_id)
                if refused is not None and self._unstarted.pop(container_id, None) is not None:
                    event = refused_event(whose, refused, node=self.node, received_ns=now_ns())
                    self._sink.pod(whose.pod, event)

    def _take_listed(self, record: ContainerRecord) -> None:
        whose = self._attribution.learn(record)
        if whose is not None and whose.namespace == self._namespace:
            event = created_event(whose, node=self.node, t_ns=whose.created_ns, received_ns=now_ns(), listed=True)
            self._sink.pod(whose.pod, event)

    def _give_up(self, event: RuntimeEvent) -> None:
        """A container was gone before it could be looked up: it may have been one of ours."""
        reason = f"container {event.container_id} was gone before its event {event.topic} could be attributed"
        self._attribution.unattributed[event.container_id] = reason
        stamp_ns = event.published_ns
        self._sink.node(
            self.node, gap(Channel.RUNTIME, from_ns=stamp_ns, to_ns=stamp_ns, reason=reason, node=self.node)
        )


CONTROL_EVERY_S = 2.0


class ControlChannel(Follower):
    """Reports how long control containers take on one node to its scenarios."""

    def __init__(
        self, node: str, socket: str, sink: Sink, *, between: Callable[[Containerd], None] | None = None
    ) -> None:
        """`between`: what else is asked of the runtime as often."""
        super().__init__(f"control-{node}")
        self._node = node
        self._socket = socket
        self._sink = sink
        self._between = between
        self._number = 0
        self.stopwatch = Stopwatch()

    def follow(self) -> None:
        runtime = Containerd(self._socket)
        failed = False
        while not self.stopped.wait(CONTROL_EVERY_S):
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
        with self.stopwatch.running():
            began_ns = time.monotonic_ns()
            runtime.create_control(name)
            created_ns = time.monotonic_ns()
            runtime.list_as_kubelets_do()
            listed_ns = time.monotonic_ns()
        data = {"create_ns": created_ns - began_ns, "list_ns": listed_ns - created_ns}
        self._sink.node(self._node, recorder_event(Kind.CONTROL, now_ns(), data, node=self._node))
        runtime.remove_control(name)
        if self._between is not None:
            self._between(runtime)
