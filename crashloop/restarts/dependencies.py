"""What a container needs from others, over time: ConfigMaps, Secrets, and the versions that the tag of its image named."""

from collections.abc import Callable, Iterator

import msgspec

from crashloop.model.after_restart import KNOWN_WITHIN_S
from crashloop.restarts.case import Case
from crashloop.spec.dependency import PASSWORD, PASSWORD_KEY, ConfigObject
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container

VERSION = "version"
"""The key of the image version in the states of an image."""


class ObjectState(msgspec.Struct, frozen=True, kw_only=True):
    """What an object held from a time on, UTC; None: it was not there. The change took from `from_ns` to `to_ns`."""

    from_ns: int
    to_ns: int
    data: dict[str, str] | None
    line: int | None = None


def states_of_object(case: Case, each: ConfigObject) -> tuple[ObjectState, ...]:
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


def kubelet_knows_by_ns(case: Case, state: ObjectState) -> int:
    """By when the kubelet no longer gives what was before that state: later where the host stood still, for however long."""
    within_ns = round(KNOWN_WITHIN_S * 1e9)
    by_ns = state.to_ns + within_ns
    while by_ns < case.recording.end_ns:
        later_ns = state.to_ns + within_ns + round(case.recording.host.kubelet_held_s(state.to_ns, by_ns) * 1e9)
        if later_ns <= by_ns:
            break
        by_ns = later_ns
    return by_ns


def states_possible_at(case: Case, states: tuple[ObjectState, ...], at_ns: int) -> tuple[ObjectState, ...]:
    """Those that the kubelet may give at a time (UTC): the newest that it has to know, and all that came after it."""
    begun = [each for each in states if each.from_ns <= at_ns]
    known = [each for each in begun if kubelet_knows_by_ns(case, each) <= at_ns]
    return (*known[-1:], *begun[len(known) :])


def missing_dependencies(case: Case, container: Container) -> Iterator[tuple[ObjectState, ObjectState | None]]:
    """Each time in which an object or the image that the container needs was missing: its beginning, its end if it has one."""
    needed = {*container.folders, *(variable.object for variable in container.env)}
    for each in case.scenario.objects:
        if each.name in needed:
            yield from _times_without(states_of_object(case, each), lambda data: data is None)
        if container.image is not None and each.name == container.image.secret:
            yield from _times_without(
                states_of_object(case, each), lambda data: data is None or data[PASSWORD_KEY] != PASSWORD
            )
    if container.image is not None:
        yield from _times_without(versions_of_tag(case, container), lambda data: data is None)


def versions_of_tag(case: Case, container: Container) -> tuple[ObjectState, ...]:
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


def _times_without(
    states: tuple[ObjectState, ...], lacks: Callable[[dict[str, str] | None], bool]
) -> Iterator[tuple[ObjectState, ObjectState | None]]:
    for state, later in zip(states, (*states[1:], None), strict=True):
        if lacks(state.data):
            yield state, later
