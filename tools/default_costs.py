"""The default costs of `crashloop predict`, from the published runs in docs/benchmark.

    python -m tools.default_costs --write

Theory of operation. The costs at the lowest maximum are those of `knee`, which subtracts its stage without crashing pods.
`at-the-cap` has those of long delays, but no such stage: its costs hold what the nodes use at rest, and the rarer restarts
are, the more of that falls on each. So the figures of `settled` at 300 s are subtracted: as many nodes on that host, with
pods of which none restarted while they were measured. Its fewer pods waited as well, so a little too much is subtracted.
Its requests are taken to be writes in the same share as those of `at-the-cap`.
The overhead follows from the rate, where every pod restarted so often that the first and the last restart decide nothing.
Without the option the file is printed; a self-test compares it.
"""

import argparse
import sys
from pathlib import Path

import msgspec

from crashloop.predict.costs import MEASURED_FILE, Costs, CostsAt, DefaultCosts, Source
from crashloop.predict.load import mean_wait_s
from crashloop.report.stress.results import StageResult, StressResults

BENCHMARK = Path(__file__).parents[1] / "docs" / "benchmark"
LOWEST, LONG, RESTING = "knee", "at-the-cap", "settled"
PLAIN, JOURNAL = "a pod with 1 container that runs 0 s and exits with 1", "every life writes to its journal"
"""The pod of which the default costs are, in words: lives that run, or write nothing, have other costs."""
MIN_RESTARTS_OF_POD = 10
_CPU = ("kubelet", "runtime", "apiserver", "etcd")


class UnfitRunError(Exception):
    """A published run from which no default costs follow."""


def default_costs(folder: Path) -> DefaultCosts:
    """From the runs published in a folder. Raises UnfitRunError, naming the run."""
    lowest, long, resting = (_published(folder, name) for name in (LOWEST, LONG, RESTING))
    base = _costs_of(lowest)
    if _at_rest(lowest) is None:
        raise UnfitRunError(f"{LOWEST}: no stage without crashing pods; expected one, whose use is subtracted.")
    if _at_rest(long) is not None:
        raise UnfitRunError(f"{LONG}: a stage without crashing pods, whose use is subtracted already; expected none.")
    waiting = _waiting(resting)
    source = (
        f"load {LOWEST}, {stage_of(_chosen(base), lowest).crashing_pods} pods (costs by load: {_loads(lowest)}; load {LONG}, "
        f"{_loads(long)}, less the nodes of load {RESTING} with {waiting.crashing_pods} such pods that wait); {PLAIN}, again and "
        f"again, {JOURNAL}; Kubernetes {lowest.kubernetes_version}, provider {lowest.provider}, one host "
        f"of {base.cores:g} cores for everything (docs/benchmark.md)"
    )
    by_load = (*_timed(lowest), *(_less(at, waiting) for at in _timed(long)))
    return DefaultCosts(
        sources=tuple(Source(profile=each.profile, started=each.started) for each in (lowest, long, resting)),
        costs=msgspec.structs.replace(base, source=source, by_load=by_load),
    )


def text_of(found: DefaultCosts) -> str:
    """As the file holds it."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n"


def _published(folder: Path, name: str) -> StressResults:
    return msgspec.json.decode((folder / f"{name}.slo.json").read_bytes(), type=StressResults)


def _costs_of(run: StressResults) -> Costs:
    if run.costs is None or not run.costs.by_load:
        raise UnfitRunError(f"{run.profile}: no costs by load; expected those of a host below its limit.")
    for words in (PLAIN, JOURNAL):
        if words not in run.costs.source:
            raise UnfitRunError(f"{run.profile}: costs of {run.costs.source!r}; expected {words!r}.")
    return run.costs


def _loads(run: StressResults) -> str:
    """`5, 10, 20 pods (maximum 1 s)`, joined for several maxima."""
    pods: dict[float, list[str]] = {}
    for at in _costs_of(run).by_load:
        pods.setdefault(at.maximum_s, []).append(str(stage_of(at, run).crashing_pods))
    return ", ".join(f"{', '.join(each)} pods (maximum {maximum_s:g} s)" for maximum_s, each in pods.items())


def _at_rest(run: StressResults) -> StageResult | None:
    return next((each for each in run.stages if not each.crashing_pods), None)


def _waiting(run: StressResults) -> StageResult:
    for each in run.stages:
        if each.crashing_pods and each.figures["restarts_per_s"] == 0:
            return each
    raise UnfitRunError(f"{run.profile}: pods restarted in every stage; expected one in which all of them waited.")


def _timed(run: StressResults) -> list[CostsAt]:
    """The costs by load, with the overheads that follow from their rates."""
    return [_with_overhead(at, stage_of(at, run)) for at in _costs_of(run).by_load]


def stage_of(at: CostsAt, run: StressResults) -> StageResult:
    """The stage of that load: the one with the nearest rate."""
    return min(run.stages, key=lambda stage: abs((stage.figures["restarts_per_s"] or 0.0) - at.restarts_per_s))


def _chosen(costs: Costs) -> CostsAt:
    """The load whose costs are those without a load: the one with the most restarts."""
    return max(costs.by_load, key=lambda at: at.restarts)


def _with_overhead(at: CostsAt, stage: StageResult) -> CostsAt:
    pods = stage.crashing_pods
    if at.restarts < MIN_RESTARTS_OF_POD * pods:
        return at
    wait_s = mean_wait_s(at.maximum_s, 0.0)
    spread = stage.intervals.get("restarts_per_s")
    intervals = at.intervals
    if spread is not None and spread.lower and spread.upper:
        bounds = tuple(round(max(0.0, pods / rate - wait_s), 3) for rate in (spread.upper, spread.lower))
        intervals = {**at.intervals, "overhead_s": (bounds[0], bounds[1])}
    overhead_s = round(max(0.0, pods / at.restarts_per_s - wait_s), 3)
    return msgspec.structs.replace(at, overhead_s=overhead_s, intervals=intervals)


def _less(at: CostsAt, waiting: StageResult) -> CostsAt:
    """The costs without what nodes use that only wait."""
    rates = {f"{name}_cpu_s": waiting.figures[f"{name}_cpu_cores"] or 0.0 for name in _CPU}
    requests = waiting.figures["kubelet_requests_per_s"] or 0.0
    rates |= {"api_requests": requests, "api_writes": requests * at.api_writes / at.api_requests}
    taken = {name: rate / at.restarts_per_s for name, rate in rates.items()}
    intervals = {
        name: tuple(round(max(0.0, bound - taken.get(name, 0.0)), 4) for bound in bounds)
        for name, bounds in at.intervals.items()
    }
    costs = {name: round(max(0.0, getattr(at, name) - less), 4) for name, less in taken.items()}
    return msgspec.structs.replace(at, intervals=intervals, **costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {MEASURED_FILE.name} instead of printing it")
    text = text_of(default_costs(BENCHMARK))
    if parser.parse_args().write:
        MEASURED_FILE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
