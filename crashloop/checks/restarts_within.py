"""Checker of restart counts: how often a container restarts within a time, between what its curve makes least and most."""

from collections.abc import Iterator

import msgspec

from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.lateness import latest_s
from crashloop.model.restart_counts import START_S, delays_s, restarts_by
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, why_it_ended
from crashloop.restarts.lives import ran
from crashloop.words import count, seconds


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """The restarts of a container up to `within_s` seconds after its first start, and how many are right."""

    within_s: float
    seen: int
    least: int
    most: int

    @property
    def row(self) -> dict[str, float]:
        """As the report shows it."""
        return {"within_s": self.within_s, "seen": self.seen, "least": self.least, "most": self.most}


def check_restarts_within(case: Case) -> Checked:
    """The restarts within each time of within_s MUST lie between the fewest and the most that the curve allows.

    The most comes of delays as due and starts that take no time; the fewest, of delays that end at their latest, starts
    of 3 s and a host that is not held up. Needs a recording of each time in full.
    """
    findings: list[Finding] = []
    rows: dict[str, list[dict[str, float]]] = {}
    for spec in case.scenario.pod.containers:
        if not spec.program.exits:
            continue
        instances = ran(case.pod, spec.name)
        first = instances[0].start if instances else None
        if first is None or first.utc_ns is None:
            findings.append(inconclusive(f'the first start of "{spec.name}" was not seen: {why_it_ended(case)}.'))
            continue
        rows[spec.name] = []
        for within_s in map(float, case.parameters.get("within_s", ())):
            counted = _counted(case, spec.name, instances, first.utc_ns, within_s)
            rows[spec.name].append(counted.row)
            findings += _judged(case, case.pod, spec.name, instances, first, counted)
    if not any(rows.values()) and not findings:
        findings.append(inconclusive("no container that restarts, and no time to count in."))
    return Checked(findings=tuple(findings), facts={"restarts_within": rows})


def _counted(case: Case, container: str, instances: tuple[Instance, ...], first_ns: int, within_s: float) -> Counted:
    end_ns = first_ns + round(within_s * 1e9)
    starts_ns = [each.start_ns for each in instances[1:] if each.start_ns is not None]
    lives_s = [life.run_s for life in case.scenario.pod.container(container).program.each_life()]
    curve, prediction = case.prediction.curve, case.prediction
    slowest_s = (
        latest_s(
            delay_s, prediction.at_first.version, mode=prediction.mode, other_sync_sources=_others(case, container)
        )
        + START_S
        for delay_s in delays_s(curve)
    )
    held_s = case.recording.host.held_s(first_ns, end_ns)
    return Counted(
        within_s=within_s,
        seen=sum(at_ns <= end_ns for at_ns in starts_ns),
        least=restarts_by(map(sum, zip(lives_s, slowest_s, strict=False)), within_s - held_s),
        most=restarts_by(map(sum, zip(lives_s, delays_s(curve), strict=False)), within_s),
    )


def _others(case: Case, container: str) -> bool:
    return case.prediction.containers[container].other_sync_sources


def _judged(
    case: Case, pod: PodHistory, container: str, instances: tuple[Instance, ...], first: Fact, counted: Counted
) -> Iterator[Finding]:
    name, within = f'"{container}"', seconds(counted.within_s)
    restarted = f"{name} restarted {count(counted.seen, 'time')} within {within} of its first start"
    lines = (first.line, *(each.start.line for each in instances[counted.seen : counted.seen + 1] if each.start))
    assert first.utc_ns is not None
    end_ns = first.utc_ns + round(counted.within_s * 1e9)
    blind = blind_spot(case, pod, instances, first.utc_ns, min(end_ns, case.recording.end_ns))
    if counted.seen > counted.most:
        stepped_s = case.recording.clocks.step_within_ns(first.utc_ns, end_ns) / 1e9
        sentence = f"{restarted}; {counted.most} are the most that its curve allows."
        if stepped_s:
            yield inconclusive(f"{sentence} The wall clock jumped by {seconds(stepped_s)} meanwhile.", *lines)
        else:
            yield fail(sentence, *lines)
    elif end_ns > case.recording.end_ns:
        yield inconclusive(f"{name} was watched for less than {within}: {why_it_ended(case)}.")
    elif blind is not None:
        yield inconclusive(f"{restarted}; more could have gone unseen: {blind}.", *lines)
    elif counted.seen < counted.least:
        sentence = f"{restarted}; {counted.least} are the fewest that its curve allows."
        if case.recording.host.covers(first.utc_ns, end_ns):
            yield fail(sentence, *lines)
        else:
            yield inconclusive(f"{sentence} No heartbeat covers that time, so the host may have stood still.", *lines)
