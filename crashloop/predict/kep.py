"""The load arithmetic of the KEPs: every number beside the result of the same assumptions, and beside a node with measured costs.

Theory of operation. A KEP counts restarts of a curve as advertised (crashloop.model.restart_counts), multiplies by pods and by
requests per restart, and compares with today's curve. Here every such number is computed again from its own assumptions.
A difference is a named contradiction: an inconsistency of the KEP, not of a kubelet. Beside both is the result for a node
with measured costs: real delays are late, the CPU of a full node is the limit, a kubelet's client rate limits merge
requests, and the free restart counts. A single pod is alone on its node; a full node has the measured cores.
Source: KEP-5593, "Risks and Mitigations"; KEP-4603 (1.31 text), "Risks and Mitigations", "Front loaded decay curve
methodology", "Rapid curve methodology", "On success and the 10 minute recovery threshold".
"""

from collections.abc import Callable
from typing import NamedTuple

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


class Quantity(NamedTuple):
    """What a KEP counts: restarts of a pod, or their API requests; by its own assumptions, and on a node with measured costs."""

    curve: Curve
    window_s: float
    at_cap: bool = False
    """In a window at the maximum of the curve; False: from the start of the crash loop on."""
    is_extra: bool = False
    """Beyond those of today's curve."""
    requests: int = 0
    """API requests of a restart, as the KEP reckons; 0: restarts are counted."""
    of_full_node: bool = False
    """Of a full node; False: of one pod."""
    run_s: float = 0.0
    """How long each life runs: 0 or 10."""

    def by_the_kep(self) -> float:
        return (PODS if self.of_full_node else 1) * self._beyond_today(self._advertised) * (self.requests or 1)

    def on(self, node: MeasuredNode) -> OfNode:
        if self.of_full_node:
            of_full = node.extra_requests_of_full if self.at_cap else node.requests_of_full
            return of_full(self.curve, self.window_s)
        if not self.at_cap:
            return OfNode(self._beyond_today(lambda curve: node.restarts(curve, self.window_s, run_s=self.run_s)))
        of_pod = node.requests_at_cap if self.requests else node.at_cap
        return OfNode(self._beyond_today(lambda curve: of_pod(curve, self.window_s)))

    def _advertised(self, curve: Curve) -> float:
        if self.at_cap:
            return self.window_s / curve.maximum_s
        return running(curve, self.window_s) if self.run_s else advertised(curve, self.window_s)

    def _beyond_today(self, of: Callable[[Curve], float]) -> float:
        return of(self.curve) - (of(DEFAULT_CURVE) if self.is_extra else 0.0)


PODS = 110
"""Pods of a full node, one crashing container each."""
REQUESTS_5593, REQUESTS_4603 = 5, 1
"""Requests per restart in the KEPs, which give no reason (contradiction Z6)."""
FIRST_S, WINDOW_S, HALF_HOUR_S = 10.0, 300.0, 1800.0

ONE_SECOND = Curve(1.0, 1.0)
REDUCED = Curve(1.0, 300.0)
"""KEP-4603 as of 1.31 leaves the maximum at 300 s."""
RAPID = Curve(0.25, 60.0)
VERY_FAST = Curve(0.025, 300.0)
QUARTER = Curve(0.25, 300.0)


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


class _Row(NamedTuple):
    id: str
    kep: str
    sentence: str
    said: float
    unit: str
    how: str
    what: Quantity
    contradiction: str = ""
    computed: float | None = None
    """Where it is no quantity of its own."""
    measured: Callable[[MeasuredNode], OfNode] | None = None


def claims(costs: Costs | None = None) -> tuple[Claim, ...]:
    """Every number, in the order of the texts; with `costs` also the result for a node with those costs."""
    node = None if costs is None else MeasuredNode(costs, pods=PODS)
    return tuple(_claim(row, node) for row in _ROWS)


def _claim(row: _Row, node: MeasuredNode | None) -> Claim:
    measured = None if node is None else (row.measured or row.what.on)(node)
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


_ROWS = (
    _Row(
        "default-first-10s",
        "KEP-5593",
        "API requests of a full node today",
        550,
        "requests/10 s",
        "110 pods x 1 restart by 10 s x 5 requests",
        Quantity(DEFAULT_CURVE, FIRST_S, requests=REQUESTS_5593, of_full_node=True),
    ),
    _Row(
        "one-second-10s",
        "KEP-5593",
        "API requests of a full node with a maximum of 1 s",
        5500,
        "requests/10 s",
        "110 pods x 10 restarts x 5 requests",
        Quantity(ONE_SECOND, FIRST_S, requests=REQUESTS_5593, of_full_node=True),
    ),
    _Row(
        "one-second-first-5min",
        "KEP-5593",
        "excess restarts of a pod in the first 5 minutes",
        305,
        "restarts",
        "300 restarts less 4 of today",
        Quantity(ONE_SECOND, WINDOW_S, is_extra=True),
        "Z7: restarts at least 1 s apart are at most 300 in 300 s, today's included",
    ),
    _Row(
        "one-second-each-5min",
        "KEP-5593",
        "excess restarts of a pod in every 5 minutes after that",
        310,
        "restarts",
        "300 restarts less 1 of today",
        Quantity(ONE_SECOND, WINDOW_S, at_cap=True, is_extra=True),
        "Z7: 310 restarts at least 1 s apart take 310 s",
    ),
    _Row(
        "one-second-requests-pod",
        "KEP-5593",
        "excess API requests of a pod in 5 minutes",
        1550,
        "requests/5 min",
        "excess restarts x 5 requests",
        Quantity(ONE_SECOND, WINDOW_S, at_cap=True, is_extra=True, requests=REQUESTS_5593),
        "Z7: follows from 310",
    ),
    _Row(
        "one-second-requests-node",
        "KEP-5593",
        "excess API requests of a full node in 5 minutes",
        170_500,
        "requests/5 min",
        "110 pods x excess restarts x 5 requests",
        Quantity(ONE_SECOND, WINDOW_S, at_cap=True, is_extra=True, requests=REQUESTS_5593, of_full_node=True),
        "Z7: follows from 310",
    ),
    _Row(
        "one-second-requests-node-10s",
        "KEP-5593",
        "the same in 10 seconds",
        568,
        "requests/10 s",
        "the KEP's own 170,500 in 300 s",
        Quantity(ONE_SECOND, FIRST_S, at_cap=True, is_extra=True, requests=REQUESTS_5593, of_full_node=True),
        "Z7: 568 is the number of requests a second, not of 10 seconds",
        computed=170_500 * 10 / WINDOW_S,
    ),
    _Row(
        "default-first-10s-4603",
        "KEP-4603",
        "API requests of a full node today",
        110,
        "requests/10 s",
        "110 pods x 1 restart by 10 s x 1 request",
        Quantity(DEFAULT_CURVE, FIRST_S, requests=REQUESTS_4603, of_full_node=True),
    ),
    _Row(
        "reduced-first-10s",
        "KEP-4603",
        "API requests of a full node with an initial delay of 1 s, at its fastest",
        330,
        "requests/10 s",
        "110 pods x 3 restarts by 10 s x 1 request",
        Quantity(REDUCED, FIRST_S, requests=REQUESTS_4603, of_full_node=True),
    ),
    _Row(
        "requests-per-restart",
        "KEP-4603",
        "API requests of a restart",
        1,
        "requests",
        "KEP-5593's 550 requests for 110 restarts",
        Quantity(DEFAULT_CURVE, FIRST_S, requests=REQUESTS_5593),
        "Z6: the two KEPs reckon with 1 and with 5 requests per restart",
        computed=float(REQUESTS_5593),
        measured=lambda node: OfNode(node.costs.api_requests),
    ),
    _Row(
        "reduced-extra",
        "KEP-4603",
        "excess restarts of a pod with an initial delay of 1 s",
        3,
        "restarts",
        "restarts by 70 s, less 3 of today",
        Quantity(REDUCED, 70, is_extra=True),
    ),
    _Row(
        "reduced-extra-first-10s",
        "KEP-4603",
        "of these, in the first 10 seconds",
        2,
        "restarts",
        "restarts by 10 s, less 1 of today",
        Quantity(REDUCED, FIRST_S, is_extra=True),
    ),
    _Row(
        "quarter-extra",
        "KEP-4603",
        "excess restarts of a pod with an initial delay of 250 ms (of 3 to 7 for 1 s to 25 ms)",
        5,
        "restarts",
        "restarts by 70 s, less 3 of today",
        Quantity(QUARTER, 70, is_extra=True),
    ),
    _Row(
        "very-fast-extra",
        "KEP-4603",
        "excess restarts of a pod with an initial delay of 25 ms (of 3 to 7 for 1 s to 25 ms)",
        7,
        "restarts",
        "restarts by 70 s, less 3 of today",
        Quantity(VERY_FAST, 70, is_extra=True),
        "Z9: eight restarts more fit into the 70 s",
    ),
    _Row(
        "rapid-first-10s",
        "KEP-4603",
        "API requests of a full node of Rapid pods (250 ms to 60 s) in the first 10 seconds",
        440,
        "requests/10 s",
        "110 pods x 5 restarts by 10 s x 1 request",
        Quantity(RAPID, FIRST_S, requests=REQUESTS_4603, of_full_node=True),
        "Z9: restarts come at 0.25, 0.75, 1.75, 3.75 and 7.75 s, which are 5 and not 4",
    ),
    _Row(
        "rapid-at-cap",
        "KEP-4603",
        "excess API requests of a full node of Rapid pods at their maximum in 5 minutes",
        440,
        "requests/5 min",
        "110 pods x (5 restarts less 1 of today) x 1 request",
        Quantity(RAPID, WINDOW_S, at_cap=True, is_extra=True, requests=REQUESTS_4603, of_full_node=True),
    ),
    _Row(
        "rapid-at-cap-rate",
        "KEP-4603",
        "the same a second",
        1.4,
        "requests/s",
        "440 requests in 300 s, rounded down by the KEP",
        Quantity(RAPID, 1.0, at_cap=True, is_extra=True, requests=REQUESTS_4603, of_full_node=True),
    ),
    _Row(
        "every-10s-5min",
        "KEP-4603",
        "restarts by 5 minutes of a container that crashes every 10 s today",
        4,
        "restarts",
        "the free restart included, lives of 10 s",
        Quantity(DEFAULT_CURVE, WINDOW_S, run_s=10.0),
        "Z5: the KEP does not count the free restart",
    ),
    _Row(
        "every-10s-30min",
        "KEP-4603",
        "restarts by 30 minutes of a container that crashes every 10 s today, about",
        10,
        "restarts",
        "the free restart included, lives of 10 s",
        Quantity(DEFAULT_CURVE, HALF_HOUR_S, run_s=10.0),
    ),
)
