"""The scrapes of one source of metrics, and their file.

The file (RUN/metrics/<source>.jsonl) names every series once and repeats only changed values:
  {"type":"source", ...}   first line
  {"type":"series", "id":0, "name":"kubelet_started_containers_total", "labels":{...}}
  {"type":"scrape", "t_ns":..., "took_ns":..., "ids":[0], "values":[12.0], "gone":[]}
  {"type":"gap", "from_ns":..., "to_ns":..., "reason":"..."}
"""

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

METRICS_FORMAT = "crashloop.metrics/1"

Labels = Mapping[str, str]


class NodeSample(msgspec.Struct, frozen=True, kw_only=True):
    """How many of a run's nodes were scraped, where that was not all of them."""

    scraped: int
    of: int
    seed: int
    """It chose them (crashloop.measure.sampling)."""

    @property
    def words(self) -> str:
        """`8 of 50 nodes, a sample by seed 1`."""
        return f"{self.scraped} of {self.of} nodes, a sample by seed {self.seed}"


class SourceLine(msgspec.Struct, frozen=True, kw_only=True, tag="source", tag_field="type"):
    """First line of a file."""

    format: str = METRICS_FORMAT
    source: str
    """apiserver, kubelet, cadvisor, resource, probes, processes."""
    node: str = ""
    interval_s: float
    families: tuple[str, ...] = ()
    """Metric families that were kept; no other family was searched for."""
    sample: NodeSample | None = None
    """Of a source on a node: the sample that the node is part of. None: all nodes were scraped."""


class SeriesLine(msgspec.Struct, frozen=True, kw_only=True, tag="series", tag_field="type"):
    """Names a series, before its first value."""

    id: int
    name: str
    labels: dict[str, str] = {}


class ScrapeLine(msgspec.Struct, frozen=True, kw_only=True, tag="scrape", tag_field="type", omit_defaults=True):
    """One scrape: the values that differ from the scrape before."""

    t_ns: int
    """When the answer was complete, UTC."""
    took_ns: int = 0
    """From the request to the complete answer."""
    ids: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    gone: tuple[int, ...] = ()
    """Series that this scrape lacks."""


class MissedScrape(msgspec.Struct, frozen=True, kw_only=True, tag="gap", tag_field="type"):
    """A failed scrape."""

    from_ns: int
    to_ns: int
    reason: str


Line = SourceLine | SeriesLine | ScrapeLine | MissedScrape


class ScrapedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one series, at the scrapes that had it."""

    name: str
    labels: dict[str, str]
    t_ns: NDArray[np.int64]
    values: NDArray[np.float64]


class Scrapes(msgspec.Struct, frozen=True, kw_only=True):
    """The scrapes of one source."""

    source: SourceLine
    t_ns: tuple[int, ...] = ()
    """Of every scrape that succeeded, in order."""
    series: tuple[ScrapedSeries, ...] = ()
    gaps: tuple[MissedScrape, ...] = ()
    damage: tuple[str, ...] = ()
    """Place of damage in the file; the rest is not used."""

    def node_of(self, series: ScrapedSeries) -> str:
        """The node that a series is about: by its label where one source covers all nodes; empty if it is about none."""
        return series.labels.get("node") or self.source.node


def sample_of(scrapes: Iterable[Scrapes], source: str | None = None) -> NodeSample | None:
    """The sample of nodes that a source was scraped on, or any source; None if it was scraped on all nodes."""
    samples = (each.source.sample for each in scrapes if source in (None, each.source.source))
    return next((each for each in samples if each is not None), None)
