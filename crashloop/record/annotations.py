"""The annotated mode: an annotation is patched about once a second, so that the kubelet syncs the pod."""

from random import Random
from typing import Any

from crashloop.history.event import Event
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import KubeError
from crashloop.record.channels.events import intervention_event, now_ns
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.scenario import POKE_EVERY_S

ANNOTATION = "crashloop.dev/poke"
ACTION = InterventionKind.ANNOTATE.value


def annotation(value: str) -> dict[str, Any]:
    """The patch that does nothing but make the kubelet look."""
    return {"metadata": {"annotations": {ANNOTATION: value}}}


class Annotations:
    """The pokes of one scenario. `due` is called by one thread, `poke` done by one at a time.

    The times between them are drawn from `POKE_EVERY_S`, the same ones for the same seed.
    """

    def __init__(self, seed: str, now_s: float) -> None:
        self._chance = Random(seed)
        self._next_s = now_s
        self._count = 0
        self._last_ns: int | None = None
        self._longest_ns = 0

    def due(self, now_s: float) -> bool:
        """Whether it is time; if so, the next is due a period after this one was, or from now on if that has passed."""
        if now_s < self._next_s:
            return False
        self._next_s = max(self._next_s + self._chance.uniform(*POKE_EVERY_S), now_s)
        return True

    def poke(self, api: KubeApi, namespace: str, pod: str) -> Event | None:
        """Patch the annotation. The event if it is the first poke or a failure: the others are only counted."""
        began_ns = now_ns()
        try:
            api.patch_pod(namespace, pod, annotation(str(began_ns)))
        except KubeError as error:
            return intervention_event(began_ns, ACTION, str(error))
        self._count += 1
        first, before_ns, self._last_ns = self._last_ns is None, self._last_ns or began_ns, began_ns
        self._longest_ns = max(self._longest_ns, began_ns - before_ns)
        return intervention_event(began_ns, ACTION, "ok") if first else None

    def last(self) -> list[Event]:
        """The last poke, with what was counted; nothing if there was none."""
        if self._last_ns is None:
            return []
        return [intervention_event(self._last_ns, ACTION, "ok", count=self._count, longest_ns=self._longest_ns)]
