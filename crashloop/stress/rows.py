"""The rows that a stress run is judged by: those of its profile, each under the condition that the host was left alone."""

import msgspec

from crashloop.errors import UsageError
from crashloop.measure.files import load_rows
from crashloop.slo.row_faults import unfit
from crashloop.slo.rows import HistogramSli, Precondition, RateSli, SampleSli, SloRow
from crashloop.stress.loads import GROUPS
from crashloop.stress.profile import Slos, StressProfile

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


def fitting_rows(profile: StressProfile) -> tuple[SloRow, ...]:
    """The rows of a profile that is yet to be run.

    Raises UsageError also for a row that looks for a group of pods that no load has, or for a stage that the profile has
    not: nothing could be said of it once the run is over.
    """
    rows, phases = rows_of(profile.slos), dict.fromkeys(stage.name for stage in profile.stages)
    for row in rows:
        for fault in unfit(row, groups=GROUPS, phases=phases):
            raise UsageError(
                f"SLO {row.id!r}: {fault}.\nSeen in {', '.join(profile.slos.files)}, for the stress profile "
                f'"{profile.name}".\nCorrect the row, or leave it out of this profile: slos.without.'
            )
    return rows


def _as_asked(row: SloRow, *, shown: bool) -> SloRow:
    if shown:
        row = msgspec.structs.replace(row, mode="report")
    if isinstance(row.sli, _OF_TIME):
        row = msgspec.structs.replace(row, preconditions=(*row.preconditions, LEFT_ALONE))
    return row
