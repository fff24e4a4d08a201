"""The rows for judging a stress run: those of its profile, with the precondition of a host without other load."""

from collections.abc import Iterable

import msgspec

from crashloop.errors import UsageError
from crashloop.measure.files import load_rows
from crashloop.slo.events import SHARES
from crashloop.slo.measurements import Phase
from crashloop.slo.row_faults import unfit
from crashloop.slo.rows import (
    HistogramSli,
    Precondition,
    RateSli,
    ReadSli,
    RecoverySli,
    SampleSli,
    ShareSli,
    SloRow,
)
from crashloop.stress.loads import GROUPS
from crashloop.stress.profile import Slos, StressProfile

MOST_FOREIGN = 0.35
"""Share of the host's CPU that others may use; beyond it figures are theirs."""
LEFT_ALONE = Precondition(fact="foreign_cpu_share", at_most=MOST_FOREIGN)
"""Times and rates on a host with other work are no evidence about the load. The share includes CPU of no process: in a storm
the kernel's own work for starting and ending containers takes up to a fifth of a quiet host."""

_OF_TIME = (HistogramSli, SampleSli, RateSli, ReadSli, RecoverySli)


def rows_of(slos: Slos) -> tuple[SloRow, ...]:
    """The rows of a profile. Raises UsageError for an unknown file or id."""
    rows = load_rows(*slos.files)
    known = {row.id for row in rows}
    for name in (*slos.without, *slos.report):
        if name != "*" and name not in known:
            raise UsageError(f"SLO {name!r}: no row of {', '.join(slos.files)} has that id.")
    shown = known if "*" in slos.report else set(slos.report)
    return tuple(_as_asked(row, shown=row.id in shown) for row in rows if row.id not in slos.without)


def fitting_rows(profile: StressProfile) -> tuple[SloRow, ...]:
    """The rows of a profile before its run.

    Raises UsageError also for a row with a group of pods or a stage that the profile lacks: it could not be judged.
    """
    rows = rows_of(profile.slos)
    phases = [Phase(name=each.name, arm=each.arm, mix=each.mix, from_ns=0, to_ns=0) for each in profile.stages]
    for row in rows:
        for fault in unfit(row, groups=GROUPS, phases=phases, loads=profile.loads):
            raise UsageError(
                f"SLO {row.id!r}: {fault}.\nSeen in {', '.join(profile.slos.files)}, for the stress profile "
                f'"{profile.name}".\nCorrect the row, or leave it out of this profile: slos.without.'
            )
    return rows


def sample_targets(rows: Iterable[SloRow]) -> dict[str, float]:
    """The strictest target on each kind of single event, in seconds, by its name; of manifests/slo where `rows` have none."""
    return _strictest(load_rows()) | _strictest(rows)


def _strictest(rows: Iterable[SloRow]) -> dict[str, float]:
    targets: dict[str, float] = {}
    for row in rows:
        if isinstance(row.sli, SampleSli):
            targets[row.sli.of] = min(row.target.bound, targets.get(row.sli.of, row.target.bound))
    return targets


def _as_asked(row: SloRow, *, shown: bool) -> SloRow:
    if shown:
        row = msgspec.structs.replace(row, mode="report")
    if isinstance(row.figure, _OF_TIME) or (isinstance(row.sli, ShareSli) and SHARES[row.sli.of].of_time):
        row = msgspec.structs.replace(row, preconditions=(*row.preconditions, LEFT_ALONE))
    return row
