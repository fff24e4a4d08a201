"""How many samples kubelet_pod_start_duration_seconds may have.

Source: KEP-5593, "Monitoring Requirements"; pkg/kubelet/kubelet.go@v1.37.1 SyncPod, whose condition takes each first sync of a
pod for its start.
"""

from crashloop.model.variants import DOCUMENTED, POD_START_MEASURED_TWICE

FOUND_PODS = 10
"""Real kubelets also measure the pods that they find when they start; more are not on a node whose kubelet is restarted here."""


def most_samples(pods: int, deviations: frozenset[str] = DOCUMENTED) -> int:
    """The most samples of a kubelet that has started so many pods: one of each."""
    return 2 * pods + FOUND_PODS if POD_START_MEASURED_TWICE in deviations else pods
