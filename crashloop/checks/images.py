"""Pulls of images of the run's registry."""

from collections.abc import Iterator

from crashloop.history.recording import ImageRequest
from crashloop.restarts.absences import ObjectState
from crashloop.restarts.case import Case
from crashloop.spec.pod import Container

OK = 200
ONE_PULL_NS = 5_000_000_000
"""Requests that are not further apart belong to one pull: the runtime repeats what fails at once. The least backoff is 10 s."""


def pulled(case: Case) -> Iterator[Container]:
    """The containers whose image is in the registry."""
    return (each for each in case.scenario.pod.containers if each.image is not None)


def held_between(states: tuple[ObjectState, ...], from_ns: int, to_ns: int) -> tuple[ObjectState, ...]:
    """Those that may have held at some time of an interval (UTC)."""
    later = (*(each.to_ns for each in states[1:]), to_ns + 1)
    return tuple(
        each for each, over_ns in zip(states, later, strict=True) if each.from_ns <= to_ns and over_ns >= from_ns
    )


def requests_for(case: Case, container: Container) -> tuple[ImageRequest, ...]:
    """The requests for what the tag of its image names, in their order."""
    return tuple(each for each in case.recording.requests if each.container == container.name and each.names_tag)


def failed_pulls(case: Case, container: Container) -> tuple[ImageRequest, ...]:
    """The first request of each pull that failed, up to the first that did not."""
    firsts: list[ImageRequest] = []
    for each in requests_for(case, container):
        if each.data.status == OK:
            break
        if not firsts or each.t_ns - firsts[-1].t_ns > ONE_PULL_NS:
            firsts.append(each)
    return tuple(firsts)
