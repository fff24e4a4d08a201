"""Burns a share of its parent's CPU time: `python -m bench.planted_kubelet.burner SHARE PARENT`.

It looks at what both have used so far, its own start and looks included, so a wait for a CPU is caught up and errors do not
add up. It ends with its parent.
"""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from crashloop.waiting import pause

NAME = "kubelet"
"""As crashloop.cluster.processes knows the kubelet's processes."""
EVERY_S = 0.1
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def spent_s(stat: str) -> float:
    """CPU seconds of a process and its reaped children, from its /proc/<pid>/stat (proc_pid_stat(5)). Pure."""
    # The name stands in parentheses, and may hold some itself.
    after_name = stat.rpartition(")")[2].split()
    return sum(map(int, after_name[11:15])) / _TICKS_PER_S


def burn(share: float, parent: int) -> None:
    """Returns when the parent has ended."""
    stat = Path(f"/proc/{parent}/stat")
    with suppress(OSError):  # it ended between the two looks
        while os.getppid() == parent:
            due_s = share * spent_s(stat.read_text(encoding="utf-8", errors="replace"))
            while time.process_time() < due_s:
                pass
            pause(EVERY_S)


if __name__ == "__main__":
    Path("/proc/self/comm").write_text(NAME, encoding="utf-8")
    burn(float(sys.argv[1]), int(sys.argv[2]))
