"""Crash loops: the waits between exit and start of containers, assembled from successive pod statuses.

Theory of operation. A status with a current and a previous instance gives one wait: previous.finishedAt to
current.startedAt, both in whole seconds by the node's clock. So the true wait differs from the difference by less than a
second, and reaches a due delay of whole seconds if the difference does. Waits of one container are numbered by
restartCount; consecutive waits form a chain, along which the counter doubles.
"""

from collections.abc import Iterator

import msgspec

from crashloop.inference.statements import ContainerStatement, PodStatement

FORGETS_S = 590
"""A run and a wait of almost 600 s together may reset the counter (kubelet-wide: lastUpdate plus 10 minutes)."""


class Wait(msgspec.Struct, frozen=True):
    """From the exit of an instance to the start of the next, by the container's statuses."""

    restart: int
    """The restartCount that it ended with."""
    seconds: int
    """startedAt minus finishedAt: the true wait differs by less than one second."""
    ran_s: int
    """How long the instance before had run."""
    started_s: int
    """When it ended, seconds since the epoch by the node's clock."""
    seen_whole: bool
    """It began during the observation, so that nothing unobserved can have cut it short."""
    disturbed: bool = False
    """A start attempt failed or the container was changed: its length is no evidence."""

    @property
    def may_forget(self) -> bool:
        """Whether the kubelet may have lost the counter before it ended."""
        return self.disturbed or self.ran_s + self.seconds >= FORGETS_S


class CrashLoop(msgspec.Struct, frozen=True, kw_only=True):
    """The observed waits of one restarting container."""

    namespace: str
    pod: str
    container: str
    node: str
    waits: tuple[Wait, ...]
    """In the order of the restarts."""

    @property
    def name(self) -> str:
        """Its name in findings."""
        return f"{self.namespace}/{self.pod} {self.container}"

    @property
    def chains(self) -> Iterator[tuple[Wait, ...]]:
        """Consecutive waits."""
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
        """`since_s`: start of the observation, in seconds since the epoch."""
        self._since_s = since_s
        self._containers: dict[tuple[str, str], _Container] = {}
        self._left_out: dict[str, int] = {}

    @property
    def left_out(self) -> int:
        """Restarted containers that were not used."""
        return sum(self._left_out.values())

    def take(self, pod: PodStatement) -> None:
        """Add the status of a pod; a repeated status adds nothing."""
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
        """The loops with an observed wait, by node, in alphabetical order."""
        seen = [each.seen(name) for (_, name), each in self._containers.items() if each.has_waits]
        found: dict[str, list[CrashLoop]] = {}
        for loop in sorted(seen, key=lambda each: (each.node, each.name)):
            found.setdefault(loop.node, []).append(loop)
        return {node: tuple(loops) for node, loops in found.items()}


class _Container:
    """The statuses of one container so far."""

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
