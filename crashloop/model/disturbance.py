"""Other causes than exits and restarts that change a container's counter, or cut its wait short.

Theory of operation. Counters are in the kubelet's memory, so a restarted kubelet has none and starts waiting containers at
once. A counter belongs to a container with its image and resources, so a change of either begins a new one. A delay is
counted from an exit, so without a known exit none is due. In the effect of a failed start attempt on the counter, the
kubelet differs from the documentation.
Source: KEP-5593, Upgrade / Downgrade Strategy ("not cached"); pkg/kubelet/kuberuntime/helpers.go@v1.37.1 GetBackoffKey;
pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 doBackOff.
"""

import msgspec

from crashloop.model.counter import Branch, Setting
from crashloop.model.lives import CounterLost, DeadContainerRemoved, KeyChanged, Mark, StartAttemptFailed
from crashloop.model.variants import FAILED_STARTS_COUNT

KUBELET_BACK_S = 20.0
"""A kubelet that starts again looks at its pods within this time."""
RETRY_S = 16.0
"""A failed start is tried again after 10 to 15 s and a tick: pkg/kubelet/pod_workers.go@v1.37.1, backOffPeriod."""


def forgets(mark: Mark) -> bool:
    """Whether a mark gives the container a new counter.

    No text says what a changed container does to the counter: KEP-5593, "Late recovery", leaves it out of scope.
    """
    return isinstance(mark, CounterLost | KeyChanged)


def disturbed(branch: Branch, mark: Mark, at_s: float, setting: Setting) -> tuple[Branch, ...]:
    """What may become of a wait into which a mark fell, `at_s` seconds after the exit."""
    if isinstance(mark, KeyChanged) and branch.delay_s <= at_s:
        return _changed_when_over(branch, at_s, setting)
    return (_disturbed(branch, mark, at_s, setting),)


def _changed_when_over(branch: Branch, at_s: float, setting: Setting) -> tuple[Branch, ...]:
    """A change at a time at which the wait is over: the start attempt came before it, by the old key, or after it."""
    replace = msgspec.structs.replace
    latest_s = max(branch.latest_s, at_s + setting.latest_s(0.0))
    before = replace(branch, next_delay_s=None, before=None)
    return before, replace(branch, latest_s=latest_s, next_delay_s=setting.curve.initial_s)


def _disturbed(branch: Branch, mark: Mark, at_s: float, setting: Setting) -> Branch:
    replace = msgspec.structs.replace
    sooner_s = min(branch.delay_s, at_s)
    if isinstance(mark, CounterLost) and not branch.knows_exit:
        return replace(branch, latest_s=max(branch.latest_s, at_s + KUBELET_BACK_S), before=None)
    if isinstance(mark, CounterLost):
        return replace(
            branch,
            delay_s=sooner_s,
            latest_s=at_s + KUBELET_BACK_S,
            reason="the kubelet started again and has lost the counter",
            next_delay_s=setting.curve.initial_s,
        )
    if isinstance(mark, DeadContainerRemoved):
        reason = "the exited instance is gone, so no delay is due"
        return replace(branch, delay_s=sooner_s, reason=reason, next_delay_s=None)
    if isinstance(mark, StartAttemptFailed):
        retried_s = at_s + RETRY_S
        if FAILED_STARTS_COUNT not in setting.deviations or branch.next_delay_s is None:
            return replace(branch, latest_s=max(branch.latest_s, retried_s))
        delay_s = branch.next_delay_s
        return replace(
            branch,
            delay_s=delay_s,
            latest_s=max(setting.latest_s(delay_s), retried_s),
            reason=f"a start attempt failed, which counted, so the counter says {delay_s:g} s",
            next_delay_s=setting.curve.after(delay_s),
        )
    if not isinstance(mark, KeyChanged):
        return branch
    return replace(
        branch,
        delay_s=sooner_s,
        latest_s=at_s + setting.latest_s(0.0),
        reason=f"the container's {mark.part} changed, so its counter is a new one",
        next_delay_s=setting.curve.initial_s,
    )
