"""The numbers beside a page's pictures: everything that its tables are made of, for others to compute with."""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bench.page.spread import Repeat, repeat_of
from crashloop.report.stress.results import StressResults
from crashloop.stress.profile import StressProfile


class Run(NamedTuple):
    """A run to draw from."""

    results: StressResults
    load: StressProfile
    """As it was planned."""
    repeats: tuple[Repeat, ...] = ()
    """All runs of the profile, oldest first."""
    other: StressResults | None = None
    """The published run of the same profile, for a run with a name of its own."""


def published(folder: Path, name: str) -> Run | None:
    """The run behind a page's parts with that name, by the numbers beside the page's pictures; None without these."""

    def numbers(kind: str, of: Any, name: str = name) -> Any:
        file = folder / f"{name}.{kind}.json"
        return msgspec.json.decode(file.read_bytes(), type=of) if file.exists() else None

    results, load = numbers("slo", StressResults), numbers("load", StressProfile)
    if results is None or load is None:
        return None
    other = None if results.profile == name else numbers("slo", StressResults, results.profile)
    return Run(results, load, numbers("runs", tuple[Repeat, ...]) or (), other)


def beside(run: Run, name: str, folder: Path) -> Run:
    """The run with the other of its profile, and with the published ones of the same load."""
    own, before = published(folder, run.load.name), published(folder, name)
    earlier = _repeats(before) if before is not None and anywhere(before.load) == anywhere(run.load) else ()
    every = {each.started: each for each in (*earlier, *run.repeats)}
    return run._replace(
        other=None if own is None else own.results, repeats=tuple(every[started] for started in sorted(every))
    )


def _repeats(run: Run) -> tuple[Repeat, ...]:
    return run.repeats or (repeat_of(run.results, run.load),)


def anywhere(load: StressProfile) -> StressProfile:
    """The load in any of its placements: nodes that are alike have one name."""
    profile = {each.name: each.profile for each in load.nodes}
    loads = {name: msgspec.structs.replace(each, node=profile[each.node]) for name, each in load.loads.items()}
    disturbances = tuple(msgspec.structs.replace(each, node=profile[each.node]) for each in load.disturbances)
    return msgspec.structs.replace(load, loads=loads, disturbances=disturbances)


def write_numbers(as_name: str, run: Run, folder: Path) -> None:
    """Everything that the parts of a page are made of, and its costs; what this run has none of goes."""
    repeats = run.repeats if len(run.repeats) > 1 else None
    numbers = {"slo": run.results, "load": run.load, "costs": run.results.costs, "runs": repeats}
    for kind, value in numbers.items():
        file = folder / f"{as_name}.{kind}.json"
        if value is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(msgspec.json.encode(value) + b"\n")
