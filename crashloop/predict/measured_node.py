"""A node with measured costs and only crashing pods, for comparison with the KEPs' numbers."""

from typing import NamedTuple

from crashloop.model.config import DEFAULT_CURVE, Curve
from crashloop.model.restart_counts import delays_s, restarts_by
from crashloop.predict.costs import Costs
from crashloop.predict.costs_at import costs_at
from crashloop.predict.load import (
    CrashLoad,
    api_requests_per_s,
    is_at_ceiling,
    mean_wait_s,
    node_of,
    overhead_s,
    predict,
)
from crashloop.predict.simulation import simulate


class OfNode(NamedTuple):
    """A number of restarts or requests."""

    value: float
    is_bound: bool = False
    """Whether the node's CPU is the limit, so that the number is the most that it can be."""


class MeasuredNode:
    """As many cores as were measured. Its pods have one container each; `pods` of them fill it."""

    def __init__(self, costs: Costs, *, pods: int) -> None:
        self.costs = costs
        self._pods = pods

    def of_pod(self, curve: Curve, end_s: float, *, run_s: float = 0.0) -> OfNode:
        """Restarts by `end_s` of a single pod, the free one included."""
        return OfNode(self._restarts(curve, end_s, run_s=run_s))

    def extra(self, curve: Curve, end_s: float) -> OfNode:
        """Restarts by `end_s` of a single pod, beyond those of today's curve."""
        return OfNode(self._restarts(curve, end_s) - self._restarts(DEFAULT_CURVE, end_s))

    def extra_at_cap(self, curve: Curve, window_s: float) -> OfNode:
        """Restarts of a single pod in a window, beyond those of today's curve, when both are at their maximum."""
        return OfNode(self._at_cap(curve, window_s) - self._at_cap(DEFAULT_CURVE, window_s))

    def extra_requests_at_cap(self, curve: Curve, window_s: float) -> OfNode:
        """API requests of a single pod in a window, beyond those of today's curve, when both are at their maximum."""
        mine, today = (self._requests_at_cap(each, window_s) for each in (curve, DEFAULT_CURVE))
        return OfNode(mine - today)

    def requests_of_full(self, curve: Curve, end_s: float) -> OfNode:
        """API requests of a full node by `end_s`, simulated."""
        load = self._load(curve, self._pods)
        window = simulate(node_of(load, self.costs), until_s=end_s).window(0.0, end_s)
        requests = end_s * api_requests_per_s(load, self.costs, window.restarts_per_s, window.mean_delay_s)
        return OfNode(requests, is_at_ceiling(predict(load, self.costs), window.restarts_per_s))

    def extra_requests_of_full(self, curve: Curve, window_s: float) -> OfNode:
        """API requests of a full node in a window, beyond those of today's curve, when both are at their maximum."""
        mine, today = (predict(self._load(each, self._pods), self.costs) for each in (curve, DEFAULT_CURVE))
        return OfNode(window_s * (mine.api_requests_per_s - today.api_requests_per_s), mine.is_bound)

    def _at_cap(self, curve: Curve, window_s: float) -> float:
        """Restarts of a single pod at the maximum of its curve."""
        return window_s / mean_wait_s(curve.maximum_s, self._overhead_s(curve))

    def _requests_at_cap(self, curve: Curve, window_s: float) -> float:
        restarts = self._at_cap(curve, window_s)
        return restarts * costs_at(self.costs, restarts / window_s, curve.maximum_s).api_requests

    def _restarts(self, curve: Curve, end_s: float, *, run_s: float = 0.0) -> float:
        overhead = self._overhead_s(curve)
        return restarts_by((mean_wait_s(delay_s, overhead) for delay_s in delays_s(curve)), end_s, run_s=run_s)

    def _overhead_s(self, curve: Curve) -> float:
        return overhead_s(self._load(curve, 1), self.costs)

    def _load(self, curve: Curve, pods: int) -> CrashLoad:
        return CrashLoad(nodes=1, pods=pods, curve=curve, cores=self.costs.cores)
