"""The host of the simulated node, in virtual time: durations, losses of evidence, resolution of clocks.

Virtual time: actions run in the order of their planned times, and the clock jumps from one to the next.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from random import Random
from typing import NamedTuple

import msgspec

from crashloop.history.event import Channel
from sim.behaviour import S

Action = Callable[[], None]
Steps = Iterator[int]
"""A procedure that takes time: it yields the nanoseconds it sleeps."""


def ignore(*_: object) -> None:
    """Nobody listens."""


class Loop:
    """A queue of actions in virtual nanoseconds."""

    def __init__(self, now_ns: int, awake: Callable[[int], int]) -> None:
        """`awake` moves a time out of a stall of the host: nothing happens while it stands still."""
        self.now = now_ns
        self._awake = awake
        self._queue: list[tuple[int, int, Action]] = []
        self._planned = 0
        self._ended = False

    def at(self, t_ns: int, action: Action) -> None:
        """Run the action at that time, or now if it is past."""
        self._planned += 1
        heappush(self._queue, (self._awake(max(t_ns, self.now)), self._planned, action))

    def after(self, delay_ns: int, action: Action) -> None:
        self.at(self.now + delay_ns, action)

    def spawn(self, steps: Steps, done: Action | None = None) -> None:
        """Run a procedure from now on, and then `done`."""

        def resume() -> None:
            for delay_ns in steps:
                self.after(delay_ns, resume)
                return
            if done is not None:
                done()

        resume()

    def stop(self) -> None:
        """End `run` after the present action."""
        self._ended = True

    def run(self, until_ns: int) -> None:
        """Run what is planned up to that time, or until `stop`."""
        queue = self._queue
        while queue and not self._ended:
            t_ns, _, action = queue[0]
            if t_ns > until_ns:
                break
            heappop(queue)
            self.now = t_ns
            action()
        if not self._ended:
            self.now = max(self.now, until_ns)


MS = 1_000_000

Range = tuple[float, float]
"""Least and most, in the unit of the field's name."""


class HostModel(msgspec.Struct, frozen=True, kw_only=True):
    """A machine. Times are drawn from the ranges, mostly near the lower end."""

    name: str
    sync_ms: Range = (5, 30)
    """From the start of a pod sync to its decision."""
    create_ms: Range = (10, 60)
    """From the decision to the runtime's create event."""
    start_ms: Range = (40, 200)
    """From the create event to the start of the process."""
    api_ms: Range = (8, 60)
    """One status write."""
    writes_ahead: Range = (0, 0)
    """How many writes of other pods a status waits for: the status manager makes one after the other."""
    delivery_ms: Range = (2, 40)
    """From the API server to the recorder."""
    relist_ms: Range = (3, 25)
    clear_ms: Range = (0, 0)
    """From the runtime's event of an exit to when it tells of that: it clears away what is left of the process."""
    speak_ms: Range = (1, 20)
    """From the start of the process to the journal's first stamp."""
    answer_ms: Range = (15, 120)
    """From the question of a probe to its answer."""
    stalls_per_min: float = 0.0
    """Times a minute at which the whole host stands still, recorder included; the heartbeat shows each."""
    stall_s: Range = (0.2, 3.0)
    frozen_per_min: float = 0.0
    """Times a minute at which kubelet, runtime and programs get no CPU, while the recorder does; run queues show each, and a
    control container that comes into it."""
    frozen_s: Range = (5.0, 60.0)
    contended: bool = False
    """Whether the kubelet's own steps wait for a CPU, so that the kernel's pressure figure counts them."""
    slow_disk: bool = False
    """Whether creates wait for the disk, so that the kernel's figure of I/O pressure counts them."""
    extra_pressure: float = 0.0
    """CPU pressure that others of the host feel all the time and the kubelet does not, as a share of the time."""
    pressure: bool = True
    """Whether the kernel has pressure figures."""
    run_queues: bool = True
    """Whether the recorder sees for how long the kubelet and its runtime wait for a CPU."""
    controls: bool = True
    """Whether the recorder creates control containers."""
    gaps_per_min: dict[Channel, float] = {}
    """Times a minute at which the recorder loses a channel."""
    gap_s: Range = (1.0, 15.0)
    missing: frozenset[Channel] = frozenset()
    """Channels that this cluster does not offer at all."""
    runtime_step_ns: int = 1
    journal_step_ns: int = 10 * MS


CALM = HostModel(name="calm")
BUSY = HostModel(
    name="busy",
    contended=True,
    sync_ms=(10, 150),
    create_ms=(20, 400),
    start_ms=(60, 900),
    api_ms=(10, 300),
    delivery_ms=(5, 400),
    relist_ms=(5, 200),
)
STARVED = HostModel(
    name="starved",
    contended=True,
    create_ms=(20, 400),
    start_ms=(60, 900),
    stalls_per_min=6.0,
    stall_s=(0.2, 1.5),
    frozen_per_min=5.0,
    frozen_s=(2.6, 3.4),
    delivery_ms=(5, 900),
)
LOSSY = HostModel(
    name="lossy", gaps_per_min={Channel.API: 3.0, Channel.RUNTIME: 1.0, Channel.KUBELET: 1.0}, gap_s=(1.0, 20.0)
)
COARSE = HostModel(name="coarse", runtime_step_ns=S // 10)
NO_RUNTIME = HostModel(name="no runtime events", missing=frozenset({Channel.RUNTIME}))
NO_JOURNAL = HostModel(name="no journal", missing=frozenset({Channel.JOURNAL}))
BLIND = HostModel(name="blind", missing=frozenset({Channel.RUNTIME, Channel.JOURNAL}))
NO_LOG = HostModel(
    name="no kubelet log", missing=frozenset({Channel.KUBELET}), pressure=False, run_queues=False, controls=False
)

SLOW_DISK = HostModel(name="slow disk", slow_disk=True, create_ms=(500, 6_000), controls=False)
SLOW_RUNTIME = HostModel(
    name="slow runtime", slow_disk=True, create_ms=(200, 3_000), clear_ms=(50, 5_000), relist_ms=(500, 3_000)
)
SLOW_API = HostModel(name="slow API", api_ms=(200, 6_000), delivery_ms=(200, 12_000))
STARVING = HostModel(
    name="starving",
    contended=True,
    sync_ms=(50, 1_000),
    create_ms=(300, 3_000),
    start_ms=(700, 3_000),
    relist_ms=(100, 1_500),
    speak_ms=(50, 5_000),
    answer_ms=(300, 3_000),
    api_ms=(1_000, 5_000),
    delivery_ms=(50, 1_000),
    writes_ahead=(0, 40),
)
"""Everything takes five to twenty times as long as on a busy host; no beat is late, since the recorder goes first."""
CROWDED = HostModel(
    name="crowded",
    contended=True,
    sync_ms=(20, 500),
    start_ms=(700, 3_000),
    speak_ms=(50, 1_500),
    answer_ms=(300, 3_000),
    api_ms=(150, 2_500),
    delivery_ms=(50, 500),
    writes_ahead=(0, 40),
)
"""The same of programs and API server, while control containers are created as on a calm one."""
FAR = msgspec.structs.replace(NO_RUNTIME, name="elsewhere", extra_pressure=0.4, run_queues=False, controls=False)

FROZEN = HostModel(name="frozen node", frozen_per_min=1.5)
FROZEN_BY_JOURNAL = msgspec.structs.replace(FROZEN, name="frozen node by journal", missing=frozenset({Channel.RUNTIME}))

HOSTS = (CALM, BUSY, STARVED, LOSSY, COARSE, NO_RUNTIME, NO_JOURNAL, BLIND, NO_LOG)
SLOW_HOSTS = (SLOW_DISK, SLOW_RUNTIME, SLOW_API, FAR, FROZEN, FROZEN_BY_JOURNAL, STARVING)
"""Where the recorder has a CPU and restarts or statements are late all the same."""


class HostSpan(msgspec.Struct, frozen=True):
    """From one time to another, in nanoseconds."""

    from_ns: int
    to_ns: int


def drawn(chance: Random, between: Range) -> float:
    """A figure of a range, mostly near its lower end."""
    least, most = between
    return least + (most - least) * chance.random() ** 3


class SimulatedHost:
    """A host model in use: draws durations and remembers for how long it kept the kubelet waiting."""

    def __init__(self, model: HostModel, chance: Random, begin_ns: int, length_ns: int) -> None:
        self.model = model
        self.chance = chance
        self.stalls = _moments(chance, model.stalls_per_min, model.stall_s, begin_ns, length_ns)
        self.frozen = _moments(chance, model.frozen_per_min, model.frozen_s, begin_ns, length_ns)
        self.gaps = {
            channel: _moments(chance, rate, model.gap_s, begin_ns, length_ns)
            for channel, rate in model.gaps_per_min.items()
        }
        self.starved: list[HostSpan] = []
        """When the kubelet and its runtime waited for a CPU."""
        self.crowded: list[HostSpan] = []
        """When programs did."""
        self.blocked: list[HostSpan] = []
        self._stalls_from = [stall.from_ns for stall in self.stalls]
        self._frozen_from = [span.from_ns for span in self.frozen]

    def awake(self, t_ns: int) -> int:
        """The first time from `t_ns` on at which the host is not stalled."""
        return _first_outside(self.stalls, self._stalls_from, t_ns)

    def thawed(self, t_ns: int) -> int:
        """The first time from `t_ns` on at which the node gets a CPU."""
        return _first_outside(self.frozen, self._frozen_from, t_ns)

    def takes_ms(self, between: Range, chance: Random | None = None) -> int:
        """Nanoseconds drawn from a range of milliseconds, by the host's chance or another one."""
        return int(drawn(chance or self.chance, between) * MS)

    def step_ms(self, between: Range, now_ns: int) -> int:
        """Nanoseconds that a step of the kubelet takes, waiting for a CPU included."""
        took = self.takes_ms(between)
        if self.model.contended:
            self.starved.append(HostSpan(now_ns, now_ns + took))
        return took + self.frozen_for(now_ns + took)

    def frozen_for(self, t_ns: int) -> int:
        """For how many nanoseconds a step of the node that would be over by then waits for a CPU."""
        waited_ns = self.thawed(t_ns) - t_ns
        if waited_ns:
            self.starved.append(HostSpan(t_ns, t_ns + waited_ns))
        return waited_ns

    def program_ms(self, between: Range, now_ns: int) -> int:
        """Nanoseconds that a program takes for what it does at once if it gets a CPU."""
        took = self.takes_ms(between)
        if self.model.contended:
            self.crowded.append(HostSpan(now_ns, now_ns + took))
        return took

    def writes_ns(self, chance: Random | None = None) -> int:
        """Nanoseconds until a status is written, with those before it."""
        ahead = int(drawn(chance or self.chance, self.model.writes_ahead)) if self.model.writes_ahead[1] else 0
        return sum(self.takes_ms(self.model.api_ms, chance) for _ in range(ahead + 1))

    def create_ms(self, now_ns: int) -> int:
        """Nanoseconds that the runtime takes to create a container."""
        took = self.step_ms(self.model.create_ms, now_ns)
        if self.model.slow_disk:
            self.blocked.append(HostSpan(now_ns, now_ns + took))
        return took

    def lost(self, channel: Channel, t_ns: int) -> bool:
        """Whether the recorder had lost the channel at that time."""
        return any(gap.from_ns <= t_ns < gap.to_ns for gap in self.gaps.get(channel, ()))


def _first_outside(spans: tuple[HostSpan, ...], from_ns: list[int], t_ns: int) -> int:
    """The first time from `t_ns` on outside of these spans, by their beginnings."""
    before = bisect_right(from_ns, t_ns) - 1
    return max(t_ns, spans[before].to_ns) if before >= 0 else t_ns


def _draw(chance: Random, between_s: Range) -> float:
    least, most = between_s
    return (least + (most - least) * chance.random()) * S


def _moments(chance: Random, per_min: float, length_s: Range, begin_ns: int, length_ns: int) -> tuple[HostSpan, ...]:
    """Random spans that do not touch each other."""
    return tuple(_walk(chance, per_min, length_s, begin_ns, begin_ns + length_ns)) if per_min else ()


def _walk(chance: Random, per_min: float, length_s: Range, at_ns: int, end_ns: int) -> Iterable[HostSpan]:
    while True:
        at_ns += int(chance.expovariate(per_min / 60) * S)
        if at_ns >= end_ns:
            return
        until = at_ns + int(_draw(chance, length_s))
        yield HostSpan(at_ns, until)
        at_ns = until + S


class World(NamedTuple):
    """One simulation."""

    loop: Loop
    host: SimulatedHost
