"""How long after a load healthy pods start as fast as before it.

Theory of operation. A load ends when its users are told to stop: that is the end of its phase. The recovery is the create
request of the first healthy pod of the phase after it from which on every one starts within a bound: some times a percentile
of those before the load. Healthy pods come from the start of that phase's users on, before its measurement, but only when the
load's own pods are gone. So the removal of these is part of the time, and a node may have recovered earlier than is seen.
"""

from typing import NamedTuple

import msgspec

from crashloop.errors import ObservationError
from crashloop.slo.estimates import percentile_of
from crashloop.slo.events import SAMPLES, Counted, counted, in_groups
from crashloop.slo.relative import OPEN_S, other_phase
from crashloop.slo.rows import RecoverySli, SloRow
from crashloop.slo.text import number
from crashloop.slo.types import Measured, Phase, SliResult

STARTUP = SAMPLES["pod-startup"]
LEAST_FAST = 5
"""Pods in a row that start within the bound up to the end of the phase; fewer show no recovery."""


class Start(NamedTuple):
    """The start of one pod."""

    asked_s: float
    """When it was asked for, after the end of the load."""
    took_s: float


def recovery(row: SloRow, sli: RecoverySli, measured: Measured, window: Phase) -> SliResult:
    """Seconds; without a recovery those until the last pod that was too slow, if they alone miss the target.

    Raises ObservationError without one of the other phases, without enough pods before the load, and where the pods had not
    recovered when the phase ended but might have within the target.
    """
    load, before = _last(sli.after, measured, window), other_phase(sli.to, measured, window)
    known = _startups(sli, measured, before, OPEN_S).values
    if len(known) < row.min_samples:
        raise ObservationError(
            f"its bound is unknown, since phase {before.label} had {len(known)} of the {row.min_samples} pods needed."
        )
    usual_s = percentile_of(known, sli.percentile)
    bound_s = sli.times * usual_s
    came = msgspec.structs.replace(window, from_ns=window.from_ns if window.came_ns is None else window.came_ns)
    found = _startups(sli, measured, came, bound_s)
    starts = sorted(
        Start((t_ns - load.to_ns) / 1e9, took_s) for t_ns, took_s in zip(found.times_ns, found.values, strict=True)
    )
    slow = [each.asked_s for each in starts if each.took_s > bound_s]
    recovered = recovered_s(starts, bound_s)
    value = recovered if recovered is not None or not slow else slow[-1]
    words = f"{number(bound_s)} s, {sli.times:g} times the p{sli.percentile:g} of phase {before.label}"
    if slow and row.target.keeps(slow[-1]):
        _require_recovered(starts, recovered, words, load)
    return SliResult(
        value=value,
        samples=len(starts),
        compared=_story(starts, recovered, len(slow), words, load),
        from_ns=window.from_ns,
        to_ns=window.to_ns,
    )


def _require_recovered(starts: list[Start], recovered: float | None, words: str, load: Phase) -> None:
    """The last pod that was too slow proves nothing; so the pods after it have to."""
    fast = sum(each.asked_s >= recovered for each in starts) if recovered is not None else 0
    if not fast:
        raise ObservationError(
            f"the last of {len(starts)} pods, {number(starts[-1].asked_s)} s after the end of phase {load.label}, still took "
            f"longer to start than {words}."
        )
    if fast < LEAST_FAST:
        raise ObservationError(
            f"{fast} of {len(starts)} pods, the last ones, started within {words}; {LEAST_FAST} in a row are needed."
        )


def recovered_s(starts: list[Start], bound_s: float) -> float | None:
    """When the first pod was asked for from which on all start within a bound; None if there is none. In order of time."""
    first = None
    for each in reversed(starts):
        if each.took_s > bound_s:
            break
        first = each.asked_s
    return first


def _startups(sli: RecoverySli, measured: Measured, phase: Phase, bound_s: float) -> Counted:
    return counted(STARTUP, in_groups(measured.lifecycles, sli.groups), phase, lambda took_s: took_s <= bound_s)


def _last(name: str, measured: Measured, window: Phase) -> Phase:
    """The last phase of that name before a window."""
    earlier = [each for each in measured.phases if each.name == name and each.to_ns <= window.from_ns]
    if not earlier:
        raise ObservationError(f"the run had no phase {name!r} before it.")
    return max(earlier, key=lambda each: each.to_ns)


def _story(starts: list[Start], recovered: float | None, slow: int, words: str, load: Phase) -> str:
    if not starts:
        return ""
    if recovered is None:
        return (
            f"At that time after the end of phase {load.label} the last pod still took longer to start than {words}; {slow} of "
            f"{len(starts)} pods did."
        )
    return (
        f"It counts from the end of phase {load.label} to the first pod from which on all start within {words}; {slow} of "
        f"{len(starts)} pods took longer, and the first was asked for after {number(starts[0].asked_s)} s."
    )
