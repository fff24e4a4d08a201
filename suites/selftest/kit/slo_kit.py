"""Scrapes, lifecycles and rows made up for the tests of SLOs: times are seconds since ZERO_NS."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crashloop.slo.measurements import Lifecycle, Measured, Phase, Restart
from crashloop.slo.rows import SloRow, row_of
from crashloop.slo.scrapes import MissedScrape, NodeSample, ScrapedSeries, Scrapes, SourceLine

ZERO_NS = 1_800_000_000_000_000_000

Labels = tuple[tuple[str, str], ...]
Values = Mapping[tuple[str, Labels], Sequence[float | None]]
"""By name and labels: one value a scrape, None where the scrape lacks the series."""


def ns(seconds: float) -> int:
    return ZERO_NS + round(seconds * 1e9)


def scrapes(
    times: Sequence[float],
    values: Values,
    *,
    source: str = "kubelet",
    node: str = "node-1",
    gaps: Sequence[tuple[float, float, str]] = (),
    families: Sequence[str] = (),
    sample: NodeSample | None = None,
) -> Scrapes:
    """What a source said at those times."""
    return Scrapes(
        source=SourceLine(source=source, node=node, interval_s=5, families=tuple(families), sample=sample),
        t_ns=tuple(ns(at_s) for at_s in times),
        series=tuple(_series(name, dict(labels), times, each) for (name, labels), each in values.items()),
        gaps=tuple(MissedScrape(from_ns=ns(begin), to_ns=ns(end), reason=reason) for begin, end, reason in gaps),
    )


def _series(name: str, labels: dict[str, str], times: Sequence[float], values: Sequence[float | None]) -> ScrapedSeries:
    there = [(ns(at_s), value) for at_s, value in zip(times, values, strict=True) if value is not None]
    return ScrapedSeries(
        name=name,
        labels=labels,
        t_ns=np.asarray([t_ns for t_ns, _ in there], dtype=np.int64),
        values=np.asarray([value for _, value in there], dtype=np.float64),
    )


def buckets(metric: str, at_end: Mapping[str, float], *, scrapes: int = 2, **labels: str) -> Values:
    """A histogram that is empty at the first scrape, and grows steadily to these cumulative counts at the last."""
    shared = tuple(sorted(labels.items()))
    return {
        (f"{metric}_bucket", (*shared, ("le", edge))): [count * at / (scrapes - 1) for at in range(scrapes)]
        for edge, count in at_end.items()
    }


def phase(from_s: float = 0, to_s: float = 100, name: str = "storm", arm: str = "") -> Phase:
    return Phase(name=name, from_ns=ns(from_s), to_ns=ns(to_s), arm=arm)


def measured(*sources: Scrapes, lifecycles: Sequence[Lifecycle] = (), **more: Any) -> Measured:
    return Measured(**{"phases": (phase(),), "scrapes": sources, "lifecycles": tuple(lifecycles), **more})


def restart(exited_s: float, took_s: float | None, *, due_s: float | None = 1.0, **more: Any) -> Restart:
    """A restart whose create came `took_s` after the exit and whose start came 0.1 s later; None: not yet."""
    came_s = None if took_s is None else exited_s + took_s
    early_s = due_s - took_s if due_s is not None and took_s is not None and took_s < due_s else None
    return Restart(
        container="app",
        number=1,
        exited_ns=ns(exited_s),
        created_ns=None if came_s is None else ns(came_s),
        started_ns=None if came_s is None else ns(came_s + 0.1),
        due_s=due_s,
        early_s=early_s,
        **more,
    )


def crasher(*restarts: Restart, node: str = "node-1", seen_until_s: float = 100, **more: Any) -> Lifecycle:
    return Lifecycle(
        **{
            "pod": "p",
            "uid": "u",
            "node": node,
            "group": "crasher",
            "asked_ns": ns(0),
            "seen_until_ns": ns(seen_until_s),
            "restarts": restarts,
            **more,
        }
    )


def started(asked_s: float, took_s: float | None, *, seen_until_s: float = 100, **more: Any) -> Lifecycle:
    """A healthy pod that was reported as started `took_s` after the request."""
    return Lifecycle(
        **{
            "pod": "h",
            "uid": "h",
            "node": "node-1",
            "group": "healthy",
            "asked_ns": ns(asked_s),
            "started_ns": None if took_s is None else ns(asked_s + took_s),
            "seen_until_ns": ns(seen_until_s),
            **more,
        }
    )


def row(sli: Mapping[str, Any], target: Mapping[str, Any], **more: Any) -> SloRow:
    return row_of({"id": "made-up", "sli": sli, "target": target, "definition": "d", "source": "s", **more})


def cpu(component: str) -> tuple[str, Labels]:
    return "component_cpu_seconds_total", (("component", component), ("node", ""))


def host(mode: str) -> tuple[str, Labels]:
    return "host_cpu_seconds_total", (("mode", mode),)
