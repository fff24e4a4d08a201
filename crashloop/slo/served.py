"""A figure of the pods that answer the requests of one load, alone or against that of another load at the same time."""

from collections.abc import Iterable, Iterator

from crashloop.errors import ObservationError
from crashloop.slo.rows import Better, ServedSli, Target
from crashloop.slo.served_figures import FIGURES
from crashloop.slo.text import number
from crashloop.slo.types import Measured, Phase, ServedPod, SliResult

OPEN = "It is that or more: requests that were never answered count with the time until they were given up."


def served(sli: ServedSli, measured: Measured, window: Phase, target: Target) -> Iterator[SliResult]:
    """One result per pod.

    Raises ObservationError without a pod, where what it is divided by is 0 or may be more, or where a value that may be more
    keeps its target.
    """
    figure, divisor, other = FIGURES[sli.of].of_pod, 1.0, ""
    if sli.relative_to is not None:
        others = [figure(pod, measured, window) for pod in pods_in(measured.served, sli.relative_to, window)]
        divisor = sum(each.value for each in others) / len(others)
        if any(each.is_least for each in others):
            raise ObservationError(
                f"{sli.of} of {sli.relative_to} is {number(divisor)} or more, so the ratio is unknown."
            )
        if divisor <= 0:
            raise ObservationError(f"{sli.of} of {sli.relative_to} is 0, so there is nothing to compare with.")
        other = f", and {number(divisor)} of {sli.relative_to}."
    for pod in pods_in(measured.served, sli.load, window):
        found = figure(pod, measured, window)
        if found.is_least and not target.reported and _is_open(found.value / divisor, target):
            raise ObservationError(
                f"{sli.of} of {pod.pod} is {number(found.value)} or more, and that may miss the target."
            )
        yield SliResult(
            value=found.value / divisor,
            samples=found.samples,
            group={"pod": pod.pod},
            from_ns=window.from_ns,
            to_ns=window.to_ns,
            compared=f"It is {number(found.value)}{other}" if other else "",
            notes=(OPEN,) if found.is_least else (),
        )


def _is_open(value: float, target: Target) -> bool:
    """Whether a larger value may be on the other side of the target."""
    return target.keeps(value) is (target.better is Better.LOWER)


def pods_in(pods: Iterable[ServedPod], load: str, window: Phase) -> list[ServedPod]:
    """The pods of a load with demand in a window. Raises ObservationError without any."""
    found = [pod for pod in pods if pod.load == load and pod.has_demand_in(window)]
    if not found:
        raise ObservationError(f"load {load} had no pod with demand.")
    return found
