"""How old a statement may be: a status lags behind the containers, by the kubelet, by the API server and by the watch.

Theory of operation. The kubelet has `SETTLED_NS` to say what is true, in which the host's shown stalls do not count. While the
node has no kubelet, or its kubelet no control plane, nothing is said. Up to `SLOW_API_NS` a slow API server or watch may have
held the statement up, at the same time: nothing measures that, so it is open. What a status *says* is excused by none of this,
only that it was not yet, or no longer, the newest.
"""

from crashloop.checks.absence import away_ns
from crashloop.checks.case import Case
from crashloop.checks.outages import unreachable_ns

SETTLED_NS = 10_000_000_000
"""How long the status may lag behind: a relist (1 s), a sync, and the kubelet's own batch of status updates (10 s at most)."""
SLOW_API_NS = 30_000_000_000
"""Up to here the write to the API server and its way through the watch may have taken the rest."""


def may_lag_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """By how much a statement may lag, in that time, before the kubelet alone can be why."""
    held_ns = round(case.recording.host.kubelet_held_s(from_ns, to_ns) * 1e9)
    return max(SLOW_API_NS, SETTLED_NS + held_ns) + silent_ns(case, from_ns, to_ns)


def may_be_old_ns(case: Case, t_ns: int) -> int:
    """By how much a statement of that time may lag: the stalls that held it up are found ever further back."""
    age_ns = SLOW_API_NS
    while t_ns - age_ns > case.recording.begin_ns and (longer_ns := may_lag_ns(case, t_ns - age_ns, t_ns)) > age_ns:
        age_ns = longer_ns
    return age_ns


def silent_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long nobody could state anything in that interval."""
    return away_ns(case, from_ns, to_ns) + unreachable_ns(case, from_ns, to_ns)
