"""Crash loops: the waits between the exits and the starts of containers, put together from statement after statement.

Theory of operation. A statement with a present and a previous instance tells of one wait: previous.finishedAt to
present.startedAt, both whole seconds by the node's clock, so the true wait is less than a second away from the
difference, and at least a whole due delay if the difference is. Waits of one container are numbered by restartCount;
waits that follow each other without a hole form a chain, along which the counter doubles.
"""

from collections.abc import Iterable, Iterator

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


class CrashLoop:
    """What was seen of one container that restarts."""

    def __init__(self, pod: PodStatement, container: str) -> None:
        self.namespace, self.pod, self.container, self.node = pod.namespace, pod.name, container, pod.node
        self._waits: dict[int, Wait] = {}
        self._key: str | None = None
        self._disturbed = False

    @property
    def name(self) -> str:
        """As findings call it."""
        return f"{self.namespace}/{self.pod} {self.container}"

    @property
    def waits(self) -> tuple[Wait, ...]:
        """In the order of the restarts."""
        return tuple(self._waits[restart] for restart in sorted(self._waits))

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

    def take(self, said: ContainerStatement, *, since_s: float) -> None:
        """Take a statement. `since_s`: we look since then, in seconds since the epoch."""
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


class CrashLoops:
    """All crash loops of a cluster, from the statements about its pods."""

    def __init__(self, *, since_s: float) -> None:
        self._since_s = since_s
        self._loops: dict[tuple[str, str], CrashLoop] = {}
        self.left_out = 0
        """Restarted containers that were not used."""
        self._left_out_pods: set[str] = set()

    def take(self, pod: PodStatement) -> None:
        if pod.left_out and pod.uid not in self._left_out_pods:
            self._left_out_pods.add(pod.uid)
            self.left_out += pod.left_out
        for said in pod.containers if pod.node else ():
            if said.restart_count == 0:
                continue
            key = (pod.uid, said.name)
            if key not in self._loops:
                self._loops[key] = CrashLoop(pod, said.name)
            self._loops[key].take(said, since_s=self._since_s)

    def by_node(self) -> dict[str, tuple[CrashLoop, ...]]:
        """The loops of which a wait was seen, by node, in alphabetical order."""
        found: dict[str, list[CrashLoop]] = {}
        for loop in sorted(self._loops.values(), key=lambda each: (each.node, each.name)):
            if loop.waits:
                found.setdefault(loop.node, []).append(loop)
        return {node: tuple(loops) for node, loops in found.items()}


def waits_of(loops: Iterable[CrashLoop]) -> int:
    """How many waits were seen."""
    return sum(len(loop.waits) for loop in loops)
