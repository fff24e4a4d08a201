"""Duration of a run against its critical path: the longest observed scenario of every wave.

python -m bench.critical_path [RUN ...]        (default: runs/latest)
"""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from crashloop.run.analysis import read_history
from crashloop.rundir import RunDir
from crashloop.spec.plan import Wave
from crashloop.spec.scenario import PodScenario

TARGETS = {"quick": 1.15, "full": 1.10}


def watched_ns(run: RunDir, wave: Wave) -> dict[str, tuple[int, int]]:
    """When each pod of the wave was created, and when its history was complete (UTC)."""
    spans = {}
    for name in wave.placements:
        recording = read_history(run, name)
        if recording is None or not isinstance(run.plan().scenario(name), PodScenario):
            continue
        created = next((pod.created for pod in recording.pods if pod.created is not None), None)
        if created is not None and created.utc_ns is not None:
            spans[name] = created.utc_ns, recording.end_ns
    return spans


def main(paths: list[Path]) -> None:
    table = Table("run", "scope", "scenarios", "first create → last history", "critical path", "÷", "target", box=None)
    for path in paths:
        run = RunDir.open(path)
        plan = run.plan()
        waves = [watched_ns(run, wave) for wave in plan.waves]
        spans = [span for wave in waves for span in wave.values()]
        took_s = (max(end for _, end in spans) - min(begin for begin, _ in spans)) / 1e9
        critical_s = sum(max(end - begin for begin, end in wave.values()) for wave in waves if wave) / 1e9
        table.add_row(
            path.resolve().name,
            plan.scope,
            str(len(spans)),
            f"{took_s:.1f} s",
            f"{critical_s:.1f} s",
            f"{took_s / critical_s:.2f}",
            f"≤ {TARGETS.get(plan.scope, 1.10)}",
        )
    Console().print(table)


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]] or [Path("runs/latest")])
