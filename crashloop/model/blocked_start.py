"""What a restart may do that cannot succeed for a while, because an object that the container needs is missing.

Theory of operation. The kubelet tries again after 10 to 15 s and a tick, or when the shortest backoff of the pod is over. A
start that failed is no restart, so the delay stays as it was. In fact every attempt doubles it, also one that fails: how many
there were is only known within limits.
Source: documentation, Pod Lifecycle, "Container restarts"; pkg/kubelet/pod_workers.go@v1.37.1 completeWork,
pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 doBackOff.
"""

import math
from collections.abc import Iterator

import msgspec

from crashloop.model.counter import Branch, Setting
from crashloop.model.variants import BACKOFF_HOLDS_UP_OTHERS, FAILED_STARTS_COUNT

RETRY_LEAST_S, RETRY_S = 10.0, 16.0
"""A failed start is tried again after so long: pkg/kubelet/pod_workers.go@v1.37.1, backOffPeriod with its jitter, and a tick."""
LONGEST_RETRY_S = 91.0
"""The longest time to the next attempt in a pod with a container in backoff: 60 s with their jitter, and a tick."""


def retry_s(deviations: frozenset[str], *, beside_backoff: bool) -> float:
    """The longest time from when a start can succeed to the attempt that does."""
    return LONGEST_RETRY_S if beside_backoff and BACKOFF_HOLDS_UP_OTHERS in deviations else RETRY_S


def blocked(
    branch: Branch, from_s: float, until_s: float, setting: Setting, *, late_s: float = 0.0
) -> tuple[Branch, ...]:
    """The branches of a restart whose starts cannot succeed from `from_s` to `until_s` (math.inf: never again) after the exit.

    `late_s`: for how long the host held the kubelet up before that.
    """
    if until_s <= branch.delay_s or from_s > branch.latest_s + late_s:
        return (branch,)
    latest = max(branch.latest_s, until_s + RETRY_S)
    kept = msgspec.structs.replace(branch, latest_s=latest)
    endless = until_s == math.inf
    if endless or FAILED_STARTS_COUNT not in setting.deviations or branch.next_delay_s is None:
        return (kept,)
    return tuple(_after_attempts(branch, from_s, until_s, setting, branch.latest_s + late_s))


def _after_attempts(
    branch: Branch, from_s: float, until_s: float, setting: Setting, latest_s: float
) -> Iterator[Branch]:
    """One branch for each number of attempts that can have failed by `until_s`; the first comes by `latest_s`."""
    delay_s, next_s, failed = branch.delay_s, branch.next_delay_s, 0
    soonest_s = max(delay_s, from_s)
    while soonest_s < until_s and next_s is not None:
        # The attempt after so many failed ones comes between these two moments.
        if latest_s >= until_s:
            yield _branch(branch, delay_s, next_s, until_s, failed)
        failed, delay_s, next_s = failed + 1, next_s, setting.curve.after(next_s)
        soonest_s = max(soonest_s + RETRY_LEAST_S, delay_s)
        latest_s = max(latest_s + RETRY_S, setting.latest_s(delay_s))
    if next_s is not None:
        yield _branch(branch, delay_s, next_s, until_s, failed)


def _branch(branch: Branch, delay_s: float, next_s: float, until_s: float, failed: int) -> Branch:
    reason = f"{failed} failed starts counted, so the counter says {delay_s:g} s" if failed else branch.reason
    latest_s = max(branch.latest_s, until_s, delay_s * 1.5) + RETRY_S
    return msgspec.structs.replace(branch, delay_s=delay_s, latest_s=latest_s, next_delay_s=next_s, reason=reason)
