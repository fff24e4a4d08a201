"""Lost restarts in a storm of 110 crashing pods, and the cost of recording it.

    python -m bench.storm [RUN ...]             (default: records manifests/stress/storm-110.yaml, about seven minutes)

Missing restarts: restarts that the runtime's events, restartCount and the kubelet's own counter disagree on, and gaps of
the record. Harness: the runner, its scrapes and the load generator.
"""

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

from crashloop.progress import default_progress
from crashloop.report.stress.results import StressResults
from crashloop.stress.folder import StressDir, published_stress
from crashloop.stress.run import StressOptions, ended_by_signals, run_stress

TARGET_SHARE = 0.10


def record() -> StressResults:
    progress = default_progress()
    _, results = run_stress(StressOptions(profile="storm-110"), progress, progress.console.print, ended_by_signals())
    return results


def row(results: StressResults) -> tuple[str, ...]:
    storm = next(each for each in results.stages if each.name == "storm")
    verdicts = {each.slo: each for each in results.verdicts}
    missing = (verdicts["restarts-conserved"].value or 0) + (verdicts["evidence-complete"].value or 0)
    share = storm.figures["harness_share"]
    return (
        results.run,
        f"{storm.users.get('crashers', 0)}",
        f"{storm.to_s - storm.from_s:.0f} s",
        f"{results.totals['restarts']:,.0f}",
        f"{missing:.0f}",
        f"{storm.figures['restarts_per_s']:.1f}",
        f"{storm.figures['host_busy_share']:.2f}",
        "–" if share is None else f"{share:.3f}",
        "–" if share is None else f"{share / TARGET_SHARE:.2f}",
    )


def main(paths: list[Path]) -> None:
    columns = ("run", "crashing pods", "for", "restarts", "missing", "restarts/s", "host busy")
    table = Table(*columns, "harness ÷ (kubelet + runtime)", "÷ target", box=None)
    for results in [published_stress(StressDir(path)) for path in paths] or [record()]:
        table.add_row(*row(results))
    Console(width=160).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="*")
    main(parser.parse_args().runs)
