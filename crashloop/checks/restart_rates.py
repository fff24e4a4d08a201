"""Checkers of restart rates: how many restarts a curve makes in a time, in one recording, beside another curve, and in a text."""

from collections.abc import Iterator, Sequence

import msgspec

from crashloop.checks.checker import Holds, Need, Seen, checker
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.stamps import Fact
from crashloop.model.lateness import latest_s
from crashloop.model.restart_counts import START_S, computed_figure, delays_s, restarts_by
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, why_it_ended
from crashloop.restarts.lives import ran
from crashloop.spec.scenario import TextScenario
from crashloop.words import count, seconds

COUNTED = "app"
"""The container whose restarts are counted where scenarios are compared."""


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


@checker(
    "restarts-within",
    Need("times", 1, "count", "of restarts in a time", is_shown=False),
    "a recording of each time of within_s in full",
    holds=Holds.DECLARED,
)
def check_restarts_within(case: Case, seen: Seen) -> Iterator[Finding]:
    """The restarts within each time of within_s MUST lie between the fewest and the most that the curve allows.

    The most comes of delays as due and starts that take no time; the fewest, of delays that end at their latest, starts
    of 3 s and a host that is not held up.
    """
    rows = seen.facts["restarts_within"] = {}
    for spec in case.scenario.pod.containers:
        if not spec.program.exits:
            continue
        instances = ran(case.pod, spec.name)
        first = instances[0].start if instances else None
        if first is None or first.utc_ns is None:
            yield inconclusive(f'the first start of "{spec.name}" was not seen: {why_it_ended(case)}.')
            continue
        rows[spec.name] = []
        for within_s in map(float, case.parameters.get("within_s", ())):
            counted = _counted(case, spec.name, instances, first.utc_ns, within_s)
            seen["times"] += 1
            rows[spec.name].append(counted.row)
            yield from _wrong_count(case, spec.name, instances, first, counted)


def _counted(case: Case, container: str, instances: tuple[Instance, ...], first_ns: int, within_s: float) -> Counted:
    end_ns = first_ns + round(within_s * 1e9)
    starts_ns = [each.start_ns for each in instances[1:] if each.start_ns is not None]
    lives_s = [life.run_s for life in case.scenario.pod.container(container).program.each_life()]
    prediction = case.prediction
    others, version = prediction.containers[container].other_sync_sources, prediction.at_first.version
    slowest_s = (
        latest_s(delay_s, version, mode=prediction.mode, other_sync_sources=others) + START_S
        for delay_s in delays_s(prediction.curve)
    )
    held_s = case.recording.host.held_s(first_ns, end_ns)
    return Counted(
        within_s=within_s,
        seen=sum(at_ns <= end_ns for at_ns in starts_ns),
        least=restarts_by(map(sum, zip(lives_s, slowest_s, strict=False)), within_s - held_s),
        most=restarts_by(map(sum, zip(lives_s, delays_s(prediction.curve), strict=False)), within_s),
    )


def _wrong_count(
    case: Case, container: str, instances: tuple[Instance, ...], first: Fact, counted: Counted
) -> Iterator[Finding]:
    name, within = f'"{container}"', seconds(counted.within_s)
    restarted = f"{name} restarted {count(counted.seen, 'time')} within {within} of its first start"
    lines = (first.line, *(each.start.line for each in instances[counted.seen : counted.seen + 1] if each.start))
    assert first.utc_ns is not None
    end_ns = first.utc_ns + round(counted.within_s * 1e9)
    blind = blind_spot(case, case.pod, instances, first.utc_ns, min(end_ns, case.recording.end_ns))
    if counted.seen > counted.most:
        stepped_s = case.recording.clocks.step_within_ns(first.utc_ns, end_ns) / 1e9
        jumped = f"The wall clock jumped by {seconds(stepped_s)} meanwhile" if stepped_s else None
        yield fail_unless(jumped, f"{restarted}; {counted.most} are the most that its curve allows.", *lines)
    elif end_ns > case.recording.end_ns:
        yield inconclusive(f"{name} was watched for less than {within}: {why_it_ended(case)}.")
    elif blind is not None:
        yield inconclusive(f"{restarted}; more could have gone unseen: {blind}.", *lines)
    elif counted.seen < counted.least:
        is_covered = case.recording.host.covers(first.utc_ns, end_ns)
        doubt = None if is_covered else "No heartbeat covers that time, so the host may have stood still"
        yield fail_unless(doubt, f"{restarted}; {counted.least} are the fewest that its curve allows.", *lines)


@checker(
    "added-restarts",
    "both scenarios recorded for as long, without a gap",
    compares=True,
    holds=Holds.DECLARED,
)
def check_added_restarts(cases: Sequence[Case], seen: Seen) -> Iterator[Finding]:
    """The last scenario MUST add no more than `most` restarts to those of the first, within `within_s` of the first start.

    The first is given `slack_s` more, in which its kubelet may be late.
    """
    base, more = cases[0], cases[-1]
    most, within_s, slack_s = (base.number(name, 0.0) for name in ("most", "within_s", "slack_s"))
    counts = {
        each.scenario.name: _restarts_after_start(each, for_s)
        for each, for_s in ((base, within_s + slack_s), (more, within_s))
    }
    restarts = {name: number for name, (number, _) in counts.items() if number is not None}
    doubts = [doubt for _, doubt in counts.values() if doubt is not None]
    seen.facts["restarts"] = restarts
    yield from map(inconclusive, doubts)
    if not doubts and restarts[more.scenario.name] - restarts[base.scenario.name] > most:
        sentence = (
            f"{count(restarts[more.scenario.name], 'restart')} in {more.scenario.name} within {seconds(within_s)} of the "
            f"first start and {restarts[base.scenario.name]} in {base.scenario.name} within {seconds(within_s + slack_s)}; "
            f"{most:g} more are the most."
        )
        held_s = base.recording.host.held_s(base.recording.begin_ns, base.recording.end_ns)
        held = f"The host held {base.scenario.name} up for {seconds(held_s)}" if held_s > slack_s / 2 else None
        yield fail_unless(held, sentence)


def _restarts_after_start(case: Case, for_s: float) -> tuple[int | None, str | None]:
    """The restarts seen in the time after the first start, and why there could be more."""
    name, instances = case.scenario.name, ran(case.pod, COUNTED)
    first_ns = instances[0].start_ns if instances else None
    if first_ns is None:
        return None, f"in {name} the first start was not seen: {why_it_ended(case)}."
    end_ns = first_ns + round(for_s * 1e9)
    number = sum(each.start_ns is not None and each.start_ns <= end_ns for each in instances[1:])
    if end_ns > case.recording.end_ns:
        return number, f"{name} was watched for less than {seconds(for_s)}: {why_it_ended(case)}."
    blind = blind_spot(case, case.pod, instances, first_ns, end_ns)
    return number, None if blind is None else f"in {name} restarts could have gone unseen: {blind}."


class TextCase(msgspec.Struct, frozen=True, kw_only=True):
    """The claims of a text."""

    scenario: TextScenario


@checker("sums", "nothing: it objects to the text itself", reads=TextScenario, holds=Holds.DECLARED)
def check_sums(case: TextCase, seen: Seen) -> Iterator[Finding]:
    """Each number that a text names MUST follow from its own assumptions."""
    sums = [(each, computed_figure(each)) for each in case.scenario.claims]
    seen.facts["sums"] = {claim.says: value for claim, value in sums}
    for claim, value in sums:
        if not claim.least <= value <= claim.most:
            yield fail(f"{claim.says}; its own assumptions make it {value:g}.")
