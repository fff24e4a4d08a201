"""Times in which a node had no control plane, since the scenario had stopped a component or cut the node off."""

from collections.abc import Iterator

import msgspec

from crashloop.checks.absence import within_ns
from crashloop.checks.case import Case
from crashloop.history.recording import Done
from crashloop.spec.intervention import InterventionKind

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
            end = next((later for later in done[index + 1 :] if _ends(each, later)), None)
            end_ns = case.recording.end_ns
            to_ns, back_ns = (end_ns, end_ns) if end is None else (end.t_ns, end.data.ended_ns or end.t_ns)
            yield Outage(each.line, each.data.ended_ns or each.t_ns, to_ns, back_ns)


def unreachable_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long the node could state nothing in that interval."""
    return within_ns(((each.from_ns, each.back_ns) for each in outages(case)), from_ns, to_ns)


def _ends(began: Done, later: Done) -> bool:
    component = [(each.data.arguments or {}).get("component") for each in (began, later)]
    return later.data.action == ENDED_BY[InterventionKind(began.data.action)] and component[0] == component[1]
