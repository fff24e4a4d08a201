"""Open models: how many arrivals were intended, and what became of them. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from crashloop.report.stress_results import OpenModel, Series
from crashloop.slo.estimates import percentile_of
from crashloop.stress.loads import AnyLoad, Churn, Demand, Jobs
from crashloop.stress.order import Operation

BIN_S = 5.0

_ARRIVES_BY: dict[type, str] = {Churn: "create", Jobs: "create", Demand: "request"}


def open_models(loads: Mapping[str, AnyLoad], operations: Iterable[Operation]) -> tuple[OpenModel, ...]:
    """One for each load of an open model that had any arrival."""
    arrivals: defaultdict[str, list[Operation]] = defaultdict(list)
    for each in operations:
        load = loads.get(each.load)
        if load is not None and each.intended_ns is not None and each.what in ("dropped", _ARRIVES_BY.get(type(load))):
            arrivals[each.load].append(each)
    return tuple(_model(name, found) for name, found in sorted(arrivals.items()))


def answers(
    loads: Mapping[str, AnyLoad], operations: Iterable[Operation], *, began_ns: int, ended_ns: int
) -> tuple[Series, ...]:
    """Requests to servers along time, by what became of them; seconds since the load began."""
    sent_s: defaultdict[str, list[float]] = defaultdict(list)
    for each in operations:
        if each.what == "request" and isinstance(loads.get(each.load), Demand):
            sent_s["failed" if each.error else "answered"].append((each.sent_ns - began_ns) / 1e9)
    edges = np.arange(0.0, (ended_ns - began_ns) / 1e9 + BIN_S, BIN_S)
    return tuple(
        Series(
            name=f"answers: {kind}",
            unit="requests/s",
            points=tuple(
                zip((edges[:-1] + BIN_S / 2).tolist(), (np.histogram(times, edges)[0] / BIN_S).tolist(), strict=True)
            ),
        )
        for kind, times in sorted(sent_s.items())
    )


def _model(load: str, arrivals: list[Operation]) -> OpenModel:
    sent = [each for each in arrivals if each.what != "dropped"]
    late_s = [(each.sent_ns - (each.intended_ns or 0)) / 1e9 for each in sent]
    return OpenModel(
        load=load,
        intended=len(arrivals),
        made=sum(1 for each in sent if not each.error),
        dropped=len(arrivals) - len(sent),
        failed=sum(1 for each in sent if each.error),
        late_p99_s=round(percentile_of(late_s, 99), 4) if late_s else None,
    )
