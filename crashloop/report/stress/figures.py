"""Names and number formats of a stage's figures."""

from collections.abc import Mapping

from crashloop.slo.estimates import least_samples
from crashloop.slo.preconditions import percentage

FIGURES = {
    "restarts_per_s": "restarts/s",
    "requests_per_restart": "API requests of the kubelets per restart",
    "kubelet_cpu_s_per_restart": "CPU of the kubelets per restart (s)",
    "runtime_cpu_s_per_restart": "CPU of the runtimes per restart (s)",
    "apiserver_cpu_s_per_restart": "CPU of the API server per restart (s)",
    "lateness_p50_s": "restart lateness p50 (s)",
    "lateness_p99_s": "restart lateness p99 (s)",
    "lateness_samples": "restarts with a known delay, done or overdue",
    "lateness_open": "restarts still open",
    "startup_p50_s": "start-up of healthy pods p50 (s)",
    "startup_p99_s": "start-up of healthy pods p99 (s)",
    "startup_samples": "healthy pods, started or overdue",
    "startup_open": "healthy pods not started yet",
    "kubelet_requests_per_s": "API requests/s of the kubelets",
    "apiserver_requests_per_s": "API requests/s of all clients",
    "kubelet_cpu_cores": "CPU of the kubelets (cores)",
    "runtime_cpu_cores": "CPU of the runtimes (cores)",
    "apiserver_cpu_cores": "CPU of the API server (cores)",
    "etcd_cpu_cores": "CPU of etcd (cores)",
    "harness_cpu_cores": "CPU of this harness (cores)",
    "harness_share": "harness / (kubelets + runtimes)",
    "host_busy_share": "host CPU busy",
    "foreign_cpu_share": "host CPU taken by others",
    "kubelet_memory_mib": "memory of the kubelets, highest (MiB)",
    "runtime_memory_mib": "memory of the runtimes, highest (MiB)",
}
"""In the order of display."""

_SAMPLES = {"lateness_p99_s": "lateness_samples", "startup_p99_s": "startup_samples"}
"""The figures with the number of events that a p99 is of."""


def is_a_highest(name: str, figures: Mapping[str, float | None]) -> bool:
    """Whether a figure is a p99 of so few events that it is their highest."""
    samples = figures.get(_SAMPLES.get(name, ""))
    return samples is not None and samples < least_samples(99)


def stage_figure_text(name: str, figures: Mapping[str, float | None]) -> str:
    """A figure of a stage, and what it really is."""
    value = figures.get(name)
    shown = figure_text(name, value)
    if value is None or not is_a_highest(name, figures):
        return shown
    return f"{shown} (highest of {figures[_SAMPLES[name]]:.0f})"


def figure_text(name: str, value: float | None) -> str:
    """A figure with the digits that matter, a share as a percentage; a dash without a value."""
    if value is None:
        return "–"
    if name.endswith("_share"):
        return percentage(value)
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.4f}" if name.endswith("_per_restart") else f"{value:.3f}"
