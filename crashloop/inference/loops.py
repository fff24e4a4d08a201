"""Crash loops: the waits between the exits and the starts of containers, put together from statement after statement.

Theory of operation. A statement with a present and a previous instance tells of one wait: previous.finishedAt to
present.startedAt, both whole seconds by the node's clock, so the true wait is less than a second away from the
difference, and at least a whole due delay if the difference is. Waits of one container are numbered by restartCount;
waits that follow each other without a hole form a chain, along which the counter doubles.
"""

from collections.abc import Iterator

import msgspec

from crashloop.inference.statements import ContainerStatement, PodStatement

FORGETS_S = 590
"""A run and a wait that come near 600 s together may cost the counter (kubelet-wide: lastUpdate plus 10 minutes)."""


class Wait(msgspec.Struct, frozen=True):
    """From the exit of an instance to the start of the next, by the container's statuses."""

    restart: int
    """The restartCount that it ended with."""
    seconds: int
    """startedAt less finishedAt: the true wait is less than one second away."""
    ran_s: int
    """How long the instance before had run."""
    started_s: int
    """When it ended, seconds since the epoch by the node's clock."""
    seen_whole: bool
    """It began after we began to look, so that it was not cut short by something that we did not see."""
    disturbed: bool = False
    """A start attempt failed or the container was changed: nothing follows from how long it was."""

    @property
    def may_forget(self) -> bool:
        """Whether the kubelet may have lost the counter before it ended."""
        return self.disturbed or self.ran_s + self.seconds >= FORGETS_S


class CrashLoop(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of one container that restarts."""

    namespace: str
    pod: str
    container: str
    node: str
    waits: tuple[Wait, ...]
    """In the order of the restarts."""

    @property
    def name(self) -> str:
        """As findings call it."""
        return f"{self.namespace}/{self.pod} {self.container}"

    @property
    def chains(self) -> Iterator[tuple[Wait, ...]]:
        """Waits that follow each other without a hole."""
        chain: list[Wait] = []
        for wait in self.waits:
            if chain and wait.restart != chain[-1].restart + 1:
                yield tuple(chain)
                chain = []
            chain.append(wait)
        if chain:
            yield tuple(chain)


class CrashLoops:
    """All crash loops of a cluster, from the statements about its pods."""

    def __init__(self, *, since_s: float) -> None:
        """`since_s`: we look since then, in seconds since the epoch."""
        self._since_s = since_s
        self._containers: dict[tuple[str, str], _Container] = {}
        self._left_out: dict[str, int] = {}

    @property
    def left_out(self) -> int:
        """Restarted containers that were not used."""
        return sum(self._left_out.values())

    def take(self, pod: PodStatement) -> None:
        """Take a statement about a pod; one that repeats an earlier one adds nothing."""
        if pod.left_out:
            self._left_out[pod.uid] = pod.left_out
        for said in pod.containers if pod.node else ():
            if said.restart_count > 0:
                key = (pod.uid, said.name)
                container = self._containers.get(key)
                if container is None:
                    container = self._containers[key] = _Container(pod)
                container.take(said, since_s=self._since_s)

    def by_node(self) -> dict[str, tuple[CrashLoop, ...]]:
        """The loops of which a wait was seen, by node, in alphabetical order."""
        seen = [each.seen(name) for (_, name), each in self._containers.items() if each.has_waits]
        found: dict[str, list[CrashLoop]] = {}
        for loop in sorted(seen, key=lambda each: (each.node, each.name)):
            found.setdefault(loop.node, []).append(loop)
        return {node: tuple(loops) for node, loops in found.items()}


class _Container:
    """What the statements have told of one container so far."""

    def __init__(self, pod: PodStatement) -> None:
        self._namespace, self._pod, self._node = pod.namespace, pod.name, pod.node
        self._waits: dict[int, Wait] = {}
        self._key: str | None = None
        self._disturbed = False

    @property
    def has_waits(self) -> bool:
        return bool(self._waits)

    def seen(self, name: str) -> CrashLoop:
        waits = tuple(self._waits[restart] for restart in sorted(self._waits))
        return CrashLoop(namespace=self._namespace, pod=self._pod, container=name, node=self._node, waits=waits)

    def take(self, said: ContainerStatement, *, since_s: float) -> None:
        if said.start_failed or (self._key is not None and said.key != self._key):
            self._disturbed = True
        self._key = said.key
        present, previous = said.present, said.previous
        if present is None or previous is None or previous.finished_s is None or said.restart_count in self._waits:
            return
        seconds = present.started_s - previous.finished_s
        if seconds < 0:
            return
        self._waits[said.restart_count] = Wait(
            restart=said.restart_count,
            seconds=seconds,
            ran_s=max(previous.finished_s - previous.started_s, 0),
            started_s=present.started_s,
            seen_whole=previous.finished_s >= since_s,
            disturbed=self._disturbed,
        )
        self._disturbed = False
