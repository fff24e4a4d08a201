"""The load arithmetic of the KEPs: every number beside the result of the same assumptions, and beside a node with measured costs.

Theory of operation. A KEP counts restarts of a curve as advertised (crashloop.model.restart_counts), multiplies by pods and by
requests per restart, and compares with today's curve. Here every such number (kep.yaml) is computed again from its own
assumptions. A difference is a named contradiction: an inconsistency of the KEP, not of a kubelet. Beside both is the result
for a node with measured costs: real delays are late, the CPU of a full node is the limit, a kubelet's client rate limits merge
requests, and the free restart counts. A single pod is alone on its node; a full node has the measured cores.
Source: KEP-5593, "Risks and Mitigations"; KEP-4603 (1.31 text), "Risks and Mitigations", "Front loaded decay curve
methodology", "Rapid curve methodology", "On success and the 10 minute recovery threshold".
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from crashloop.model.config import DEFAULT_CURVE, Curve
from crashloop.model.restart_counts import advertised, delays_s, restarts_by, running
from crashloop.predict.costs import Costs, costs_at
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
from crashloop.yaml_text import read_yaml


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

    def restarts(self, curve: Curve, end_s: float, *, run_s: float = 0.0) -> float:
        """Restarts by `end_s` of a single pod, the free one included."""
        overhead = self._overhead_s(curve)
        return restarts_by((mean_wait_s(delay_s, overhead) for delay_s in delays_s(curve)), end_s, run_s=run_s)

    def at_cap(self, curve: Curve, window_s: float) -> float:
        """Restarts of a single pod in a window, at the maximum of its curve."""
        return window_s / mean_wait_s(curve.maximum_s, self._overhead_s(curve))

    def requests_at_cap(self, curve: Curve, window_s: float) -> float:
        """The API requests of these restarts."""
        restarts = self.at_cap(curve, window_s)
        return restarts * costs_at(self.costs, restarts / window_s, curve.maximum_s).api_requests

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

    def _overhead_s(self, curve: Curve) -> float:
        return overhead_s(self._load(curve, 1), self.costs)

    def _load(self, curve: Curve, pods: int) -> CrashLoad:
        return CrashLoad(nodes=1, pods=pods, curve=curve, cores=self.costs.cores)


CurveName = Literal["default", "one-second", "reduced", "rapid", "quarter", "very-fast"]
CURVES: Mapping[CurveName, Curve] = {
    "default": DEFAULT_CURVE,
    "one-second": Curve(1.0, 1.0),
    "reduced": Curve(1.0, 300.0),  # KEP-4603 as of 1.31 leaves the maximum at 300 s
    "rapid": Curve(0.25, 60.0),
    "quarter": Curve(0.25, 300.0),
    "very-fast": Curve(0.025, 300.0),
}
PODS = 110
"""Pods of a full node, one crashing container each."""


class Quantity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a KEP counts: restarts of a pod, or their API requests; by its own assumptions, and on a node with measured costs."""

    curve: CurveName
    window_s: float
    at_cap: bool = False
    """In a window at the maximum of the curve; False: from the start of the crash loop on."""
    is_extra: bool = False
    """Beyond those of today's curve."""
    requests: int = 0
    """API requests of a restart, as the KEP reckons, which gives no reason (contradiction Z6); 0: restarts are counted."""
    of_a_restart: bool = False
    """These requests themselves."""
    of_full_node: bool = False
    """Of a full node; False: of one pod."""
    run_s: float = 0.0
    """How long each life runs: 0 or 10."""

    def by_the_kep(self) -> float:
        if self.of_a_restart:
            return float(self.requests)
        return (PODS if self.of_full_node else 1) * self._beyond_today(self._advertised) * (self.requests or 1)

    def on(self, node: MeasuredNode) -> OfNode:
        curve = CURVES[self.curve]
        if self.of_a_restart:
            return OfNode(node.costs.api_requests)
        if self.of_full_node:
            of_full = node.extra_requests_of_full if self.at_cap else node.requests_of_full
            return of_full(curve, self.window_s)
        if not self.at_cap:
            return OfNode(self._beyond_today(lambda curve: node.restarts(curve, self.window_s, run_s=self.run_s)))
        of_pod = node.requests_at_cap if self.requests else node.at_cap
        return OfNode(self._beyond_today(lambda curve: of_pod(curve, self.window_s)))

    def _advertised(self, curve: Curve) -> float:
        if self.at_cap:
            return self.window_s / curve.maximum_s
        return running(curve, self.window_s) if self.run_s else advertised(curve, self.window_s)

    def _beyond_today(self, of: Callable[[Curve], float]) -> float:
        return of(CURVES[self.curve]) - (of(DEFAULT_CURVE) if self.is_extra else 0.0)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A number of a KEP, and the same number computed."""

    id: str
    kep: str
    sentence: str
    said: float
    computed: float
    measured: float | None = None
    """The same on a node with measured costs; None without costs."""
    is_bound: bool = False
    """Whether that is the most that the node's CPU allows."""
    unit: str
    how: str
    contradiction: str = ""
    """Why the two differ; empty where they agree."""

    @property
    def agrees(self) -> bool:
        return not self.contradiction


class _Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    kep: str
    sentence: str
    said: int | float
    unit: str
    how: str
    what: Quantity
    contradiction: str = ""
    computed: float | None = None
    """Where it is no quantity of its own."""


ROWS = msgspec.convert(read_yaml(Path(__file__).with_suffix(".yaml").read_text("utf-8"))["claims"], tuple[_Row, ...])


def claims(costs: Costs | None = None) -> tuple[Claim, ...]:
    """Every number, in the order of the texts; with `costs` also the result for a node with those costs."""
    node = None if costs is None else MeasuredNode(costs, pods=PODS)
    return tuple(_claim(row, node) for row in ROWS)


def _claim(row: _Row, node: MeasuredNode | None) -> Claim:
    measured = None if node is None else row.what.on(node)
    return Claim(
        id=row.id,
        kep=row.kep,
        sentence=row.sentence,
        said=row.said,
        computed=row.what.by_the_kep() if row.computed is None else row.computed,
        measured=None if measured is None else measured.value,
        is_bound=measured is not None and measured.is_bound,
        unit=row.unit,
        how=row.how,
        contradiction=row.contradiction,
    )
