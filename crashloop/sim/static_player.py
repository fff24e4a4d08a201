"""The simulated recorder of a static pod, and what the kubelet does about the pod's file and its mirror pod.

pkg/kubelet/pod_workers.go allowStaticPodStart, pkg/kubelet/kubelet.go tryReconcileMirrorPods @v1.37.1: a deleted mirror pod is
made again at the pod's next sync, which the deletion causes; an edited static pod waits for the end of the one before it, and is
tried again after the worker's backoff of 10 s to 15 s.
"""

from crashloop.history.event import Kind
from crashloop.sim.director import REQUEST_MS, ScenarioPlayer
from crashloop.sim.loop import Steps
from crashloop.sim.pod import SimPod
from crashloop.sim.status_writer import StatusWriter

STATES_MS = (60, 700)
"""Until the kubelet writes the pod's status into a mirror pod that is new."""
FORGOTTEN_SHARE = 0.5
"""How often the kubelet comes upon a new mirror pod that it does not know yet, and forgets the pod's status, startTime included:
pkg/kubelet/status/status_manager.go@v1.37.1 syncPod."""
RETRY_MS = (10_000, 15_000)
"""Until the kubelet looks again whether an edited static pod may start."""


class StaticPlayer(ScenarioPlayer):
    """Carries out one scenario with a static pod and writes its history."""

    _mirror = ""
    """Uid of the mirror pod."""

    def _accept(self, pod: SimPod) -> None:
        """The recorder has written a file; the API server learns of the pod by its mirror pod."""
        pod.is_static = True
        self._make_mirror(pod)

    def _make_mirror(self, pod: SimPod) -> None:
        self._mirror = self._uuid()
        shown_ns = self.loop.now + self.host.takes_ms(REQUEST_MS)
        self._show(pod, "created", shown_ns)
        self.tape.api(shown_ns, Kind.STATUS, {"resource_version": "1", "status": {"phase": "Pending"}}, pod.uid)

    def _show(self, pod: SimPod, phase: str, at_ns: int) -> None:
        self.tape.api(at_ns, Kind.MIRROR, {"phase": phase, "mirror_uid": self._mirror}, pod.uid)

    def _delete_mirror(self) -> None:
        pod, writer, behaviour = self.pod, self._writer, self.kubelet.behaviour
        gone_ns = writer.delivered_ns
        self._show(pod, "deleted", gone_ns)
        if behaviour.mirror_returns_ms is None:
            writer.close()
            return
        back_ns = gone_ns + self.host.takes_ms(behaviour.mirror_returns_ms)
        self.loop.at(back_ns, lambda: self._return(pod, writer))
        self.loop.after(self.host.takes_ms(REQUEST_MS), lambda: self.kubelet.updated(pod))

    def _return(self, pod: SimPod, writer: StatusWriter) -> None:
        self._make_mirror(pod)
        if self.host.chance.random() < FORGOTTEN_SHARE:
            pod.taken_ns = self.loop.now
        if self.kubelet.behaviour.mirror_states:
            self.loop.after(self.host.takes_ms(STATES_MS), writer.repeat)
        else:
            writer.close()

    def _edit(self) -> Steps:
        """The kubelet says nothing more of the old pod, ends it, and comes back to the new one later."""
        old, writer = self.pod, self._writer
        self._read_out()
        writer.close()
        yield self.host.takes_ms(REQUEST_MS)
        yield from self.kubelet.delete(old)
        yield self.host.takes_ms(RETRY_MS)
        self._show(old, "deleted", writer.delivered_ns)
        self.pod, self._writer = self._create()
