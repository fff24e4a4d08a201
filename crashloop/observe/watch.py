"""Follows the pods of a cluster, read-only, and collects their crash loops."""

import threading
import time

import msgspec

from crashloop.errors import ClusterError
from crashloop.inference.loops import CrashLoop, CrashLoops
from crashloop.inference.statements import statement
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import KubeError
from crashloop.kube.watch import LOOKING, Changed, Listed, PodObject, PodWatch, WatchGap

LISTED_WITHIN_S = 120.0
CLOCKS_APART_S = 5.0
"""By how much the clock of a node may be ahead of ours: what it says to have happened that late was seen whole."""


class LoopWatch:
    """Follows all pods of a namespace, or of all for None, in a thread of its own, from `start` to `stop`."""

    def __init__(self, api: KubeApi, namespace: str | None) -> None:
        self._watch = PodWatch(api, namespace or "", retry=LOOKING)
        self._lock = threading.Lock()
        self._loops = CrashLoops(since_s=time.time() + CLOCKS_APART_S)
        self._listed = threading.Event()
        """Set too when that is not to come any more."""
        self._has_listed = False
        self._ended = threading.Event()
        self._crash: Exception | None = None
        self._thread = threading.Thread(target=self._follow, name="observe", daemon=True)
        self.gaps = 0
        """How often changes were lost for good."""

    def start(self) -> None:
        """Return once all pods have been listed. Raises ClusterError if that does not come about, KubeError if it is refused."""
        self._thread.start()
        if not self._listed.wait(LISTED_WITHIN_S):
            broken = self._watch.broken_since()
            raise ClusterError(
                f"the pods could not be listed within {LISTED_WITHIN_S:g} s.\n{broken[1] if broken else ''}".rstrip()
            )
        if not self._has_listed and self._crash is not None:
            raise self._crash

    def wait(self, for_s: float) -> None:
        """Let it follow for a while.

        Returns early on Ctrl-C and when the API server refuses, for what was seen is worth something.
        """
        try:
            self._ended.wait(for_s)
        except KeyboardInterrupt:
            return
        if self._crash is not None and not isinstance(self._crash, KubeError):
            raise self._crash

    def broken_since(self) -> tuple[int, str] | None:
        """Since when nothing is heard (UTC, ns), and why; None while something is."""
        return self._watch.broken_since()

    def stop(self) -> None:
        self._watch.stop()
        self._thread.join(timeout=2.0)

    def by_node(self) -> dict[str, tuple[CrashLoop, ...]]:
        """The crash loops so far."""
        with self._lock:
            return self._loops.by_node()

    @property
    def left_out(self) -> int:
        with self._lock:
            return self._loops.left_out

    def _follow(self) -> None:
        try:
            for item in self._watch.items():
                if isinstance(item, WatchGap):
                    self.gaps += item.lost
                elif isinstance(item, Listed):
                    for pod in item.pods:
                        self._take(pod)
                    self._has_listed = True
                    self._listed.set()
                elif isinstance(item, Changed):
                    self._take(item.pod)
        except Exception as crash:  # noqa: BLE001 - a thread that has crashed must end the whole look
            self._crash = crash
        finally:
            self._listed.set()
            self._ended.set()

    def _take(self, pod: PodObject) -> None:
        about = pod.metadata
        try:
            said = statement(about.namespace, about.name, about.uid, bytes(pod.spec), bytes(pod.status))
        except msgspec.MsgspecError:
            return  # a pod of a shape that no API server sends says nothing
        with self._lock:
            self._loops.take(said)
