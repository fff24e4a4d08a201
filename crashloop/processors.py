"""The processors of this host: what they have done, work on all that this process may use, and how a recording gets them first.

A kubelet that waits for a CPU is late without a fault of its own, and the verdict is INCONCLUSIVE. Threads have a
niceness, and where the kernel groups tasks by session (sched(7), autogroup), each session has one of its own, which
counts among sessions.
"""

import os
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, TypeVar

import psutil

T = TypeVar("T")
R = TypeVar("R")

WORTH_SHARING_BYTES = 32_000_000
"""Size of histories from which on all processors judge: a further process needs a second to start."""


def available_processors() -> int:
    """How many this process may use: below `taskset` those that it names."""
    return len(_own())


def _own() -> Collection[int]:
    return os.sched_getaffinity(0) if sys.platform == "linux" else range(os.cpu_count() or 1)


class CpuTimes(NamedTuple):
    """What some processors have done since boot."""

    cores: int
    idle_s: float
    busy_s: float

    def idle_share_since(self, before: "CpuTimes") -> float:
        """Their idle share of the time since an earlier reading; 0 if no time has passed."""
        idle_s = self.idle_s - before.idle_s
        return idle_s / total_s if (total_s := idle_s + self.busy_s - before.busy_s) > 0 else 0.0


def cpu_times(cpus: Collection[int] | None = None) -> CpuTimes:
    """Of these processors; by default of those that this process may use."""
    cpus = _own() if cpus is None else cpus
    every = psutil.cpu_times(percpu=True)
    used = [times for cpu, times in enumerate(every) if cpu in cpus]
    if len(used) < len(cpus):
        used = every  # /proc/stat numbers them in another way: below lxcfs, or beside CPUs that are offline
    idle_s = sum(times.idle + getattr(times, "iowait", 0.0) for times in used)
    # Guest time is part of user time already.
    total_s = sum(value for times in used for name, value in times._asdict().items() if not name.startswith("guest"))
    return CpuTimes(len(used), idle_s, total_s - idle_s)


def are_worth_sharing(histories: Iterable[Path]) -> bool:
    """Whether these files are large. One that does not exist is empty."""
    return sum(path.stat().st_size for path in histories if path.exists()) >= WORTH_SHARING_BYTES


def on_all_processors(work: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T]) -> list[R]:
    """The results in the order of the items, which are dealt in turn to this process and to one for each further processor.

    `work` returns one result per item; it, items and results are picklable. Raises what `work` raises.
    """
    number = max(1, min(available_processors(), len(items)))
    mine, *others = (items[first::number] for first in range(number))
    # Ctrl-C ends this process, which ends the others: each of them would print a traceback of its own.
    with ProcessPoolExecutor(
        number, mp_context=get_context("spawn"), initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    ) as processes:
        elsewhere = [processes.submit(work, hand) for hand in others]
        results = [work(mine), *(each.result() for each in elsewhere)]
    return [results[at % number][at // number] for at in range(len(items))]


NICENESS = -10
"""With it a thread weighs as much as nine of niceness 0."""

_STEP = 1.25
"""Weight of a thread ÷ weight of one whose niceness is higher by 1 (kernel/sched/core.c, sched_prio_to_weight)."""


def go_first() -> None:
    """Set the niceness of this thread, of its session if it leads one, and of what it starts from now on.

    Somebody else's choice (`nice crashloop run`) stays, and so does niceness 0 where no permission is given.
    """
    if niceness() == 0:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    if os.getsid(0) == os.getpid():
        hand_on(os.getpid())


def hand_on(session: int) -> None:
    """Give this thread's niceness to a session, named by the id of its leader, where sessions have one."""
    with suppress(OSError):
        Path(f"/proc/{session}/autogroup").write_text(str(niceness()))


def niceness() -> int:
    """Niceness of this thread."""
    return os.getpriority(os.PRIO_PROCESS, 0)


def weight() -> float:
    """CPU weight of this thread ÷ that of one of niceness 0."""
    return float(_STEP ** -niceness())
