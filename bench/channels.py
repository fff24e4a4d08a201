"""Difference of the two ground truths: delays by the container's journal minus the same by the runtime's events.

python -m bench.channels [RUN ...]             (default: runs/latest)
"""

import argparse
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from crashloop.history.stamps import span
from crashloop.run.judging import read_history
from crashloop.rundir import RunDir

TARGETS_MS = {50: 10.0, 99: 50.0}


def differences_ms(run: RunDir) -> Iterator[float]:
    """Journal minus runtime, for every delay that both channels show."""
    for scenario in run.plan().scenarios:
        recording = read_history(run, scenario.name)
        for pod in recording.pods if recording else ():
            for instances in pod.containers.values():
                for before, after in pairwise(instances):
                    by_runtime = span(before.exited, after.started)
                    by_journal = span(before.journal_exited, after.journal_started)
                    if by_runtime is not None and by_journal is not None:
                        yield (by_journal.seconds - by_runtime.seconds) * 1000


def main(paths: list[Path]) -> None:
    table = Table("run", "delays", "p50", "p99", "min", "max", "|p50| ÷ target", "|p99| ÷ target", box=None)
    for path in paths:
        seen = np.array(list(differences_ms(RunDir.open(path))))
        p50, p99 = (float(np.percentile(np.abs(seen), percentile)) for percentile in TARGETS_MS)
        table.add_row(
            path.resolve().name,
            str(seen.size),
            f"{np.percentile(seen, 50):.1f} ms",
            f"{np.percentile(seen, 99):.1f} ms",
            f"{seen.min():.1f} ms",
            f"{seen.max():.1f} ms",
            f"{p50 / TARGETS_MS[50]:.2f}",
            f"{p99 / TARGETS_MS[99]:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="*", default=[Path("runs/latest")])
    main(parser.parse_args().runs)
