"""A figure of the pods that answer the requests of one load, alone or against that of another load at the same time."""

from collections.abc import Iterable, Iterator

from crashloop.errors import ObservationError
from crashloop.slo.rows import ServedSli
from crashloop.slo.served_figures import FIGURES
from crashloop.slo.text import number
from crashloop.slo.types import Measured, Phase, ServedPod, SliResult


def served(sli: ServedSli, measured: Measured, window: Phase) -> Iterator[SliResult]:
    """One result per pod. Raises ObservationError without a pod, or where what it is divided by is 0."""
    figure, divisor, other = FIGURES[sli.of].of_pod, 1.0, ""
    if sli.relative_to is not None:
        values = [figure(pod, measured, window).value for pod in pods_in(measured.served, sli.relative_to, window)]
        divisor = sum(values) / len(values)
        if divisor <= 0:
            raise ObservationError(f"{sli.of} of {sli.relative_to} is 0, so there is nothing to compare with.")
        other = f", and {number(divisor)} of {sli.relative_to}."
    for pod in pods_in(measured.served, sli.load, window):
        found = figure(pod, measured, window)
        yield SliResult(
            value=found.value / divisor,
            samples=found.samples,
            group={"pod": pod.pod},
            from_ns=window.from_ns,
            to_ns=window.to_ns,
            compared=f"It is {number(found.value)}{other}" if other else "",
        )


def pods_in(pods: Iterable[ServedPod], load: str, window: Phase) -> list[ServedPod]:
    """The pods of a load with demand in a window. Raises ObservationError without any."""
    found = [pod for pod in pods if pod.load == load and pod.has_demand_in(window)]
    if not found:
        raise ObservationError(f"load {load} had no pod with demand.")
    return found
