"""Duration of a run against its critical path: the longest observed scenario, the consecutive scenarios of a node that
disturb it, or all starts at the pace of the budget.

python -m bench.critical_path [RUN] [--write]        (default: runs/latest)
"""

from pathlib import Path

from bench.figures import Figure, load_average, options, publish
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


def main(run: Path, write: bool) -> None:
    opened = RunDir.open(run)
    plan = opened.plan()
    spans = watched_ns(opened, plan)
    took_ns = max(end for _, end in spans.values()) - min(begin for begin, _ in spans.values())
    critical = critical_ns(plan, spans)
    ratio = Figure(
        quantity=f"first create to last history ÷ critical path, {plan.scope}",
        value=took_ns / critical,
        target=TARGETS.get(plan.scope, 1.10),
        note=f"{took_ns / 1e9:.1f} s ÷ {critical / 1e9:.1f} s, {len(spans)} scenarios, "
        f"{plan.budgets.container_starts_per_s:g} starts a second",
    )
    publish(f"critical_path_{plan.scope}", [ratio], write=write, load_average=load_average())


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("run", metavar="RUN", type=Path, nargs="?", default=Path("runs/latest"))
    main(**vars(parser.parse_args()))
