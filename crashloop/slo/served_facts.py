"""Facts for preconditions on servers: whether their limits took effect, and whether these let them answer the steady demand."""

from crashloop.errors import ObservationError
from crashloop.slo.backlog import last_burst_ns
from crashloop.slo.served_figures import FIGURES
from crashloop.slo.types import Measured, Phase, ServedPod


def servers_reached(measured: Measured, phase: Phase) -> float | None:
    """Share of the servers that ever answered: where pods have no addresses for the host, none does."""
    pods = _present(measured, phase)
    return sum(bool(pod.answered) for pod in pods) / len(pods) if pods else None


def limits_as_planned(measured: Measured, phase: Phase) -> float | None:
    """Share of the servers with a limit and a burst that were throttled, and of those without a limit that were not."""
    asked = [pod for pod in _present(measured, phase) if pod.cpu_limit is None or last_burst_ns(pod) > pod.began_ns]
    try:
        throttled = [FIGURES["throttled"].of_pod(pod, measured, phase).value > 0 for pod in asked]
    except ObservationError:
        return None
    as_planned = [seen == (pod.cpu_limit is not None) for pod, seen in zip(asked, throttled, strict=True)]
    return sum(as_planned) / len(as_planned) if as_planned else None


def steady_utilisation(measured: Measured, phase: Phase) -> float | None:
    """The highest of the servers with a limit that were not killed: steady demand against what the limit lets them answer."""
    found = []
    for pod in _present(measured, phase):
        answers = sum(1 for _, t_ns in pod.answered if phase.from_ns <= t_ns < phase.to_ns)
        if pod.cpu_limit is None or not answers or FIGURES["kills"].of_pod(pod, measured, phase).value:
            continue
        try:
            used_s = FIGURES["cpu"].of_pod(pod, measured, phase).value * phase.seconds
        except ObservationError:
            return None
        found.append(pod.rate_per_s * used_s / answers / pod.cpu_limit)
    return max(found, default=None)


def _present(measured: Measured, phase: Phase) -> list[ServedPod]:
    return [pod for pod in measured.served if pod.has_demand_in(phase)]
