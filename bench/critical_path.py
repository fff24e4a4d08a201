"""Duration of a run against its critical path: the longest observed scenario, the consecutive scenarios of a node that
disturb it, or all starts at the pace of the budget.

python -m bench.critical_path [RUN ...]        (default: runs/latest)
"""

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

from crashloop.run.judging import read_history
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan

TARGETS = {"quick": 1.15, "full": 1.10}

Span = tuple[int, int]


def watched_ns(run: RunDir, plan: Plan) -> dict[str, Span]:
    """When the first pod of each scenario was created, and when its history was complete (UTC)."""
    spans = {}
    for scenario in plan.scenarios:
        recording = None if scenario.pod_spec is None else read_history(run, scenario.name)
        created = None if recording is None else next((pod.created for pod in recording.pods if pod.created), None)
        if recording is not None and created is not None and created.utc_ns is not None:
            spans[scenario.name] = created.utc_ns, recording.end_ns
    return spans


def critical_ns(plan: Plan, spans: dict[str, Span]) -> int:
    """The longest chain of a node (its longest scenario that runs beside others, then each that runs alone), or all starts."""
    beside: dict[str, int] = {}
    alone: dict[str, int] = {}
    for name, (begin_ns, end_ns) in spans.items():
        node = plan.placements[name]
        if plan.scenario(name).disturbs_node:
            alone[node] = alone.get(node, 0) + end_ns - begin_ns
        else:
            beside[node] = max(beside.get(node, 0), end_ns - begin_ns)
    chains = (beside.get(node, 0) + alone.get(node, 0) for node in beside.keys() | alone.keys())
    return max(round(plan.launching_s * 1e9), *chains)


def main(paths: list[Path]) -> None:
    table = Table("run", "scope", "scenarios", "first create → last history", "critical path", "÷", "target", box=None)
    for path in paths:
        run = RunDir.open(path)
        plan = run.plan()
        spans = watched_ns(run, plan)
        took_ns = max(end for _, end in spans.values()) - min(begin for begin, _ in spans.values())
        critical = critical_ns(plan, spans)
        table.add_row(
            path.resolve().name,
            plan.scope,
            str(len(spans)),
            f"{took_ns / 1e9:.1f} s",
            f"{critical / 1e9:.1f} s",
            f"{took_ns / critical:.2f}",
            f"≤ {TARGETS.get(plan.scope, 1.10)}",
        )
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="*", default=[Path("runs/latest")])
    main(parser.parse_args().runs)
