"""Follows the pods of a cluster, read-only, and collects their crash loops."""

import threading
import time
from collections.abc import Callable, Mapping

import msgspec

from crashloop.errors import ClusterError
from crashloop.inference.loops import CrashLoop, CrashLoops, LeftOut, statement
from crashloop.kube.answers import KubeError
from crashloop.kube.client import KubeApi
from crashloop.kube.watch import LOOKING, Changed, Listed, PodObject, PodWatch, WatchGap

LISTED_WITHIN_S = 120.0
CLOCKS_APART_S = 5.0
"""The most by which a node's clock may be ahead of ours: a wait that began later, by that clock, was observed completely."""


class LoopWatch:
    """Follows all pods of a namespace, or of all for None, in a thread of its own, from `start` to `stop`."""

    def __init__(self, api: KubeApi, namespace: str | None, seen: Callable[[PodObject], None] = lambda _: None) -> None:
        """`seen` is called with every pod and after every change of one, in the thread of the watch."""
        self._seen = seen
        self._watch = PodWatch(api, namespace or "", retry=LOOKING)
        self._lock = threading.Lock()
        self._loops = CrashLoops(since_s=time.time() + CLOCKS_APART_S)
        self._listed = threading.Event()
        """Also set when the first list can no longer succeed."""
        self._has_listed = False
        self._ended = threading.Event()
        self._crash: Exception | None = None
        self._thread = threading.Thread(target=self._follow, name="observe", daemon=True)
        self.gaps = 0
        """Number of gaps with lost changes."""

    def start(self) -> None:
        """Return when all pods have been listed. Raises ClusterError after LISTED_WITHIN_S, KubeError if the list is refused."""
        self._thread.start()
        if not self._listed.wait(LISTED_WITHIN_S):
            broken = self._watch.broken_since()
            raise ClusterError(
                f"the pods could not be listed within {LISTED_WITHIN_S:g} s.\n{broken[1] if broken else ''}".rstrip()
            )
        if not self._has_listed and self._crash is not None:
            raise self._crash

    def wait(self, for_s: float) -> None:
        """Observe for a while.

        Returns early on Ctrl-C and when the API server refuses: the observations so far are judged.
        """
        try:
            self._ended.wait(for_s)
        except KeyboardInterrupt:
            return
        if self._crash is not None and not isinstance(self._crash, KubeError):
            raise self._crash

    def broken_since(self) -> tuple[int, str] | None:
        """Start (UTC, ns) and reason of the present loss of connection; None while connected."""
        return self._watch.broken_since()

    def stop(self) -> None:
        self._watch.stop()
        self._thread.join(timeout=2.0)

    def by_node(self) -> dict[str, tuple[CrashLoop, ...]]:
        """The crash loops so far."""
        with self._lock:
            return self._loops.by_node()

    @property
    def left_out(self) -> Mapping[LeftOut, int]:
        with self._lock:
            return self._loops.left_out

    @property
    def restarting(self) -> int:
        with self._lock:
            return self._loops.restarting

    @property
    def waiting(self) -> int:
        with self._lock:
            return self._loops.waiting

    def _follow(self) -> None:
        try:
            for item in self._watch.items():
                if isinstance(item, WatchGap):
                    self.gaps += item.lost
                elif isinstance(item, Listed):
                    for pod in item.objects:
                        self._take(pod)
                    self._has_listed = True
                    self._listed.set()
                elif isinstance(item, Changed):
                    self._take(item.object)
        except Exception as crash:  # noqa: BLE001 - a crashed thread must end the whole observation
            self._crash = crash
        finally:
            self._listed.set()
            self._ended.set()

    def _take(self, pod: PodObject) -> None:
        self._seen(pod)
        about = pod.metadata
        try:
            said = statement(about.namespace, about.name, about.uid, bytes(pod.spec), bytes(pod.status))
        except msgspec.MsgspecError:
            return  # no API server sends a pod of this shape
        with self._lock:
            self._loops.take(said)
