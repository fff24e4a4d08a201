"""Checkers of what a kubelet does while it has no control plane: it restarts on, and it kills for nothing it cannot know."""

from collections.abc import Iterator

from crashloop.checks.case import Case
from crashloop.checks.delays import judged
from crashloop.checks.evidence import blind_spot, why_it_ended
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.checks.measured_delay import MeasuredDelay, all_delays
from crashloop.checks.outages import Outage, outages
from crashloop.checks.restart_all_triggers import ran, was_killed
from crashloop.checks.text import at_lines, seconds
from crashloop.spec.intervention import InterventionKind

LEAST_AWAY_S = 20.0


def check_delays_while_away(case: Case) -> Checked:
    """Delays that begin while the control plane is away MUST keep both bounds, and each restart due MUST come.

    Needs min_delays delays that are not free and end before it is back.
    """
    found = tuple(outages(case))
    begun = [each for each in all_delays(case) if each.exit and any(one.has(each.exit.utc_ns) for one in found)]

    def ended(delay: MeasuredDelay) -> bool:
        within = delay.window_ns is not None and any(one.has(delay.window_ns[1]) for one in found)
        return within and delay.due.delay_s > 0

    checked = judged(case, begun, counts=ended, rest="without the control plane")
    return Checked(findings=checked.findings, facts=checked.facts | _facts(found))


def check_killed_once_connected(case: Case) -> Checked:
    """A container MUST NOT be killed for a deletion that was requested while its node was cut off, before that ends.

    Needs min_away_s (20) seconds from the deletion to the connection, and the kill after that.
    """
    found = tuple(outages(case))
    done = case.recording.interventions
    requested_ns = [each.t_ns for each in done if each.ok and each.data.action == InterventionKind.DELETE_POD]
    during = [(cut, t_ns) for cut in found for t_ns in requested_ns if cut.has(t_ns)]
    needed_s = case.number("min_away_s", LEAST_AWAY_S)
    findings = [finding for cut, from_ns in during for finding in _kills(case, cut, from_ns)]
    longest_s = max(((cut.to_ns - from_ns) / 1e9 for cut, from_ns in during), default=0.0)
    if not findings and longest_s < needed_s:
        sentence = f"the node was cut off for {seconds(longest_s)} after a deletion, {seconds(needed_s)} needed"
        findings.append(inconclusive(f"{sentence}: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts=_facts(found))


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
