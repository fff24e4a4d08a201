"""The rows that a stress run is judged by: those of its profile, each under the condition that the host was left alone."""

import msgspec

from crashloop.errors import UsageError
from crashloop.measure.files import load_rows
from crashloop.slo.rows import HistogramSli, Precondition, RateSli, SampleSli, SloRow
from crashloop.stress.profile import Slos

LEFT_ALONE = Precondition(fact="foreign_cpu_share", at_most=0.35)
"""Times and rates of a host that works on something else say nothing about the load. The share holds what no process
accounts for, too: the kernel's own work for containers that come and go takes up to a fifth of a calm host in a storm."""

_OF_TIME = (HistogramSli, SampleSli, RateSli)


def rows_of(slos: Slos) -> tuple[SloRow, ...]:
    """The rows that a profile asks for. Raises UsageError for a file or an id that there is not."""
    rows = load_rows(*slos.files)
    known = {row.id for row in rows}
    for name in (*slos.without, *slos.report):
        if name != "*" and name not in known:
            raise UsageError(f"SLO {name!r}: no row of {', '.join(slos.files)} has that id.")
    shown = known if "*" in slos.report else set(slos.report)
    return tuple(_as_asked(row, shown=row.id in shown) for row in rows if row.id not in slos.without)


def _as_asked(row: SloRow, *, shown: bool) -> SloRow:
    if shown:
        row = msgspec.structs.replace(row, mode="report")
    if isinstance(row.sli, _OF_TIME):
        row = msgspec.structs.replace(row, preconditions=(*row.preconditions, LEFT_ALONE))
    return row
