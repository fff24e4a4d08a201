"""Pods of users' own templates that wait for an image that does not come. Pure, but for a lock.

Theory of operation. The kubelet tries again after 10 s, then after 20 s. A pod that still waits after `GIVEN_S` has seen both
fail, and a load with it is not the planned one.
"""

import threading
from collections.abc import Collection

from crashloop.kube.client import Json
from crashloop.kube.missing_image import MissingImage, missing_images
from crashloop.report.text import counted
from crashloop.stress.loads import load_of

GIVEN_S = 40.0


class AwaitedImages:
    """Takes the statuses of pods, from any thread."""

    def __init__(self, loads: Collection[str]) -> None:
        """`loads` are those with a template."""
        self._loads = tuple(loads)
        self._since_s: dict[str, float] = {}
        """By pod."""
        self._missing: dict[str, MissingImage] = {}
        self._lock = threading.Lock()

    def concern(self, load: str | None) -> bool:
        """Whether statuses of a load's pods are wanted."""
        return load in self._loads

    def take(self, pod: str, status: Json, now_s: float) -> None:
        """Take the newest status of a pod; `now_s` by any clock that goes on."""
        missing = next(iter(missing_images(status)), None)
        with self._lock:
            if missing is None:
                self._since_s.pop(pod, None)
            else:
                self._since_s.setdefault(pod, now_s)
                self._missing[pod] = missing

    def forget(self, pod: str) -> None:
        """The pod is gone."""
        with self._lock:
            self._since_s.pop(pod, None)

    def overdue(self, now_s: float) -> str | None:
        """The sentence about a load whose pods have waited too long; None if none has."""
        with self._lock:
            late = [pod for pod, since_s in self._since_s.items() if now_s - since_s >= GIVEN_S]
            if not late:
                return None
            each = self._missing[late[0]]
        load = load_of(late[0], self._loads)
        pods = sum(load_of(pod, self._loads) == load for pod in late)
        return (
            f"load {load}: {counted(pods, 'pod')} without its image: container {each.container!r} of {late[0]} waits for "
            f"{each.image} ({each.reason}: {each.message.rstrip('.')}). Give its archive with --image-archive, or name an image "
            "that the node can pull."
        )
