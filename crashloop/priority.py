"""How a recording gets its CPU before other work of the host.

A kubelet that waits for a CPU is late without a fault of its own, and the verdict is INCONCLUSIVE. Threads have a
niceness, and where the kernel groups tasks by session (sched(7), autogroup), each session has one of its own, which
counts among sessions.
"""

import os
from contextlib import suppress
from pathlib import Path

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
