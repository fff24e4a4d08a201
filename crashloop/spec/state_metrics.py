"""What kube-state-metrics states of a container's restarts (kube-state-metrics docs/metrics/workload/pod-metrics.md@v2.15.0)."""

from collections.abc import Iterable

RESTARTS = "kube_pod_container_status_restarts_total"
WAITING = "kube_pod_container_status_waiting_reason"
LAST_REASON = "kube_pod_container_status_last_terminated_reason"
LAST_CODE = "kube_pod_container_status_last_terminated_exitcode"
FAMILIES = (RESTARTS, WAITING, LAST_REASON, LAST_CODE)


def of_state_metrics(families: Iterable[str]) -> tuple[str, ...]:
    """Those of these families of metrics that kube-state-metrics has; the others are the kubelet's."""
    return tuple(each for each in families if each.startswith("kube_pod_"))
