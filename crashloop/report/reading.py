"""Delays and curves in words: as a text alternative of the plot, and for the line below it."""

from crashloop.report.curves import PlottedCurve
from crashloop.report.delay import ReportedDelay
from crashloop.report.text import seconds


def describe(delay: ReportedDelay) -> str:
    """One delay, such as `restart 2: created after 12.41 s, started after 12.55 s; 10 s was due`."""
    seen = [f"created after {seconds(delay.created_s)} s"] if delay.created_s is not None else []
    seen += [f"started after {seconds(delay.seen_s)} s"] if delay.seen_s is not None else []
    reason = f" ({delay.reason})" if delay.reason else ""
    allowed = f", allowed up to {seconds(delay.latest_s)} s" if delay.latest_s is not None else ""
    also = "".join(f" or {seconds(each.due_s)} to {seconds(each.latest_s)} s" for each in delay.alternatives)
    stalled = f"; the host was stalled for {seconds(delay.stalled_s)} s" if delay.stalled_s > 0 else ""
    return (
        f"restart {delay.restart}: {', '.join(seen) or 'not seen'}; "
        f"{seconds(delay.due_s)} s was due{reason}{allowed}{also}{stalled}"
    )


def summary(curve: PlottedCurve) -> str:
    """Position of a curve's delays in the band."""
    outside = [each for each in curve.delays if each.is_outside]
    seen = [each for each in curve.delays if each.decided_s is not None]
    missing = f"; {len(curve.delays) - len(seen)} not seen" if len(seen) < len(curve.delays) else ""
    if outside:
        excuse = ", by no more than the host was stalled" if all(each.is_excusable for each in outside) else ""
        return f"{len(outside)} of {len(seen)} outside the band{excuse}{missing}"
    used = [share for each in seen if (share := each.lateness_used) is not None]
    lateness = f", lateness up to {max(used) * 100:.0f}\N{NO-BREAK SPACE}% of what is allowed" if used else ""
    inside = {0: "no delay seen", 1: "1 delay, inside the band"}.get(len(seen), f"all {len(seen)} inside the band")
    return f"{inside}{lateness}{missing if seen else ''}"
