"""Runs of a load in steps, one after the other, each closer to the highest rate of restarts that keeps every SLO.

Theory of operation. The verdict on the highest rate names the steps between the last that keeps the SLOs and the first that
breaks one (crashloop.stress.highest_rate). The next run has these; both ends are measured again, for a host changes.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from crashloop.errors import UsageError
from crashloop.report.stress.results import StressResults
from crashloop.stress.profiles import load_stress_profile
from crashloop.stress.run import StressOptions
from crashloop.stress.steps import require_steps
from crashloop.verdict import ExitCode

OPTION = "--narrow"

_WORST_FIRST = (ExitCode.INTERRUPTED, ExitCode.FAIL, ExitCode.ERROR, ExitCode.INCONCLUSIVE)
_Run = TypeVar("_Run")


def check_narrowing(options: StressOptions, more: int) -> None:
    """Raise UsageError for a load without steps, and for options that leave no place for further runs."""
    require_steps(load_stress_profile(options.profile), OPTION)
    if options.keep:
        raise UsageError(
            f"{OPTION} {more}: with --keep the cluster of each run stays, beside that of the next, which it slows down.\n"
            "Run on one from `crashloop up`, with --cluster."
        )
    if options.listen is not None:
        raise UsageError(
            f"{OPTION} {more}: with --listen the workers leave with the load of the first run.\nLeave one of both out."
        )
    taken = [each for number in range(2, more + 2) if (each := _folder(options, number)) and Path(each).exists()]
    if taken:
        raise UsageError(
            f"{OPTION} {more}: {taken[0]} exists; further runs take numbers behind --run-dir.\nName another."
        )


def narrowing(
    options: StressOptions,
    more: int,
    run: Callable[[StressOptions], tuple[_Run, StressResults]],
    *,
    say: Callable[[str], None],
    stopped: Callable[[], bool],
) -> Iterator[tuple[_Run, StressResults]]:
    """A run, and at most so many more that narrow what it found: each with its results, before the next begins.

    Of a run directory that the user named, those of the further runs have a number behind the name. `stopped`: whether
    the user has interrupted; `say` gets the reason if nothing is left to narrow.
    """
    found, results = run(options)
    yield found, results
    for number in range(2, more + 2):
        steps = next((each.narrower for each in results.verdicts if each.narrower), ())
        if stopped():
            return
        if not steps:
            say("No further run: the verdict on the highest rate names no steps that narrow it.")
            return
        found, results = run(msgspec.structs.replace(options, steps=steps, run_dir=_folder(options, number)))
        yield found, results


def worst_code(codes: Iterable[int]) -> int:
    """The exit code of several runs: that of the worst."""
    found = set(codes)
    return next((code for code in _WORST_FIRST if code in found), ExitCode.OK)


def _folder(options: StressOptions, number: int) -> str | None:
    return None if options.run_dir is None else f"{options.run_dir}-{number}"
