"""Checkers of delays in several scenarios together: as long as each other, or shorter at a stated price in restarts.

Theory of operation. Each delay is judged by the curve of its own node elsewhere. Here two recordings are held against each
other: which delay is due does not matter, only that both waited as long, but for the lateness that each kubelet is allowed.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.model.lateness import START_SHARE_S
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, why_it_ended, why_they_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.restarts.restart import Restart, restarts_of
from crashloop.words import at_lines, count, seconds

MIN_DELAYS = 2
FIRST = "app"
"""The container whose restarts are counted."""


def check_same_delays(cases: Sequence[Case]) -> Checked:
    """Each restart of a container MUST wait as long in each scenario, but for the lateness that kubelets are allowed.

    Needs min_delays (2) restarts after a delay, seen in all scenarios.
    """
    findings: list[Finding] = []
    rows: dict[str, list[dict[str, float]]] = {}
    compared = 0
    for name in _common(cases):
        seen = [
            {each.due.restart: each for each in restarts_of(case, case.pod, name) if each.shortest} for case in cases
        ]
        for restart in sorted(set.intersection(*(set(each) for each in seen))):
            delays = [each[restart] for each in seen]
            rows.setdefault(name, []).append(
                {case.scenario.name: _took_s(each) for case, each in zip(cases, delays, strict=True)}
            )
            compared += min(_took_s(each) for each in delays) > 0 and all(each.due.delay_s > 0 for each in delays)
            for pair in pairwise(zip(cases, delays, strict=True)):
                findings += _differing(*sorted(pair, key=lambda one: _took_s(one[1])))
    needed = int(cases[0].number("min_delays", MIN_DELAYS))
    if compared < needed and not findings:
        few = f"{count(compared, 'delay')} seen in all scenarios, {needed} needed"
        findings.append(inconclusive(f"{few}: {why_they_ended(cases)}."))
    return Checked(findings=tuple(findings), facts={"waited_s": rows})


def _common(cases: Sequence[Case]) -> tuple[str, ...]:
    """Containers that all scenarios have."""
    names = [[each.name for each in case.scenario.pod.containers] for case in cases]
    return tuple(name for name in names[0] if all(name in others for others in names))


def _took_s(delay: Restart) -> float:
    taken = delay.to_create or delay.shortest
    assert taken is not None
    return taken.seconds


def _differing(shorter: tuple[Case, Restart], longer: tuple[Case, Restart]) -> Iterator[Finding]:
    (_, delay), (other, late) = shorter, longer
    allowed_s = max(each.due.latest_s - each.due.delay_s for each in (delay, late))
    allowed_s += 0.0 if delay.to_create and late.to_create else START_SHARE_S
    excess_s = _took_s(late) - _took_s(delay) - allowed_s
    if excess_s <= 0:
        return
    stands_on = [
        (where.scenario.name, each.shortest.lines if each.shortest else ()) for where, each in (shorter, longer)
    ]
    waits = " and ".join(
        f"{seconds(_took_s(each))} in {name} {at_lines(lines)}"
        for (name, lines), each in zip(stands_on, (delay, late), strict=True)
    )
    sentence = f"{delay.name} waited {waits}; lateness explains {seconds(allowed_s)} of the difference."
    doubt = excuse(other, late.window_ns, _took_s(delay), excess_s)
    yield fail_unless(doubt, sentence).at(*stands_on)


def check_added_restarts(cases: Sequence[Case]) -> Checked:
    """The last scenario MUST add no more than `most` restarts to those of the first, within `within_s` of the first start.

    The first is given `slack_s` more, in which its kubelet may be late. Needs both recorded for as long, without a gap.
    """
    base, more = cases[0], cases[-1]
    most, within_s, slack_s = (base.number(name, 0.0) for name in ("most", "within_s", "slack_s"))
    seen = {
        each.scenario.name: _restarts_within(each, for_s)
        for each, for_s in ((base, within_s + slack_s), (more, within_s))
    }
    findings = [finding for _, finding in seen.values() if finding is not None]
    counted = {name: number for name, (number, _) in seen.items() if number is not None}
    if not findings and counted[more.scenario.name] - counted[base.scenario.name] > most:
        sentence = (
            f"{count(counted[more.scenario.name], 'restart')} in {more.scenario.name} within {seconds(within_s)} of the "
            f"first start and {counted[base.scenario.name]} in {base.scenario.name} within {seconds(within_s + slack_s)}; "
            f"{most:g} more are the most."
        )
        held_s = base.recording.host.held_s(base.recording.begin_ns, base.recording.end_ns)
        doubt = f"The host held {base.scenario.name} up for {seconds(held_s)}" if held_s > slack_s / 2 else None
        findings.append(fail_unless(doubt, sentence))
    return Checked(findings=tuple(findings), facts={"restarts": counted})


def _restarts_within(case: Case, for_s: float) -> tuple[int | None, Finding | None]:
    """The restarts seen in the time after the first start, and why there could be more."""
    name, instances = case.scenario.name, ran(case.pod, FIRST)
    first_ns = instances[0].start_ns if instances else None
    if first_ns is None:
        return None, inconclusive(f"in {name} the first start was not seen: {why_it_ended(case)}.")
    end_ns = first_ns + round(for_s * 1e9)
    number = sum(each.start_ns is not None and each.start_ns <= end_ns for each in instances[1:])
    if end_ns > case.recording.end_ns:
        return number, inconclusive(f"{name} was watched for less than {seconds(for_s)}: {why_it_ended(case)}.")
    blind = blind_spot(case, case.pod, instances, first_ns, end_ns)
    if blind is not None:
        return number, inconclusive(f"in {name} restarts could have gone unseen: {blind}.")
    return number, None
