"""The metric families to keep per source, for every judgement and report.

Names are those of Kubernetes 1.33 to 1.37: pkg/kubelet/metrics/metrics.go, pkg/kubelet/server/server.go (endpoints) and
staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go, @v1.37.1. Most of the kubelet's are ALPHA.
"""

from collections.abc import Mapping

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
"""By source. `nodes` and `processes` are crashloop's own: crashloop.measure.readiness, crashloop.measure.processes."""

HELD = frozenset({"cluster_files", "component_open_files", "component_process_ids", "component_sockets"})
"""Further ones of `processes`, only where a row names one of them: each scrape then walks /proc and all files of the cluster."""
