"""Difference of the two ground truths: delays by the container's journal minus the same by the runtime's events.

python -m bench.channels [RUN] [--write]             (default: runs/latest)
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from bench.figures import Figure, load_average, options, publish
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


def main(run: Path, write: bool) -> None:
    seen = np.array(list(differences_ms(RunDir.open(run))))
    figures = (
        Figure(
            quantity=f"difference of delays by journal and by the runtime's events, p{percentile}",
            value=float(np.percentile(np.abs(seen), percentile)),
            unit="ms",
            target=target_ms,
            note=f"{seen.size:,} delays, {seen.min():.1f} to {seen.max():.1f} ms",
        )
        for percentile, target_ms in TARGETS_MS.items()
    )
    publish("channels", figures, write=write, load_average=load_average())


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("run", metavar="RUN", type=Path, nargs="?", default=Path("runs/latest"))
    main(**vars(parser.parse_args()))
