"""The scrapes of one source of metrics, their file, and the metric families that are kept for judgements and reports.

The file (RUN/metrics/<source>.jsonl) names every series once and repeats only changed values:
  {"type":"source", ...}   first line
  {"type":"series", "id":0, "name":"kubelet_started_containers_total", "labels":{...}}
  {"type":"scrape", "t_ns":..., "took_ns":..., "ids":[0], "values":[12.0], "gone":[]}
  {"type":"gap", "from_ns":..., "to_ns":..., "reason":"..."}

Names of families are those of Kubernetes 1.33 to 1.37: pkg/kubelet/metrics/metrics.go, pkg/kubelet/server/server.go (endpoints)
and staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go, @v1.37.1. Most of the kubelet's are ALPHA.
"""

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

_PROCESS = (
    "process_start_time_seconds",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_open_fds",
)

STAMPED = frozenset({"pod_cpu_usage_seconds_total"})
"""Metrics whose values are up to some ten seconds older than their scrape: the time of each is kept, as a series of its own."""


def stamp_of(metric: str) -> str:
    """Name of the series with the times of a metric's values, in seconds of UTC."""
    return f"{metric}_timestamp_seconds"


SOURCES: Mapping[str, frozenset[str]] = {
    "kubelet": frozenset(
        {
            *_PROCESS,
            "kubelet_http_inflight_requests",
            "kubelet_http_requests_duration_seconds",
            "kubelet_http_requests_total",
            "kubelet_image_pull_duration_seconds",
            "kubelet_pleg_relist_duration_seconds",
            "kubelet_pleg_relist_interval_seconds",
            "kubelet_pod_start_duration_seconds",
            "kubelet_pod_start_sli_duration_seconds",
            "kubelet_pod_status_sync_duration_seconds",
            "kubelet_pod_worker_duration_seconds",
            "kubelet_running_containers",
            "kubelet_running_pods",
            "kubelet_runtime_operations_duration_seconds",
            "kubelet_runtime_operations_errors_total",
            "kubelet_runtime_operations_total",
            "kubelet_started_containers_errors_total",
            "kubelet_started_containers_total",
            "kubelet_started_pods_total",
            "kubelet_terminated_containers_total",
            "rest_client_rate_limiter_duration_seconds",
            "rest_client_request_retries_total",
            "rest_client_requests_total",
        }
    ),
    "cadvisor": frozenset(
        {
            "container_cpu_cfs_periods_total",
            "container_cpu_cfs_throttled_periods_total",
            "container_oom_events_total",
            "container_start_time_seconds",
            "machine_cpu_cores",
        }
    ),
    "resource": frozenset(
        {
            "container_start_time_seconds",
            "node_cpu_usage_seconds_total",
            "node_memory_working_set_bytes",
            "pod_cpu_usage_seconds_total",
            "resource_scrape_error",
        }
    ),
    "probes": frozenset(
        {"prober_probe_total", "prober_probe_duration_seconds_count", "prober_probe_duration_seconds_sum"}
    ),
    "apiserver": frozenset(
        {
            *_PROCESS,
            "apiserver_current_inflight_requests",
            "apiserver_flowcontrol_rejected_requests_total",
            "apiserver_request_sli_duration_seconds",
            "apiserver_request_total",
            "apiserver_storage_objects",
            "etcd_request_duration_seconds_count",  # without its buckets, of which there are thousands
            "etcd_request_duration_seconds_sum",
            "etcd_requests_total",
        }
    ),
    "nodes": frozenset({"node_not_ready"}),
    "processes": frozenset(
        {
            "component_cpu_seconds_total",
            "component_processes",
            "component_read_bytes_total",
            "component_resident_memory_bytes",
            "component_restarts_total",
            "host_cpu_cores",
            "host_cpu_seconds_total",
            "host_cpu_pressure_seconds_total",
        }
    ),
}
"""By source. `nodes` and `processes` are crashloop's own: crashloop.measure.measuring, crashloop.measure.processes."""

HELD = frozenset({"cluster_files", "component_open_files", "component_process_ids", "component_sockets"})
"""Further ones of `processes`, only where a row names one of them: each scrape then walks /proc and all files of the cluster."""


METRICS_FORMAT = "crashloop.metrics/1"

Labels = Mapping[str, str]


class NodeSample(msgspec.Struct, frozen=True, kw_only=True):
    """How many of a run's nodes were scraped, where that was not all of them."""

    scraped: int
    of: int
    seed: int
    """It chose them (crashloop.measure.measuring)."""

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
