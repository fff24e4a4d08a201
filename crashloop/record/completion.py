"""When a scenario's evidence is complete. Pure."""

from crashloop.record.counts import Counts
from crashloop.spec.scenario import Until

SETTLE_S = 35.0
"""How long the statuses may take to show what the runtime has shown, in seconds.

The kubelet looks about once a second (up to 2 s on a busy node) and syncs pod statuses in batches at the latest every 10 s
(syncPeriod, pkg/kubelet/status/status_manager.go@v1.37.1); a slow API server may take up to 30 s
(crashloop.restarts.absences), after which a missing statement is a FAIL. A scenario whose statuses are quicker ends at once.
"""


def missing(until: Until, counts: Counts, age_s: float) -> tuple[str, ...]:
    """What the scenario still waits for, one phrase each; nothing once it is complete."""
    wanted = [
        *(_short(f"restarts of {name!r}", counts.restarts(name), n) for name, n in until.restarts.items()),
        *(_short(f"exits of {name!r}", counts.exits(name), n) for name, n in until.exits.items()),
    ]
    if until.phase is not None and until.phase not in counts.phases:
        seen = ", ".join(sorted(counts.phases)) or "none"
        wanted.append(f"phase {until.phase} (seen: {seen})")
    if age_s < until.at_least_s:
        wanted.append(f"{until.at_least_s:g} s since the pod was created ({age_s:.0f} s so far)")
    return tuple(filter(None, wanted))


def is_reported(until: Until, counts: Counts) -> bool:
    """Whether the statuses show everything that completes the scenario."""
    return all(counts.reported_restarts(name) >= n for name, n in until.restarts.items()) and all(
        counts.reported_exits(name) >= n for name, n in until.exits.items()
    )


def _short(what: str, seen: int, wanted: int) -> str:
    return f"{what}: {seen} of {wanted}" if seen < wanted else ""
