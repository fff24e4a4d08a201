"""Times without a kubelet or without a control plane, and how old a statement of the kubelet may therefore be.

Theory of operation. While a node has no kubelet nothing restarts, and nobody says anything; while it has no control plane its
kubelet states nothing. A status lags behind the containers even so: by the kubelet, which has `SETTLED_NS` to say what is true,
without the host's shown stalls; and by the API server and the watch, which may have held it up for `SLOW_API_NS` at the same
time: nothing measures that, so it is open. What a status *says* is excused by none of this, only that it was not yet, or no
longer, the newest.
"""

from collections.abc import Iterable, Iterator

import msgspec

from crashloop.history.recording import Done
from crashloop.restarts.case import Case
from crashloop.spec.intervention import RESTART_THE_KUBELET, InterventionKind, down_s


class KubeletOutage(msgspec.Struct, frozen=True):
    """A time without a kubelet, by UTC."""

    line: int
    """Of the intervention."""
    from_ns: int
    to_ns: int
    """The start of the next kubelet, by its own log."""

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9


def kubelet_outages(case: Case) -> Iterator[KubeletOutage]:
    """The kubelet is surely away for as long as it was to stay away before the next one started."""
    for done in _kubelet_ended(case):
        down_ns = round(down_s(done.data.arguments) * 1e9)
        back_ns = _kubelet_back_ns(case, done)
        if back_ns is not None:
            yield KubeletOutage(done.line, max(done.t_ns, back_ns - down_ns), back_ns)


def without_kubelet_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long the node had no kubelet in that interval."""
    return overlap_ns(((each.from_ns, each.to_ns) for each in kubelet_outages(case)), from_ns, to_ns)


def overlap_ns(times_ns: Iterable[tuple[int, int]], from_ns: int, to_ns: int) -> int:
    """How much of these times, each from its begin to its end, lies within an interval."""
    return sum(max(0, min(end_ns, to_ns) - max(begin_ns, from_ns)) for begin_ns, end_ns in times_ns)


def kubelet_never_back(case: Case, to_ns: int) -> int | None:
    """The history line on which a kubelet was ended by then of which no later start was seen; None if there is none."""
    return next(
        (done.line for done in _kubelet_ended(case) if done.t_ns <= to_ns and _kubelet_back_ns(case, done) is None),
        None,
    )


def _kubelet_ended(case: Case) -> Iterator[Done]:
    return (done for done in case.recording.interventions if done.data.action in RESTART_THE_KUBELET and done.ok)


def _kubelet_back_ns(case: Case, done: Done) -> int | None:
    """When the next kubelet started, by its own log."""
    started = (each.data.kubelet_started_ns for each in case.recording.nodes)
    return next((each for each in started if each is not None and each >= done.t_ns), None)


OUTAGE_ENDS_BY = {
    InterventionKind.STOP_COMPONENT: InterventionKind.START_COMPONENT,
    InterventionKind.CUT_OFF_NODE: InterventionKind.CONNECT_NODE,
}
"""What ends an outage, by what begins it."""


class ControlPlaneOutage(msgspec.Struct, frozen=True):
    """A time without a control plane, by UTC."""

    line: int
    """Of the intervention that began it."""
    from_ns: int
    """From then on it was surely away."""
    to_ns: int
    """Until then. The end of the recording if nothing ended it."""
    back_ns: int
    """By then it answered again."""

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9

    def has(self, t_ns: int | None) -> bool:
        """Whether a moment (UTC) surely was in it; None: the moment is not known."""
        return t_ns is not None and self.from_ns <= t_ns <= self.to_ns


def control_plane_outages(case: Case) -> Iterator[ControlPlaneOutage]:
    """The outages that the scenario has made, in their order."""
    done = [each for each in case.recording.interventions if each.ok]
    for index, each in enumerate(done):
        if each.data.action in OUTAGE_ENDS_BY:
            end = next((later for later in done[index + 1 :] if _ends_outage(each, later)), None)
            end_ns = case.recording.end_ns
            to_ns, back_ns = (end_ns, end_ns) if end is None else (end.t_ns, end.data.ended_ns or end.t_ns)
            yield ControlPlaneOutage(each.line, each.data.ended_ns or each.t_ns, to_ns, back_ns)


def without_control_plane_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long the node could state nothing in that interval."""
    return overlap_ns(((each.from_ns, each.back_ns) for each in control_plane_outages(case)), from_ns, to_ns)


def _ends_outage(began: Done, later: Done) -> bool:
    component = [(each.data.arguments or {}).get("component") for each in (began, later)]
    return later.data.action == OUTAGE_ENDS_BY[InterventionKind(began.data.action)] and component[0] == component[1]


SETTLED_NS = 10_000_000_000
"""How long the status may lag behind: a relist (1 s), a sync, and the kubelet's own batch of status updates (10 s at most)."""
SLOW_API_NS = 30_000_000_000
"""Up to here the write to the API server and its way through the watch may have taken the rest."""


def may_lag_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """By how much a statement may lag, in that time, before the kubelet alone can be why."""
    held_ns = round(case.recording.host.kubelet_held_s(from_ns, to_ns) * 1e9)
    return max(SLOW_API_NS, SETTLED_NS + held_ns) + without_statements_ns(case, from_ns, to_ns)


def may_be_old_ns(case: Case, t_ns: int) -> int:
    """By how much a statement of that time may lag: the stalls that held it up are found ever further back."""
    age_ns = SLOW_API_NS
    while t_ns - age_ns > case.recording.begin_ns and (longer_ns := may_lag_ns(case, t_ns - age_ns, t_ns)) > age_ns:
        age_ns = longer_ns
    return age_ns


def without_statements_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long nobody could state anything in that interval."""
    return without_kubelet_ns(case, from_ns, to_ns) + without_control_plane_ns(case, from_ns, to_ns)
