"""Lost restarts in a storm of 110 crashing pods, and the cost of recording it.

    python -m bench.storm [RUN] [--write]             (default: records manifests/stress/storm-110.yaml, about seven minutes)

Missing restarts: restarts that the runtime's events, restartCount and the kubelet's own counter disagree on, and gaps of
the record. Harness: the runner, its scrapes and the load generator.
"""

from pathlib import Path

from bench.figures import Figure, load_average, options, publish
from crashloop.progress import default_progress
from crashloop.report.stress.results import StressResults
from crashloop.stress.folder import StressDir, published_stress
from crashloop.stress.run import StressOptions, ended_by_signals, run_stress

TARGET_SHARE = 0.10


def record() -> StressResults:
    progress = default_progress()
    _, results = run_stress(StressOptions(profile="storm-110"), progress, progress.console.print, ended_by_signals())
    return results


def figures(results: StressResults) -> tuple[Figure, ...]:
    storm = next(each for each in results.stages if each.name == "storm")
    verdicts = {each.slo: each for each in results.verdicts}
    missing = (verdicts["restarts-conserved"].value or 0) + (verdicts["evidence-complete"].value or 0)
    share = storm.figures["harness_share"]
    pods, seconds = storm.users.get("crashers", 0), storm.to_s - storm.from_s
    found = Figure(
        quantity=f"restarts lost, {pods} pods that crash at a maximum of 1 s for {seconds:.0f} s",
        value=missing,
        target=0,
        note=f"{results.totals['restarts']:,.0f} restarts, {storm.figures['restarts_per_s']:.1f} a second",
    )
    if share is None:
        return (found,)
    busy = f"host {storm.figures['host_busy_share']:.0%} busy"
    of = "CPU of the harness ÷ CPU of kubelet and runtime in that storm"
    return found, Figure(quantity=of, value=share, target=TARGET_SHARE, note=busy)


def main(run: Path | None, write: bool) -> None:
    load = load_average()
    publish(
        "storm", figures(record() if run is None else published_stress(StressDir(run))), write=write, load_average=load
    )


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("run", metavar="RUN", type=Path, nargs="?")
    main(**vars(parser.parse_args()))
