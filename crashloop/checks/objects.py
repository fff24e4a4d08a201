"""ConfigMaps and Secrets of a scenario over time, as the recorder made them."""

from collections.abc import Iterator

import msgspec

from crashloop.checks.case import Case
from crashloop.spec.config_object import ConfigObject
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.scenario import Container


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


def missing_for(case: Case, container: Container) -> Iterator[tuple[ObjectState, ObjectState | None]]:
    """Each time in which an object that the container needs was missing: its beginning, and its end if it has one."""
    needed = {variable.object for variable in container.env}
    for each in case.scenario.objects:
        if each.name in needed:
            states = held_over_time(case, each)
            for state, later in zip(states, (*states[1:], None), strict=True):
                if state.data is None:
                    yield state, later
