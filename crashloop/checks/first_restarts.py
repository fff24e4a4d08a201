"""Checker of many first restarts together: a single one may wait for the kubelet's next look, or for the host.

Theory of operation. A first restart has no delay, but waits until a relist finds the exit. An exit comes at any moment
between two relists, so of n first restarts some wait hardly at all, and the fastest tenth has a bound far below a period:
chance exceeds it once in ten thousand times. A stall holds up some restarts and leaves the others; only what holds up nine
in ten moves the fastest tenth. On a host with crash loops somebody always waits for a CPU; that is an excuse only beyond its
usual share of the recording, as are missed beats, slow control containers and I/O pressure.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crashloop.checks.chance import CHANCE, fewer_than
from crashloop.checks.delays import first_restarts
from crashloop.checks.evidence import too_few_in_all
from crashloop.checks.finding import Checked, Finding, fail_unless
from crashloop.checks.mean_lateness import ESTIMATE
from crashloop.history.host import HostRecord
from crashloop.model.lateness import RELIST_S
from crashloop.restarts.case import Case
from crashloop.spec.pod import ContainerKind
from crashloop.words import seconds

MIN_RESTARTS = 9
OWN_S = 0.35
"""The time of relist, sync and create. The fastest tenth of 22 took 0.12 s to 0.34 s in runs on a calm or busy host, 0.55 s
beside disk load, of 0.77 s with it."""


class FirstRestart(NamedTuple):
    """A first restart: seconds from the exit to the create, and those for which the host is not shown to have held it up."""

    late_s: float
    unheld_s: float
    scenario: str
    lines: tuple[int, ...]


def check_first_restarts(cases: Sequence[Case]) -> Checked:
    """The fastest tenth of first restarts MUST be created as soon as relists allow. Needs min_restarts (9) creates."""
    restarts = sorted(_first_restarts(cases))
    few = tuple(too_few_in_all(cases, len(restarts), "min_restarts", MIN_RESTARTS, "first restart"))
    if few:
        return Checked(findings=few)
    rank = max(1, len(restarts) // 10)
    most_s = latest_of_fastest_s(rank, len(restarts))
    slowest = restarts[rank - 1]
    facts = {
        ESTIMATE: f"the fastest tenth of {len(restarts)} first restarts within {seconds(slowest.late_s)}",
        "value": slowest.late_s,
        "most": most_s,
    }
    findings = () if slowest.late_s <= most_s else (_late(restarts, rank, most_s),)
    return Checked(findings=findings, facts=facts)


def latest_of_fastest_s(rank: int, of: int) -> float:
    """Seconds from its exit by which the `rank`-th fastest of so many first restarts is created, but for `CHANCE`."""
    return RELIST_S * _share_for(rank, of) + OWN_S


def _share_for(rank: int, of: int) -> float:
    """The share of a period in which, but for `CHANCE`, at least `rank` of so many random moments lie; by bisection."""
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        low, high = (share, high) if fewer_than(rank, of, share) > CHANCE else (low, share)
    return high


def _first_restarts(cases: Sequence[Case]) -> Iterator[FirstRestart]:
    for case in cases:
        host = case.recording.host
        # Kinds are not mixed: prompt restarts of the application would hide late ones of an init container.
        judged = {each.name for each in case.scenario.pod.of_kind(ContainerKind.INIT) or case.scenario.pod.containers}
        for each in first_restarts(case):
            if each.container in judged and each.to_create is not None and each.window_ns is not None:
                late_s = each.to_create.seconds
                held_s = _held_s(host, *each.window_ns)
                yield FirstRestart(late_s, max(late_s - held_s, 0.0), case.scenario.name, tuple(each.to_create.lines))


def _held_s(host: HostRecord, from_ns: int, to_ns: int) -> float:
    if not host.covers(from_ns, to_ns):
        return (to_ns - from_ns) / 1e9
    return host.held(from_ns, to_ns).but_cpu_s + host.unusual_wait_s(from_ns, to_ns)


def _late(restarts: Sequence[FirstRestart], rank: int, most_s: float) -> Finding:
    fastest = restarts[:rank]
    unheld_s = sorted(each.unheld_s for each in restarts)[rank - 1]
    doubt = None if unheld_s > most_s else "Stalls that the recordings show explain it"
    seen = (
        f"the fastest tenth of {len(restarts)} first restarts, which have no delay, took up to {seconds(fastest[-1].late_s)} "
        f"from exit to create; {seconds(most_s)} is the most for a kubelet that looks once a second."
    )
    return fail_unless(doubt, seen).at(*((each.scenario, each.lines) for each in fastest))
