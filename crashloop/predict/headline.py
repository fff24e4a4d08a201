"""The prediction in one sentence, and its limits as rows: what a change of the maximum costs the cluster."""

from collections.abc import Iterator

from crashloop.model.config import Curve
from crashloop.predict.limits import ControlPlaneLimit, tightest
from crashloop.predict.load import CrashLoad
from crashloop.predict.steps import Predictions
from crashloop.predict.text import AT_MOST, UNKNOWN, counted, figure

_INITIAL_S = 10.0
"""The initial delay, unless the maximum is lower: a curve with another one is named in full."""
EXTRAPOLATED = "*"


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
        return f"A maximum of {_named(now)}"
    if now.maximum_s == before.maximum_s or not (_is_usual(now) and _is_usual(before)):
        return f"Changing the curve from {_in_full(before)} to {_in_full(now)}"
    verb = "Lowering" if now.maximum_s < before.maximum_s else "Raising"
    return f"{verb} {before.maximum_s:g} s to {now.maximum_s:g} s"


def _named(curve: Curve) -> str:
    return f"{curve.maximum_s:g} s" if _is_usual(curve) else _in_full(curve)


def _in_full(curve: Curve) -> str:
    return f"{curve.initial_s:g}-{curve.maximum_s:g} s"


def _is_usual(curve: Curve) -> bool:
    return curve.initial_s == min(_INITIAL_S, curve.maximum_s)


def _crashing(load: CrashLoad) -> str:
    return counted(load.nodes * load.pods, "crashing pod")


def _share(limit: ControlPlaneLimit) -> str:
    mark = EXTRAPOLATED if limit.extrapolated else ""
    return f"{_percent(limit.share or 0.0)}{mark} of the nearest limit of the control plane ({limit.name})"


def _percent(share: float) -> str:
    return f"{figure(100 * share)} %"
