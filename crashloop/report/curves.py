"""Curves: the delays of one container beside the due ones, from the facts of verdicts."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from crashloop.report.delay import ReportedDelay
from crashloop.report.kinds import CAPTIONS
from crashloop.report.standing import Standing, worst_standing
from crashloop.spec.plan import Plan
from crashloop.verdict import COMPARED, Verdict

DELAYS = "delays"
"""Key of `Verdict.facts`; its rows are Delays, with the container's name."""


class PlottedCurve(msgspec.Struct, frozen=True, kw_only=True):
    """All delays of one container of one scenario; in a recreated pod the restarts count from 1 again."""

    scenario: str
    container: str
    profile: str
    mode: str = ""
    """natural or annotated; empty for a scenario that the plan lacks."""
    standing: Standing
    """The worst of the verdicts on these delays."""
    requirements: tuple[str, ...]
    """Ids of the requirements judged on them."""
    delays: tuple[ReportedDelay, ...]


def curves_of(verdicts: Iterable[Verdict], plan: Plan) -> tuple[PlottedCurve, ...]:
    """One curve per scenario and container, in the order of profiles in the plan.

    Several requirements are judged on the same delays. If their expectations differ, the plot shows that of the worst
    verdict.
    Raises msgspec.ValidationError if a row is no Delay.
    """
    judged: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    drawn: dict[tuple[str, str], dict[tuple[int, int], ReportedDelay]] = defaultdict(dict)
    for verdict in sorted(verdicts, key=lambda verdict: Standing.of(verdict).rank):
        for scenario, container, pod, delay in _delays(verdict):
            key = scenario, container
            drawn[key].setdefault((pod, delay.restart), delay)
            if verdict not in judged[key]:
                judged[key].append(verdict)
    profiles = {profile.name: position for position, profile in enumerate(plan.profiles)}
    curves = [_curve(key, judged[key], drawn[key], plan) for key in drawn]
    return tuple(
        sorted(curves, key=lambda each: (profiles.get(each.profile, len(profiles)), each.scenario, each.container))
    )


def facts_of(verdict: Verdict) -> dict[str, dict[str, Any]]:
    """The facts by scenario: of the one that was judged, or of each that was compared."""
    return msgspec.convert(verdict.facts.get(COMPARED) or {verdict.scenario: verdict.facts}, dict[str, dict[str, Any]])


def _delays(verdict: Verdict) -> Iterator[tuple[str, str, int, ReportedDelay]]:
    """Scenario, container, pod (0 for the first; a restart that appears again belongs to the next) and delay."""
    for scenario, facts in facts_of(verdict).items():
        seen: Counter[tuple[str, int]] = Counter()
        for row in msgspec.convert(facts.get(DELAYS, []), list[dict[str, Any]]):
            delay = msgspec.convert(_finite(row), ReportedDelay)
            container = msgspec.convert(row.get("container"), str)
            yield scenario, container, seen[container, delay.restart], delay
            seen[container, delay.restart] += 1


def _finite(value: Any) -> Any:
    """No bound is infinity in a verdict that was just made, and null in one that was read from results.json."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _curve(
    key: tuple[str, str], verdicts: list[Verdict], delays: dict[tuple[int, int], ReportedDelay], plan: Plan
) -> PlottedCurve:
    scenario, container = key
    planned = {each.name: each for each in plan.scenarios}.get(scenario)
    return PlottedCurve(
        scenario=scenario,
        container=container,
        profile=planned.subject if planned is not None else verdicts[0].profile,
        mode=CAPTIONS[type(planned)](planned) if planned is not None else "",
        standing=worst_standing(verdicts),
        requirements=tuple(dict.fromkeys(verdict.requirement for verdict in verdicts)),
        delays=tuple(delays[place] for place in sorted(delays)),
    )
