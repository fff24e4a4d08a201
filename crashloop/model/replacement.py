"""What a ReplicaSet does when the one pod that it wants has ended.

Theory of operation. A pod that is Succeeded or Failed counts no more, so another is made at once, without a backoff, and
those that have ended stay. Before container restart policies no pod of a Deployment could end by itself: its policy is Always.
Source: pkg/controller/controller_utils.go@v1.37.1 FilterActivePods; pkg/controller/replicaset/replica_set.go manageReplicas.
"""

from crashloop.model.variants import DOCUMENTED, REPLACES_AT_ONCE

REPLACED_AFTER_S = 1.5
"""From the exit to the next pod's sandbox; 1.5 s to 2.3 s were measured, of which 1 s is the kubelet's relist."""


def replaces_at_once(deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether pods that have ended are replaced without a limit; else no more often than a container would be restarted."""
    return REPLACES_AT_ONCE in deviations
