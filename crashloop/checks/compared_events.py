"""Checkers of exits and starts in several scenarios together: the same restarts, and the same order."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from crashloop.checks.decisions import DecidedExit, exits_of
from crashloop.checks.delays import missing_restart
from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.history.stamps import Fact
from crashloop.model.restart import Decision
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import watched_s, why_it_ended, why_they_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.verdict import Outcome
from crashloop.words import at_lines, count

MIN_EXITS = 1
MIN_EVENTS = 4
APART_S = 0.05
"""Events closer than this have no order. What one waits for takes a relist and a sync of the kubelet, so it comes later."""


def check_same_decisions(cases: Sequence[Case]) -> Checked:
    """Each exit of a container MUST be followed by a restart in all scenarios, or in none.

    Needs min_exits (1) exits of each container in all scenarios, and after an exit without a restart a watch that is longer
    than the delay due in it, and than the host is shown to have held the restart up.
    """
    findings: list[Finding] = []
    facts: dict[str, list[str]] = {}
    for spec in cases[0].scenario.pod.containers:
        exits = [tuple(exits_of(case, case.pod, spec.name)) for case in cases]
        facts[spec.name] = [f"{each.instance.exit_code}: {_followed(each)}" for each in min(exits, key=len)]
        for alike in zip(*exits, strict=False):
            for pair in pairwise(zip(cases, alike, strict=True)):
                findings += _decided_otherwise(*pair)
        fewest = min(map(len, exits))
        needed = min(int(cases[0].number("min_exits", MIN_EXITS)), spec.program.exits)
        if fewest < needed:
            few = f'{count(fewest, "exit")} of "{spec.name}" in all, {needed} needed'
            findings.append(inconclusive(f"{few}: {why_they_ended(cases)}."))
    return Checked(findings=tuple(findings), facts={"decisions": facts})


def _followed(each: DecidedExit) -> str:
    return "restarted" if each.following is not None else "not restarted"


def _decided_otherwise(one: tuple[Case, DecidedExit], other: tuple[Case, DecidedExit]) -> Iterator[Finding]:
    outcomes = " and ".join(
        f"{_followed(each)} in {case.scenario.name} {at_lines([each.line])}" for case, each in (one, other)
    )
    stands_on = [(case.scenario.name, (each.line,)) for case, each in (one, other)]
    (_, first), (_, second) = one, other
    if first.instance.exit_code != second.instance.exit_code:
        sentence = f'exit {first.number + 1} of "{first.container}" had code {first.instance.exit_code} in one scenario'
        also = f"and {second.instance.exit_code} in another; the scenarios were not carried out alike."
        yield inconclusive(f"{sentence} {also}").at(*stands_on)
        return
    if (first.following is None) == (second.following is None):
        return
    stopped_case, stopped = one if first.following is None else other
    sentence = f'exit {first.number + 1} of "{first.container}", with {first.instance.exit_code}, was {outcomes}.'
    yield fail_unless(_may_still_come(stopped_case, stopped), sentence).at(*stands_on)


def _may_still_come(case: Case, stopped: DecidedExit) -> str | None:
    """Why no restart was seen though the kubelet may have decided on one; None if it decided against it."""
    delay = stopped.delay
    if stopped.decided.decision is Decision.STOP or delay is None:
        latest_s = delay.due.latest_s if delay else 0.0
        return None if watched_s(case.recording, stopped.instance.exit) > latest_s else _too_short(case)
    missing = missing_restart(case, delay, stopped.decided.step)
    if missing is None:
        return _too_short(case)
    return None if missing.outcome is Outcome.FAIL else f"In {case.scenario.name} {missing.sentence.removesuffix('.')}"


def _too_short(case: Case) -> str:
    return f"That watch was too short: {why_it_ended(case)}"


def check_same_order(cases: Sequence[Case]) -> Checked:
    """Starts and exits of all containers MUST come in the same order in each scenario, where they are 0.05 s apart or more.

    A start counts from the creation of its container, which is the kubelet's decision; what follows is the runtime's time.
    Needs min_events (4) starts and exits that all scenarios have.
    """
    seen = [dict(_events(case)) for case in cases]
    common = [key for key in seen[0] if all(key in each for each in seen)]
    findings = [
        finding
        for one, other in combinations(common, 2)
        for (case, events), (beside, there) in pairwise(zip(cases, seen, strict=True))
        for finding in _swapped(one, other, (case, events), (beside, there))
    ]
    needed = int(cases[0].number("min_events", MIN_EVENTS))
    if len(common) < needed and not findings:
        few = f"{count(len(common), 'start or exit')} in all scenarios, {needed} needed"
        findings.append(inconclusive(f"{few}: {why_they_ended(cases)}."))
    order = sorted(common, key=lambda key: seen[0][key].utc_ns or 0)
    return Checked(findings=tuple(findings), facts={"order": [_name(key) for key in order]})


Key = tuple[str, int, str]
"""Container, number of its instance, and start or exit."""


def _events(case: Case) -> Iterator[tuple[Key, Fact]]:
    for spec in case.scenario.pod.containers:
        for number, each in enumerate(ran(case.pod, spec.name)):
            for what, fact in (("start", each.begun), ("exit", each.exit)):
                if fact is not None and fact.utc_ns is not None:
                    yield (spec.name, number, what), fact


def _name(key: Key) -> str:
    container, number, what = key
    return f'{what} {number + 1} of "{container}"'


def _swapped(
    one: Key, other: Key, here: tuple[Case, dict[Key, Fact]], there: tuple[Case, dict[Key, Fact]]
) -> Iterator[Finding]:
    apart_s = [((events[other].utc_ns or 0) - (events[one].utc_ns or 0)) / 1e9 for _, events in (here, there)]
    if min(apart_s) > -APART_S or max(apart_s) < APART_S:
        return
    stands_on = [(case.scenario.name, (events[one].line, events[other].line)) for case, events in (here, there)]
    (first, first_lines), (second, second_lines) = stands_on
    before, after = (one, other) if apart_s[0] > 0 else (other, one)
    sentence = (
        f"{_name(before)} came before {_name(after)} in {first} {at_lines(first_lines)} "
        f"and after it in {second} {at_lines(second_lines)}."
    )
    doubt = _held_up(one, other, *here) or _held_up(one, other, *there)
    yield fail_unless(doubt, sentence).at(*stands_on)


def _held_up(one: Key, other: Key, case: Case, events: dict[Key, Fact]) -> str | None:
    """Why two events of a scenario may have changed places: programs run on while the host holds the kubelet up."""
    first_ns, last_ns = sorted(events[each].utc_ns or 0 for each in (one, other))
    doubt = excuse(case, (case.recording.begin_ns, last_ns), 0.0, (last_ns - first_ns) / 1e9)
    return None if doubt is None else f"{doubt}, in {case.scenario.name}"
