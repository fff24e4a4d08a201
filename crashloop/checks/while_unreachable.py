"""Checkers of what a kubelet does while it has no control plane: it restarts on, and it kills for nothing it cannot know."""

from collections.abc import Iterator

from crashloop.checks.checker import Need, Seen, checker
from crashloop.checks.delays import MIN_DELAYS, is_delayed, judged
from crashloop.checks.finding import Finding, fail, inconclusive
from crashloop.restarts.absences import Outage, outages
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, why_it_ended
from crashloop.restarts.lives import ran, was_killed
from crashloop.restarts.restart import Restart, restarts
from crashloop.spec.intervention import InterventionKind
from crashloop.words import at_lines, seconds

LEAST_AWAY_S = 20.0


@checker("delays-while-away", Need("delays", MIN_DELAYS, "delay", "without the control plane", is_shown=False))
def check_delays_while_away(case: Case, seen: Seen) -> Iterator[Finding]:
    """Delays that begin while the control plane is away MUST keep both bounds, and each restart due MUST come.

    Counted are those that end before it is back.
    """
    found = tuple(outages(case))
    begun = [each for each in restarts(case) if each.exit and any(one.has(each.exit.utc_ns) for one in found)]

    def ended(each: Restart) -> bool:
        within = each.window_ns is not None and any(one.has(each.window_ns[1]) for one in found)
        return within and is_delayed(each)

    seen.facts |= _facts(found)
    yield from judged(case, seen, begun, counts=ended)


@checker("killed-once-connected", "min_away_s (20) seconds from a deletion to the connection, and the kill after that")
def check_killed_once_connected(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container MUST NOT be killed for a deletion that was requested while its node was cut off, before that ends."""
    found = tuple(outages(case))
    done = case.recording.interventions
    requested_ns = [each.t_ns for each in done if each.ok and each.data.action == InterventionKind.DELETE_POD]
    during = [(cut, t_ns) for cut in found for t_ns in requested_ns if cut.has(t_ns)]
    needed_s = case.number("min_away_s", LEAST_AWAY_S)
    findings = [finding for cut, from_ns in during for finding in _kills(case, cut, from_ns)]
    longest_s = max(((cut.to_ns - from_ns) / 1e9 for cut, from_ns in during), default=0.0)
    seen.facts |= _facts(found)
    yield from findings
    if not findings and longest_s < needed_s:
        sentence = f"the node was cut off for {seconds(longest_s)} after a deletion, {seconds(needed_s)} needed"
        yield inconclusive(f"{sentence}: {why_it_ended(case)}.")


def _facts(found: tuple[Outage, ...]) -> dict[str, list[float]]:
    return {"without_control_plane_s": [round(each.length_s, 3) for each in found]}


def _kills(case: Case, cut: Outage, from_ns: int) -> Iterator[Finding]:
    """A kill of each container from the deletion to the connection, or none after it."""
    for spec in case.scenario.pod.containers:
        instances = ran(case.pod, spec.name)
        kills = [each.exit for n, each in enumerate(instances) if each.exit and was_killed(case, spec.name, n, each)]
        early = next((each for each in kills if from_ns <= (each.utc_ns or 0) <= cut.to_ns), None)
        blind = blind_spot(case, case.pod, instances, from_ns, cut.to_ns)
        if early is not None:
            after_s = ((early.utc_ns or 0) - from_ns) / 1e9
            sentence = f'"{spec.name}" was killed {seconds(after_s)} after the deletion {at_lines([early.line])}'
            yield fail(f"{sentence}; its node was cut off and could not know of it.", cut.line, early.line)
        elif blind is not None:
            yield inconclusive(f'a kill of "{spec.name}" could have gone unseen: {blind}.', cut.line)
        elif not any((each.utc_ns or 0) > cut.to_ns for each in kills):
            sentence = f'no kill of "{spec.name}" was seen after its node was connected again'
            yield inconclusive(f"{sentence}: {why_it_ended(case)}.", cut.line)
