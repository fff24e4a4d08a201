"""Arrivals of open models: intended and achieved, reads of canaries among them. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from crashloop.report.stress.results import OpenModel
from crashloop.slo.estimates import percentile_of
from crashloop.slo.indicators import WATCH_LIST
from crashloop.slo.measurements import ApiRead
from crashloop.stress.assignment import READS, UNSERVED, Operation
from crashloop.stress.loads import AnyLoad, Canary, Churn, Demand, Finish, Jobs, OpenLoad
from crashloop.stress.phases import Measurement
from crashloop.stress.pods import arrivals_ns

CREATED_WITHIN_S = 30.0
"""How long a request of a load waits for its answer (load/api.py)."""

_ARRIVES_BY: dict[type, tuple[str, ...]] = {
    Churn: ("create",),
    Finish: ("create",),
    Jobs: ("create",),
    Demand: ("request", "unanswered"),
    Canary: READS,
}


class Asked(NamedTuple):
    """Arrivals of one load that were intended while a stage was measured."""

    load: str
    stage: Measurement
    by_rate: int
    """Arrivals by the rate."""
    logged: int
    """Made, dropped or failed."""
    least: int
    """Arrivals that must have been logged; requests in flight at the end of the stage are not."""


def open_models(
    loads: Mapping[str, AnyLoad], operations: Iterable[Operation], measured: Iterable[Measurement] = ()
) -> tuple[OpenModel, ...]:
    """One per load of an open model. Arrivals by the rate during a measured stage are intended, logged or not."""
    arrivals = _arrivals(loads, operations)
    unlogged: Counter[str] = Counter()
    for each in _asked(loads, arrivals, measured):
        unlogged[each.load] += max(0, each.by_rate - each.logged)
    names = sorted({*arrivals, *(name for name, missing in unlogged.items() if missing)})
    return tuple(_open_model(name, arrivals[name], unlogged[name]) for name in names)


def asked(
    loads: Mapping[str, AnyLoad], operations: Iterable[Operation], measured: Iterable[Measurement]
) -> Iterator[Asked]:
    """Arrivals by the rates of open models in every stage, and the logged ones."""
    return _asked(loads, _arrivals(loads, operations), measured)


def _arrivals(loads: Mapping[str, AnyLoad], operations: Iterable[Operation]) -> defaultdict[str, list[Operation]]:
    found: defaultdict[str, list[Operation]] = defaultdict(list)
    for each in operations:
        load = loads.get(each.load)
        if (
            load is not None
            and each.intended_ns is not None
            and each.what in ("dropped", *_ARRIVES_BY.get(type(load), ()))
        ):
            found[each.load].append(each)
    return found


def _asked(
    loads: Mapping[str, AnyLoad], arrivals: Mapping[str, Sequence[Operation]], measured: Iterable[Measurement]
) -> Iterator[Asked]:
    for stage in measured:
        for name, users in stage.stage.users.items():
            load = loads[name]
            if isinstance(load, OpenLoad):
                yield _asked_of(name, load, int(users), stage, arrivals.get(name, ()))


def _asked_of(name: str, load: OpenLoad, users: int, stage: Measurement, arrivals: Sequence[Operation]) -> Asked:
    from_ns, to_ns = stage.phase.from_ns, stage.phase.to_ns
    intended = sorted(each.intended_ns for each in arrivals if each.intended_ns is not None)
    came_ns = from_ns if stage.came_ns is None else stage.came_ns
    first_ns = next((t_ns for t_ns in intended if t_ns >= came_ns), None)
    # The first arrival is a known time after its user's start; bursts count from that start.
    began_ns = from_ns if first_ns is None else first_ns - next(arrivals_ns(load, 0))
    if not isinstance(load, Demand):  # whose demand begins when its server has started
        began_ns = min(from_ns, began_ns)
    on_its_way_ns = round(1e9 * _answered_within_s(load))
    by_rate = users * _due_in_window(load, began_ns, from_ns, to_ns)
    answered = users * _due_in_window(load, began_ns, from_ns, to_ns - on_its_way_ns)
    return Asked(
        load=name,
        stage=stage,
        by_rate=by_rate,
        logged=sum(1 for t_ns in intended if from_ns <= t_ns < to_ns),
        least=max(answered, by_rate - users * load.in_flight),
    )


def _answered_within_s(load: OpenLoad) -> float:
    if isinstance(load, Demand):
        return 1.0  # it also logs what it gives up
    return load.answer_within_s if isinstance(load, Canary) else CREATED_WITHIN_S


def _due_in_window(load: OpenLoad, began_ns: int, from_ns: int, to_ns: int) -> int:
    """Arrivals of one user that are due in a window, for any phase of the window's start."""
    if isinstance(load, Demand):
        until_end = takewhile(lambda t_ns: t_ns < to_ns, arrivals_ns(load, began_ns))
        return sum(1 for t_ns in until_end if t_ns >= from_ns)
    return max(0, math.floor(load.rate_per_s * max(0.0, (to_ns - from_ns) / 1e9)))


def _open_model(load: str, arrivals: Sequence[Operation], unlogged: int) -> OpenModel:
    sent = [each for each in arrivals if each.what != "dropped"]
    late_s = [(each.sent_ns - (each.intended_ns or 0)) / 1e9 for each in sent]
    return OpenModel(
        load=load,
        intended=len(arrivals) + unlogged,
        made=sum(1 for each in sent if not each.error),
        dropped=len(arrivals) - len(sent),
        failed=sum(1 for each in sent if each.error),
        late_p99_s=round(percentile_of(late_s, 99), 4) if late_s else None,
    )


def reads_of(loads: Mapping[str, AnyLoad], operations: Iterable[Operation]) -> Iterator[ApiRead]:
    """One per intended read; its time counts from the moment at which it was intended.

    One that was dropped, since as many as may wait were waiting, has failed; its kind is not known. A streaming list of an API
    server that serves none has not failed: a LIST took its place.
    """
    for each in operations:
        load = loads.get(each.load)
        if not isinstance(load, Canary):
            continue
        intended_ns = each.sent_ns if each.intended_ns is None else each.intended_ns
        if each.what in READS:
            took_s = (each.sent_ns + each.took_ns - intended_ns) / 1e9
            unserved = each.code if each.what == WATCH_LIST and each.code in UNSERVED else 0
            failed = bool(each.error) and not unserved
            yield ApiRead(kind=each.what, intended_ns=intended_ns, took_s=took_s, failed=failed, unserved=unserved)
        elif each.what == "dropped":
            yield ApiRead(kind="", intended_ns=intended_ns, took_s=load.answer_within_s, failed=True)
