"""Runs of a load in steps, one after the other, each closer to the highest rate of restarts that keeps every SLO.

Theory of operation. The verdict on the highest rate names the steps between the last that keeps the SLOs and the first that
breaks one (crashloop.stress.highest_rate). The next run has these; both ends are measured again, for a host changes.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

from crashloop.report.stress.results import StressResults
from crashloop.stress.run import StressOptions
from crashloop.verdict import ExitCode

OPTION = "--narrow"
_WORST_FIRST = (ExitCode.INTERRUPTED, ExitCode.ERROR, ExitCode.USAGE, ExitCode.FAIL, ExitCode.INCONCLUSIVE)
_Run = TypeVar("_Run")


def narrowing(
    options: StressOptions, more: int, run: Callable[[StressOptions], tuple[_Run, StressResults]]
) -> Iterator[tuple[_Run, StressResults]]:
    """A run, and at most so many more that narrow what it found: each with its results, before the next begins.

    Of a run directory that the user named, those of the further runs have a number behind the name.
    """
    found, results = run(options)
    yield found, results
    for number in range(2, more + 2):
        steps = next((each.narrower for each in results.verdicts if each.narrower), ())
        if not steps or results.exit_code == ExitCode.INTERRUPTED:
            return
        folder = None if options.run_dir is None else f"{options.run_dir}-{number}"
        found, results = run(msgspec.structs.replace(options, steps=steps, run_dir=folder))
        yield found, results


def worst_code(codes: Iterable[int]) -> int:
    """The exit code of several runs: that of the worst."""
    found = set(codes)
    return next((code for code in _WORST_FIRST if code in found), ExitCode.OK)
