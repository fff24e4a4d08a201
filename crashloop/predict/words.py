"""Predictions as rows and sentences for people."""

from collections.abc import Iterable, Iterator

from crashloop.predict.costs import Costs
from crashloop.predict.kep import Claim
from crashloop.predict.load import Limit, Prediction
from crashloop.predict.steps import Predictions


def claim_rows(claims: Iterable[Claim]) -> Iterator[tuple[str, ...]]:
    """KEP, number, what it says, what comes of its own assumptions, unit, contradiction."""
    for each in claims:
        yield each.kep, each.sentence, figure(each.said), figure(each.computed), each.unit, each.contradiction or "none"


def load_rows(found: Predictions) -> Iterator[tuple[str, ...]]:
    """One row a number of pods, and one with the default curve."""
    for each in found.predictions:
        yield _row(str(each.load.pods), each)
    yield _row(f"{found.today.load.pods} (default curve)", found.today)


def window_rows(found: Predictions) -> Iterator[tuple[str, ...]]:
    """Stretches after the start of all pods at once."""
    for each in found.predictions[-1].first:
        yield f"{each.from_s:g} to {each.to_s:g} s", figure(each.restarts_per_s), figure(each.api_requests_per_s)


def sentences(found: Predictions) -> Iterator[str]:
    """What the numbers rest on, where the knee is, and what is beyond official thresholds."""
    asked, costs = found.predictions[-1], found.costs
    curve = asked.load.curve
    yield (
        f"A prediction for {asked.load.nodes:,} nodes of {figure(asked.load.cores)} cores, curve {curve.initial_s:g} s to "
        f"{curve.maximum_s:g} s: restarts at the maximum of the curve with the kubelet's mean jitter, times the cost of one."
    )
    yield f"Knee: {_knee(asked)}"
    if asked.merges_statuses:
        qps = asked.load.kube_api_qps + asked.load.event_record_qps
        yield (
            f"Each kubelet sends at most {figure(qps)} requests/s (kubeAPIQPS and eventRecordQPS): it merges statuses, delays "
            "or drops events, and restarts containers all the same."
        )
    yield costs_in_words(costs)
    yield from asked.notes


def costs_in_words(costs: Costs) -> str:
    """What one restart costs, and how that was measured."""
    return (
        f"Costs of one restart: {figure(costs.api_requests)} API requests ({figure(costs.api_writes)} of them writes), "
        f"{1000 * costs.kubelet_cpu_s:.0f} ms of kubelet CPU, {1000 * costs.runtime_cpu_s:.0f} ms of the runtime's, "
        f"{1000 * costs.apiserver_cpu_s:.0f} ms of the API server's, {1000 * costs.etcd_cpu_s:.0f} ms of etcd's. "
        f"Measured over {costs.restarts:,} restarts: {costs.source}."
    )


def figure(value: float) -> str:
    """Three digits, thousands with commas."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _row(name: str, each: Prediction) -> tuple[str, ...]:
    numbers = (
        each.api_requests_per_s,
        each.etcd_writes_per_s,
        each.kubelet_cores,
        each.runtime_cores,
        each.apiserver_cores,
        each.etcd_cores,
    )
    rates = figure(each.restarts_per_s), f"{figure(each.at_least_per_s)} to {figure(each.at_most_per_s)}"
    return name, *rates, each.limit.value, *map(figure, numbers)


def _knee(asked: Prediction) -> str:
    if asked.limit is Limit.CURVE:
        return f"not reached. From {asked.knee_pods:,.0f} pods per node on the {Limit.NODE_CPU.value} is the limit."
    return (
        f"from {asked.knee_pods:,.0f} pods per node on the {asked.limit.value} is the limit; the curve would allow "
        f"{figure(asked.curve_per_s)} restarts/s, of which {figure(asked.restarts_per_s)} come."
    )
