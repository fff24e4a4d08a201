"""What a stress run ran on, and how its restarts were counted, in sentences that every view shares."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crashloop.report.flatten import node_facts
from crashloop.report.stress.figures import FIGURES, stage_figure_text
from crashloop.report.stress.results import StageResult, StressResults
from crashloop.report.text import counted
from crashloop.slo.types import Interval

COUNTING = (
    "Restarts are counted in four ways: those of the whole run, comings and goings between stages included (totals); those that "
    "came within a stage (restarts/s); those whose exit lies within it (lateness, and most promises); and those between the "
    "scrapes nearest to its ends (whatever is a counter per restart). So the numbers differ a little."
)


def stage_name(stage: StageResult) -> str:
    """Name, mix and arm."""
    return ", ".join(filter(None, (stage.name, stage.mix, stage.arm)))


def stage_rows(results: StressResults) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Load, duration and figures of every stage."""
    stages = results.stages
    yield "users", tuple(", ".join(f"{count} {name}" for name, count in each.users.items()) for each in stages)
    yield "measured for (s)", tuple(f"{each.to_s - each.from_s:.0f}" for each in stages)
    for name, words in FIGURES.items():
        yield words, tuple(stage_figure_text(name, each.figures) for each in stages)


FAR = 100.0
"""A ratio beyond it, or below one part of it, says no more than that nothing is known."""


def ratios_in_words(interval: Interval | None) -> str:
    """`0.774 to 1.201`; extreme bounds are shown as such."""
    if interval is None:
        return "–"
    lower, upper = interval.lower or 0.0, interval.upper
    low = f"below {1 / FAR:g}" if lower < 1 / FAR else f"{lower:.3f}"
    high = f"more than {FAR:g}" if upper is None or upper > FAR else f"{upper:.3f}"
    return f"{low} to {high}"


def environment_in_words(results: StressResults) -> str:
    """One line on host, nodes and measuring; what is not known is left out."""
    return "; ".join(
        (*_host(results.environment.get("host")), *_nodes(node_facts(results.environment)), *_measuring(results))
    )


def _host(host: Any) -> Iterator[str]:
    if not isinstance(host, Mapping):
        return
    parts = []
    if "cpus" in host:
        model = f" ({host['cpu_model']})" if host.get("cpu_model") else ""
        parts.append(f"{host['cpus']} CPUs{model}")
    if "memory_bytes" in host:
        parts.append(f"{host['memory_bytes'] / 2**30:.1f} GiB of memory")
    if "kernel" in host:
        parts.append(f"kernel {host['kernel']}")
    if "cgroup_version" in host:
        parts.append(f"cgroup v{host['cgroup_version']}")
    if parts:
        yield f"host with {', '.join(parts)}"


def _nodes(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    versions = dict.fromkeys(
        f"kubelet {each.get('kubelet', '?')}, {each.get('container_runtime', '?')}" for each in found
    )
    if found:
        yield f"{counted(len(found), 'node')} ({'; '.join(versions)})"


def _measuring(results: StressResults) -> Iterator[str]:
    if results.planned is not None:
        yield f"metrics scraped every {results.planned.scrape_every_s:g} s"
