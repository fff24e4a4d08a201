"""Times in which something was missing: the kubelet, the control plane, or an object or image that a container needs.

Theory of operation. While a node has no kubelet nothing restarts, and nobody says anything; while it has no control plane its
kubelet states nothing. A status lags behind the containers even so: by the kubelet, which has `SETTLED_NS` to say what is true,
without the host's shown stalls; and by the API server and the watch, which may have held it up for `SLOW_API_NS` at the same
time: nothing measures that, so it is open. What a status *says* is excused by none of this, only that it was not yet, or no
longer, the newest.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from crashloop.history.recording import Done
from crashloop.model.after_restart import KNOWN_WITHIN_S
from crashloop.restarts.case import Case
from crashloop.spec.dependency import PASSWORD, PASSWORD_KEY, ConfigObject
from crashloop.spec.intervention import RESTART_THE_KUBELET, InterventionKind, down_s
from crashloop.spec.pod import Container


class Absence(msgspec.Struct, frozen=True):
    """A time without a kubelet, by UTC."""

    line: int
    """Of the intervention."""
    from_ns: int
    to_ns: int
    """The start of the next kubelet, by its own log."""

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9


def absences(case: Case) -> Iterator[Absence]:
    """The kubelet is surely away for as long as it was to stay away before the next one started."""
    for done in _kubelet_ended(case):
        down_ns = round(down_s(done.data.arguments) * 1e9)
        back_ns = _kubelet_back_ns(case, done)
        if back_ns is not None:
            yield Absence(done.line, max(done.t_ns, back_ns - down_ns), back_ns)


def away_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long the node had no kubelet in that interval."""
    return within_ns(((each.from_ns, each.to_ns) for each in absences(case)), from_ns, to_ns)


def within_ns(times_ns: Iterable[tuple[int, int]], from_ns: int, to_ns: int) -> int:
    """How much of these times, each from its begin to its end, lies within an interval."""
    return sum(max(0, min(end_ns, to_ns) - max(begin_ns, from_ns)) for begin_ns, end_ns in times_ns)


def never_back(case: Case, to_ns: int) -> int | None:
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


ENDED_BY = {
    InterventionKind.STOP_COMPONENT: InterventionKind.START_COMPONENT,
    InterventionKind.CUT_OFF_NODE: InterventionKind.CONNECT_NODE,
}
"""What ends an outage, by what begins it."""


class Outage(msgspec.Struct, frozen=True):
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


def outages(case: Case) -> Iterator[Outage]:
    """The outages that the scenario has made, in their order."""
    done = [each for each in case.recording.interventions if each.ok]
    for index, each in enumerate(done):
        if each.data.action in ENDED_BY:
            end = next((later for later in done[index + 1 :] if _ends_outage(each, later)), None)
            end_ns = case.recording.end_ns
            to_ns, back_ns = (end_ns, end_ns) if end is None else (end.t_ns, end.data.ended_ns or end.t_ns)
            yield Outage(each.line, each.data.ended_ns or each.t_ns, to_ns, back_ns)


def unreachable_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long the node could state nothing in that interval."""
    return within_ns(((each.from_ns, each.back_ns) for each in outages(case)), from_ns, to_ns)


def _ends_outage(began: Done, later: Done) -> bool:
    component = [(each.data.arguments or {}).get("component") for each in (began, later)]
    return later.data.action == ENDED_BY[InterventionKind(began.data.action)] and component[0] == component[1]


VERSION = "version"
"""The key of the image version in the states of an image."""


class ObjectState(msgspec.Struct, frozen=True, kw_only=True):
    """What an object held from a time on, UTC; None: it was not there. The change took from `from_ns` to `to_ns`."""

    from_ns: int
    to_ns: int
    data: dict[str, str] | None
    line: int | None = None


def held_over_time(case: Case, each: ConfigObject) -> tuple[ObjectState, ...]:
    """The states of an object in order; the first holds from the beginning. An intervention that failed changed nothing."""
    states = [ObjectState(from_ns=0, to_ns=0, data=each.data if each.present else None)]
    for done in case.recording.interventions:
        given = done.data.arguments or {}
        if not done.ok or given.get("object") != each.name:
            continue
        data = {
            InterventionKind.CREATE_OBJECT.value: each.data,
            InterventionKind.CHANGE_OBJECT.value: {**(states[-1].data or {}), **given.get("data", {})},
            InterventionKind.DELETE_OBJECT.value: None,
        }[done.data.action]
        states.append(ObjectState(from_ns=done.t_ns, to_ns=done.data.ended_ns or done.t_ns, data=data, line=done.line))
    return tuple(states)


def known_by_ns(case: Case, state: ObjectState) -> int:
    """By when the kubelet no longer gives what was before that state: later where the host stood still, for however long."""
    within_ns = round(KNOWN_WITHIN_S * 1e9)
    by_ns = state.to_ns + within_ns
    while by_ns < case.recording.end_ns:
        later_ns = state.to_ns + within_ns + round(case.recording.host.kubelet_held_s(state.to_ns, by_ns) * 1e9)
        if later_ns <= by_ns:
            break
        by_ns = later_ns
    return by_ns


def possible_at(case: Case, states: tuple[ObjectState, ...], at_ns: int) -> tuple[ObjectState, ...]:
    """Those that the kubelet may give at a time (UTC): the newest that it has to know, and all that came after it."""
    begun = [each for each in states if each.from_ns <= at_ns]
    known = [each for each in begun if known_by_ns(case, each) <= at_ns]
    return (*known[-1:], *begun[len(known) :])


def missing_for(case: Case, container: Container) -> Iterator[tuple[ObjectState, ObjectState | None]]:
    """Each time in which an object or the image that the container needs was missing: its beginning, its end if it has one."""
    needed = {*container.folders, *(variable.object for variable in container.env)}
    for each in case.scenario.objects:
        if each.name in needed:
            yield from _without(held_over_time(case, each), lambda data: data is None)
        if container.image is not None and each.name == container.image.secret:
            yield from _without(held_over_time(case, each), lambda data: data is None or data[PASSWORD_KEY] != PASSWORD)
    if container.image is not None:
        yield from _without(offered_over_time(case, container), lambda data: data is None)


def offered_over_time(case: Case, container: Container) -> tuple[ObjectState, ...]:
    """The versions that the tag of the container's image named, in order; the first from the beginning."""
    assert container.image is not None
    first = container.image.version
    states = [ObjectState(from_ns=0, to_ns=0, data=None if first is None else {VERSION: str(first)})]
    for done in case.recording.interventions:
        given = done.data.arguments or {}
        if done.ok and done.data.action == InterventionKind.OFFER_IMAGE and given.get("container") == container.name:
            data, ended_ns = {VERSION: str(given[VERSION])}, done.data.ended_ns or done.t_ns
            states.append(ObjectState(from_ns=done.t_ns, to_ns=ended_ns, data=data, line=done.line))
    return tuple(states)


def _without(
    states: tuple[ObjectState, ...], lacks: Callable[[dict[str, str] | None], bool]
) -> Iterator[tuple[ObjectState, ObjectState | None]]:
    for state, later in zip(states, (*states[1:], None), strict=True):
        if lacks(state.data):
            yield state, later


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
