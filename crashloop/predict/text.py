"""Predictions for people: steps of a load, rows and sentences, and the one sentence that answers."""

from collections.abc import Iterable, Iterator

import msgspec

from crashloop.model.config import DEFAULT_CURVE, Curve
from crashloop.predict.costs import COSTED, Costs
from crashloop.predict.kep import Claim, claims
from crashloop.predict.limits import ControlPlaneLimit, limits, tightest
from crashloop.predict.load import CrashLoad, Limit, LoadPrediction, is_at_ceiling, predict

PREDICTION_FORMAT = "crashloop.prediction/1"
_STEPS = (1, 5, 10, 20, 40, 80, 110)


class Predictions(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `crashloop predict`: measured costs, and arithmetic on them."""

    format: str = PREDICTION_FORMAT
    costs: Costs
    predictions: tuple[LoadPrediction, ...]
    """At rising numbers of pods per node; the last is the requested one."""
    today: LoadPrediction
    """The requested load with the curve before: the default one, or that of --from."""
    every_pod: LoadPrediction | None = None
    """The same if every pod of the cluster crashes, as when all depend on one thing; None if all do anyway."""
    limits: tuple[ControlPlaneLimit, ...] = ()
    """What the requested load uses of the control plane."""
    claims: tuple[Claim, ...]
    """The KEPs' own arithmetic, beside the results for a node with these costs."""

    @property
    def requested(self) -> LoadPrediction:
        return self.predictions[-1]


def predictions(load: CrashLoad, costs: Costs, *, before: Curve = DEFAULT_CURVE) -> Predictions:
    """A load, the same with fewer pods, with the curve before, and with every pod of the cluster."""
    steps = (step for step in _STEPS if step < load.pods)
    found = (
        *(predict(msgspec.structs.replace(load, pods=step, one_less_on=0), costs) for step in steps),
        predict(load, costs),
    )
    worst = _all_crash(load)
    return Predictions(
        costs=costs,
        predictions=found,
        today=predict(msgspec.structs.replace(load, curve=before), costs),
        every_pod=None if worst is None else predict(worst, costs),
        limits=limits(found[-1]),
        claims=claims(costs),
    )


def _all_crash(load: CrashLoad) -> CrashLoad | None:
    if load.of_pods is None or load.of_pods * load.cluster_nodes <= load.crashing_pods:
        return None
    return msgspec.structs.replace(load, nodes=load.cluster_nodes, pods=load.of_pods, one_less_on=0)


AT_MOST, ROUGHLY, UNKNOWN = "≤", "~", "–"


def claim_rows(claims: Iterable[Claim]) -> Iterator[tuple[str, ...]]:
    """KEP, number, its value, the result of its own assumptions, the result for a node, unit, contradiction."""
    for each in claims:
        at_most, _ = _bounds(each.is_bound)
        measured = UNKNOWN if each.measured is None else f"{at_most}{figure(each.measured)}"
        numbers = figure(each.said), figure(each.computed), measured
        yield each.kep, each.sentence, *numbers, each.unit, each.contradiction or "none"


def claim_sentences(costs: Costs) -> Iterator[str]:
    """Legend of the columns of the KEPs' numbers."""
    yield "computed: the same number by the KEP's own assumptions."
    yield (
        f"at measured costs: the result for a node of {figure(costs.cores)} cores. Delays are late, the free restart "
        f"counts, the CPU is the limit ({AT_MOST}), and client rate limits merge requests. A pod is alone on its node; "
        "a full node has 110."
    )
    yield costs_in_words(costs)


def rate_rows(found: Predictions) -> Iterator[tuple[str, ...]]:
    """Restarts and lateness: one row per number of pods, one with the curve before, and one if every pod crashes."""
    for name, each in _named(found):
        at_most, roughly = _bounds(each.is_bound)
        rates = (
            f"{at_most}{figure(each.restarts_per_s)}",
            f"{figure(each.at_least_per_s)} to {figure(each.at_most_per_s)}",
        )
        yield name, *rates, each.limit.value, *_lateness(each.lateness_p50_s, each.lateness_p99_s, roughly)


def cost_rows(found: Predictions) -> Iterator[tuple[str, ...]]:
    """Their costs: the same rows."""
    for name, each in _named(found):
        numbers = (
            each.api_requests_per_s,
            each.etcd_writes_per_s,
            each.kubelet_cores,
            each.runtime_cores,
            each.apiserver_cores,
            each.etcd_cores,
        )
        at_most, _ = _bounds(each.is_bound)
        yield name, *(f"{at_most}{figure(number)}" for number in numbers)


def window_rows(found: Predictions) -> Iterator[tuple[str, ...]]:
    """Windows after the start of all pods at once."""
    asked = found.requested
    for each in asked.first:
        at_most, roughly = _bounds(is_at_ceiling(asked, each.restarts_per_s))
        rates = f"{at_most}{figure(each.restarts_per_s)}", f"{at_most}{figure(each.api_requests_per_s)}"
        yield (
            f"{each.from_s:g} to {each.to_s:g} s",
            *rates,
            *_lateness(each.lateness_p50_s, each.lateness_p99_s, roughly),
        )


def sentences(found: Predictions) -> Iterator[str]:
    """The basis of the numbers, the knee, and the official thresholds that are exceeded."""
    asked, costs = found.requested, found.costs
    curve = asked.load.curve
    where = f"{counted(asked.load.nodes, 'node')} of {counted(asked.load.cores, 'core')}"
    if asked.load.nodes < asked.load.cluster_nodes or asked.load.one_less_on:
        each = f"{asked.load.pods - 1} or " if asked.load.one_less_on else ""
        where = f"{where} with {each}{counted(asked.load.pods, 'crashing pod')} each, {asked.load.cluster_nodes:,} nodes in all"
    yield (
        f"A prediction for {where}, curve {curve.initial_s:g} s to {curve.maximum_s:g} s: restarts at the maximum of the curve "
        "with the kubelet's mean jitter, times the cost of one. Lateness (exit to create, minus the due delay) and the "
        "windows after the start of all pods are simulated."
    )
    yield f"Knee: {_knee(asked)}"
    if any(each.is_bound for each in (*found.predictions, found.today)) or any(
        is_at_ceiling(asked, each.restarts_per_s) for each in asked.first
    ):
        yield (
            "Beyond the knee these are no predictions: costs of a restart grow with the load, and requests per restart fall. "
            f"So rates and cores are what the measured CPU allows ({AT_MOST}), and lateness is rough ({ROUGHLY}): part of the "
            "wait follows the create."
        )
    if asked.merges_statuses:
        qps = asked.load.kube_api_qps + asked.load.event_record_qps
        yield (
            f"Each kubelet sends at most {figure(qps)} requests/s (kubeAPIQPS and eventRecordQPS): it merges statuses, delays "
            "or drops events, and restarts containers regardless."
        )
    yield costs_in_words(costs)
    if costs.saturated:
        yield (
            "These costs were measured while the CPU was the limit, so the overhead of a restart on a free CPU is unknown: "
            "half a relist and its CPU time are assumed."
        )
    yield from asked.notes


def costs_in_words(costs: Costs) -> str:
    """The costs of one restart, and their measurement."""
    requests = _within(costs.api_requests, costs.intervals.get("api_requests"), 1)
    return (
        f"Costs of one restart: {requests} API requests ({figure(costs.api_writes)} of them writes), "
        f"{1000 * costs.kubelet_cpu_s:.0f} ms of kubelet CPU, {1000 * costs.runtime_cpu_s:.0f} ms of the runtime's, "
        f"{1000 * costs.apiserver_cpu_s:.0f} ms of the API server's, {1000 * costs.etcd_cpu_s:.0f} ms of etcd's. "
        f"{_sustained(costs)}Measured over {costs.restarts:,} restarts: {costs.source}."
    )


def by_load_rows(costs: Costs) -> Iterator[tuple[str, ...]]:
    """The costs under each measured load, each with its interval where that is known; CPU in ms."""
    for at in costs.by_load:
        cells = (_within(getattr(at, name), at.intervals.get(name), 1 if "api_" in name else 1000) for name in COSTED)
        overhead = UNKNOWN if at.overhead_s is None else _within(at.overhead_s, at.intervals.get("overhead_s"), 1)
        yield f"{figure(at.restarts_per_s)}", f"{at.maximum_s:g} s", f"{at.restarts:,}", *cells, overhead


def _within(value: float, interval: tuple[float, float] | None, times: float) -> str:
    """`6.6 (5.9 to 7.3)`."""
    bounds = "" if interval is None else f" ({figure(times * interval[0])} to {figure(times * interval[1])})"
    return f"{figure(times * value)}{bounds}"


def _sustained(costs: Costs) -> str:
    if costs.sustained_per_s is None:
        return ""
    return f"Sustained at most, with a busy CPU: {figure(costs.sustained_per_s)} restarts/s. "


def figure(value: float) -> str:
    """Three digits, thousands with commas."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def counted(number: float, noun: str) -> str:
    """`1 node`, `5,000 nodes`, `2.5 cores`."""
    return f"{number:,.12g} {noun}{'' if number == 1 else 's'}"


def _named(found: Predictions) -> Iterator[tuple[str, LoadPrediction]]:
    for each in found.predictions:
        yield str(each.load.pods), each
    before = found.today.load
    yield (
        f"{before.pods}, {'default' if before.curve == DEFAULT_CURVE else f'{before.curve.maximum_s:g} s'}",
        found.today,
    )
    if found.every_pod is not None:
        yield f"{found.every_pod.load.pods}, every pod", found.every_pod


def _bounds(is_bound: bool) -> tuple[str, str]:
    return (AT_MOST, ROUGHLY) if is_bound else ("", "")


def _lateness(p50_s: float | None, p99_s: float | None, roughly: str) -> tuple[str, str]:
    p50, p99 = (UNKNOWN if each is None else f"{roughly}{figure(each)}" for each in (p50_s, p99_s))
    return p50, p99


def _knee(asked: LoadPrediction) -> str:
    if asked.limit is Limit.CURVE:
        return f"not reached. From {asked.knee_pods:,.0f} pods per node on the {Limit.NODE_CPU.value} is the limit."
    return (
        f"from {asked.knee_pods:,.0f} pods per node on the {asked.limit.value} is the limit; the curve would allow "
        f"{figure(asked.curve_per_s)} restarts/s, of which {figure(asked.restarts_per_s)} happen."
    )


_INITIAL_S = 10.0
"""The initial delay, unless the maximum is lower: a curve with another one is named in full."""
EXTRAPOLATED = "*"


def fits_sentence(found: Predictions) -> str:
    """Whether the cluster carries the load, and what breaks first: a limit of the control plane, or the CPU of a node."""
    asked, nearest = found.requested, tightest(found.requested)
    of_nodes = f"the CPU of a node ({counted(asked.load.pods, 'crashing pod')})"
    share, first = max((nearest.share or 0.0, nearest.name), (asked.load.pods / asked.knee_pods, of_nodes))
    return f"It {'fits' if share < 1 else 'does not fit'}. First to break: {first}, at {_percent(share)} of what it carries."


def headline(found: Predictions) -> str:
    """One sentence: the change, the restarts, the requests, and the nearest limit of the control plane."""
    now, before = found.requested, found.today
    nearest = tightest(now)
    change = _change(before.load.curve, now.load.curve)
    where = f"{change} on {counted(now.load.cluster_nodes, 'node')} with {_crashing(now.load)}"
    more = now.api_requests_per_s - before.api_requests_per_s
    at_most = f"{AT_MOST} " if now.is_bound else ""
    times = f"{at_most}{figure(now.restarts_per_s / before.restarts_per_s)} x the restarts"
    rates = f"{figure(before.restarts_per_s)} to {at_most}{figure(now.restarts_per_s)} a second"
    requests = f"{more:+,.3g}" if abs(more) < 1000 else f"{more:+,.0f}"
    return f"{where}: {times} ({rates}), {requests} requests/s, {_share(nearest)}."


def every_pod_sentence(found: Predictions) -> Iterator[str]:
    """The worst case, if pods of the cluster are healthy."""
    if found.every_pod is not None:
        worst = found.every_pod
        at_most = f"{AT_MOST} " if worst.is_bound else ""
        yield (
            f"If every pod crashes ({_crashing(worst.load)}): {at_most}{figure(worst.restarts_per_s)} restarts/s, "
            f"{at_most}{figure(worst.api_requests_per_s)} requests/s, {_share(tightest(worst))}."
        )


def limit_rows(found: Predictions) -> Iterator[tuple[str, ...]]:
    """Limit, default, used, share, headroom, how."""
    for each in found.limits:
        mark = EXTRAPOLATED if each.extrapolated else ""
        share, headroom = each.share, each.headroom
        yield (
            each.name,
            UNKNOWN if each.limit is None else f"{figure(each.limit)} {each.unit}",
            f"{figure(each.used)}{mark} {each.unit}",
            UNKNOWN if share is None else _percent(share),
            UNKNOWN if headroom is None else f"{figure(headroom)} x",
            each.how,
        )


def limit_sentences(found: Predictions) -> Iterator[str]:
    """What the rows leave out, and which of them are extrapolated."""
    yield "Limits: only what these restarts add, by the defaults of Kubernetes 1.37; a managed control plane may have others."
    if any(each.extrapolated for each in found.limits):
        yield (
            f"{EXTRAPOLATED} Extrapolated in a straight line, beyond the rate of requests at which costs and durations were "
            "measured: near a limit requests take longer, so the headroom is at best this."
        )


def _change(before: Curve, now: Curve) -> str:
    if now == before:
        return f"A maximum of {_named_limit(now)}"
    if now.maximum_s == before.maximum_s or not (_is_usual(now) and _is_usual(before)):
        return f"Changing the curve from {_in_full(before)} to {_in_full(now)}"
    verb = "Lowering" if now.maximum_s < before.maximum_s else "Raising"
    return f"{verb} {before.maximum_s:g} s to {now.maximum_s:g} s"


def _named_limit(curve: Curve) -> str:
    return f"{curve.maximum_s:g} s" if _is_usual(curve) else _in_full(curve)


def _in_full(curve: Curve) -> str:
    return f"{curve.initial_s:g}-{curve.maximum_s:g} s"


def _is_usual(curve: Curve) -> bool:
    return curve.initial_s == min(_INITIAL_S, curve.maximum_s)


def _crashing(load: CrashLoad) -> str:
    return counted(load.crashing_pods, "crashing pod")


def _share(limit: ControlPlaneLimit) -> str:
    mark = EXTRAPOLATED if limit.extrapolated else ""
    return f"{_percent(limit.share or 0.0)}{mark} of the nearest limit of the control plane ({limit.name})"


def _percent(share: float) -> str:
    return f"{figure(100 * share)} %"
