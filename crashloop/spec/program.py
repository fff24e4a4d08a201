"""Container programs: how long each life of a container runs, how it ends, and what it finds around it."""

from enum import StrEnum
from itertools import chain, repeat

import msgspec

KILLED = 137
"""The exit code after SIGKILL: runtimes report an end by signal n as 128 + n."""

REFUSED = 128
"""The exit code of a container whose start the runtime refused: containerd internal/cri/server/container_start.go@v2.3.7."""

TERMINATED = 143
"""The exit code on SIGTERM, unless a container has another."""

MOST_LIVES = 1_000_000
"""In a row, of one kind: ten times what a load gives its pods, and few enough to write each of them down."""


class LifeEnd(StrEnum):
    """What ends a life."""

    EXIT = "exit"
    """The program itself exits."""
    SIGNAL = "signal"
    """SIGKILL, which the recorder sends from the node. A container's first process ignores every signal from within, and from
    without all but SIGKILL and SIGSTOP, unless it handles them (pid_namespaces(7))."""
    MEMORY = "memory"
    """The kernel: the program takes more memory than its container may have."""
    HOOK = "hook"
    """The kubelet: the container's postStart hook fails."""
    START = "start"
    """The runtime, which refuses its start: the container's command does not exist. It has not run, and counts as an exit."""


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """`times` lives in a row that each run `run_s` seconds and then end.

    `exit_code` is what the runtime reports: the program's own, also on the SIGTERM after a failed hook, or 137 after a kill.
    """

    run_s: float = 0.0
    exit_code: int = 1
    times: int = 1
    end: LifeEnd = LifeEnd.EXIT

    def __post_init__(self) -> None:
        if self.run_s < 0 or not 0 <= self.exit_code <= 255 or not 1 <= self.times <= MOST_LIVES:
            raise ValueError(f"{self}: run_s is at least 0, exit_code 0 to 255, times 1 to {MOST_LIVES:,}")
        leaves = {LifeEnd.SIGNAL: KILLED, LifeEnd.MEMORY: KILLED, LifeEnd.START: REFUSED}.get(self.end, self.exit_code)
        if self.exit_code != leaves:
            raise ValueError(f"{self}: a life has one end; {self.end} leaves {leaves}, not {self.exit_code}")


class Program(msgspec.Struct, frozen=True):
    """The lives of a container, in order. After the last of them the container holds: it runs until it is killed.

    A program is finite on purpose: once its evidence is complete it stops loading the node.
    """

    lives: tuple[Life, ...] = ()
    fails_until_s: float | None = None
    """Seconds from the first start after which what it depends on is back: lives that begin later hold."""
    passes: int = 0
    """How often each life first runs a program of its own that fails and leaves a mark in the container's root filesystem."""
    marks_root: bool = False
    """Whether each life leaves a mark in the root filesystem, and notes whether it has found one."""
    marks_volume: bool = False
    """The same in a volume of the pod, which is in memory."""
    first_pod_only: bool = False
    """Whether the first pod of a Job alone begins with the first life; the others begin with the last, and note that."""
    aims_at_s: float | None = None
    """A delay whose end is to coincide with a look of the kubelet. The kubelet looks about once a second and creates containers
    at a look. So lives count from the creation of their container; the first of them is as long as planned, and each further
    one 10 ms longer if the start before it came within half a second of this delay, and 10 ms shorter if not."""
    startup_cpu_s: float = 0.0
    """CPU seconds that each life takes before it runs."""
    startup_read_mb: int = 0
    """MiB that each life reads before it runs; the first one writes the file."""
    known: bool = True
    """Whether its lives are those above. If not, it is of a user's own image: nobody knows when and how it exits, and it keeps no
    journal."""

    def __post_init__(self) -> None:
        if self.is_refused and len(self.lives) > 1:
            raise ValueError(f"{self}: a command that does not exist has no other lives")

    @property
    def is_refused(self) -> bool:
        """Whether the runtime refuses every start of it, also after those of its lives."""
        return any(life.end is LifeEnd.START for life in self.lives)

    def each_life(self) -> tuple[Life, ...]:
        """One entry a life, repetitions spelled out."""
        return tuple(
            chain.from_iterable(repeat(msgspec.structs.replace(life, times=1), life.times) for life in self.lives)
        )

    def life(self, number: int) -> Life | None:
        """The life with that number, from 0, with the repetitions of its entry; None for one that holds."""
        for life in self.lives:
            if number < life.times:
                return life
            number -= life.times
        return None

    @property
    def exits(self) -> int:
        """How often the program exits by itself before it holds."""
        return sum(life.times for life in self.lives)


def exits_with(exit_code: int, *, after_s: float = 1.0, times: int = 1) -> Program:
    """A program that exits `times` times in the same way and then holds."""
    return Program((Life(run_s=after_s, exit_code=exit_code, times=times),))


def killed(*, after_s: float = 1.0, times: int = 1) -> Program:
    """A program that SIGKILL from the node ends `times` times; then it holds."""
    return Program((Life(run_s=after_s, exit_code=KILLED, times=times, end=LifeEnd.SIGNAL),))


def out_of_memory(*, after_s: float = 1.0, times: int = 1) -> Program:
    """A program that the kernel kills for its memory `times` times; then it holds."""
    return Program((Life(run_s=after_s, exit_code=KILLED, times=times, end=LifeEnd.MEMORY),))


def hook_fails(*, times: int = 1) -> Program:
    """A program that ends `times` times because its postStart hook fails; then it holds."""
    return Program((Life(run_s=0.2, exit_code=TERMINATED, times=times, end=LifeEnd.HOOK),))


def refused(*, times: int) -> Program:
    """A program that does not exist: the runtime refuses its start, `times` times for all that is planned of it."""
    return Program((Life(exit_code=REFUSED, times=times, end=LifeEnd.START),))


def runs(*lives: tuple[float, int]) -> Program:
    """A program from pairs of seconds run and exit code; it holds after the last."""
    return Program(tuple(Life(run_s=run_s, exit_code=exit_code) for run_s, exit_code in lives))


HOLDS = Program()
"""A program that never exits by itself."""

THEIRS = Program(known=False)
"""The program of a user's own image."""
