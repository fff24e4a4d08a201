"""The reads of canaries among a load's operations. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from crashloop.slo.indicators import WATCH_LIST
from crashloop.slo.measurements import ApiRead
from crashloop.stress.assignment import READS, UNSERVED, Operation
from crashloop.stress.loads import AnyLoad, Canary


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
