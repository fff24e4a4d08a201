"""What each alert does for each recorded loop, and for rollouts that nothing is wrong with."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import mean

import msgspec

from crashloop.alerts.loops import FAMILIES, HEALTHY, CrashLoop, as_promtool, of_loop, of_rollouts
from crashloop.alerts.promtool import Case, Evaluated, Fired, evaluated
from crashloop.alerts.rules import BY_NAME, Rules

ALERTS_FORMAT = "crashloop.alerts/1"
LABELS = {"job": "kube-state-metrics", "namespace": "default"}


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How Prometheus is taken to look at a loop."""

    scrape_s: float = 30.0
    """From scrape to scrape; rules are evaluated as often."""
    until_s: float = 6 * 3600.0
    phases: int = 10
    """Moments of the first scrape, evenly over an interval from the pod's creation on; each has an order of cycles of its own."""
    labels: dict[str, str] = msgspec.field(default_factory=LABELS.copy)
    """Those of every series, beside its own."""

    def moments(self, phase: int) -> list[float]:
        """Times of scrapes since the pod's creation, seconds."""
        first_s = phase * self.scrape_s / self.phases
        return [first_s + number * self.scrape_s for number in range(round(self.until_s / self.scrape_s) + 1)]


class AlertRow(msgspec.Struct, frozen=True, kw_only=True):
    """One alert and one loop."""

    alert: str
    run: str
    scenario: str
    profile: str
    container: str
    maximum_s: float
    cycles: int
    """Recorded at the maximum; the loop is continued by them."""
    cycle_s: float
    shown_s: float
    """For how long one of them shows CrashLoopBackOff, on the average."""
    phases: int
    fired: int
    """In so many phases it fires."""
    first_s: tuple[float, float] | None = None
    """Earliest and latest first firing of those phases, since the pod's creation; None: it never fires."""
    share: float = 0.0
    """Of the time, over all phases, that it fires."""
    unknown: tuple[str, ...] = ()
    """Metrics that it reads and that no recording has: then it is not evaluated."""

    @property
    def text(self) -> str:
        """For a person."""
        if self.unknown:
            return f"not evaluated: reads {', '.join(self.unknown)}"
        if self.first_s is None:
            return "never fires"
        early, late = (f"{each / 60:.1f}" for each in self.first_s)
        when = f"after {early} min" if early == late else f"after {early} to {late} min"
        where = "" if self.fired == self.phases else f" in {self.fired} of {self.phases} phases"
        return f"fires{where} {when}, {100 * self.share:.1f} % of the time"

    def fires_within(self, within_s: float) -> bool:
        """Whether it does so in every phase."""
        return self.fired == self.phases and self.first_s is not None and self.first_s[1] <= within_s


class Alerts(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `crashloop alerts`."""

    format: str = ALERTS_FORMAT
    sampling: Sampling
    rows: tuple[AlertRow, ...]
    healthy: dict[str, int]
    """For so many of `rollouts` pods each alert fires; 1 for one of `of_no_pod`."""
    rollouts: int = HEALTHY
    of_no_pod: tuple[str, ...] = ()
    """Alerts that fire for those pods and have no label `pod`: of how many they speak is not known."""
    left_out: dict[str, int] = {}
    """Restarting containers without a row, by the reason."""

    def fault(self, within_s: float) -> str | None:
        """The first loop that no alert fires for within this time in every phase, or else the first false alarm."""
        loops: dict[tuple[str, str, str], list[AlertRow]] = {}
        for row in self.rows:
            loops.setdefault((row.run, row.scenario, row.container), []).append(row)
        for (_, scenario, _), rows in loops.items():
            if not any(each.fires_within(within_s) for each in rows):
                return f"{scenario} (maximum {rows[0].maximum_s:g} s): no alert fires within {within_s / 60:g} min in every phase"
        return next((self.false_alarm(name) for name, count in self.healthy.items() if count), None)

    def false_alarm(self, alert: str) -> str:
        """What it does for pods that nothing is wrong with."""
        if alert in self.of_no_pod:
            return f"{alert} fires while {self.rollouts} healthy rollouts go on, and names no pod"
        return f"{alert} fires for {self.healthy[alert]} of {self.rollouts} healthy rollouts"


def alerts_of(
    rules: Rules, loops: Sequence[CrashLoop], left_out: Mapping[str, int], sampling: Sampling, promtool: Path
) -> Alerts:
    """Evaluate the rules. Raises what `evaluated` raises."""
    reads = {name: rules.reads(name) for name in rules.alerts}
    unknown = {name: tuple(sorted(each - FAMILIES - {BY_NAME})) for name, each in reads.items()}
    known = [name for name in rules.alerts if not unknown[name]]
    read = set[str]().union(*(reads[name] for name in known))
    families = FAMILIES if BY_NAME in read else FAMILIES & read
    cases = [
        Case(
            loop.scenario,
            as_promtool(of_loop(loop, sampling.labels, at_s=moments, order=_order(loop, phase)), families),
        )
        for loop in loops
        for phase, moments in enumerate(map(sampling.moments, range(sampling.phases)))
    ]
    rollouts = of_rollouts(sampling.labels, at_s=sampling.moments(0), draw=Random(1))
    healthy = as_promtool(rollouts, families)
    results = Evaluated([{}] * len(cases), {})
    if known:
        results = evaluated(
            rules.only(known), cases, healthy, promtool=promtool, scrape_s=sampling.scrape_s, until_s=sampling.until_s
        )
    rows = []
    for name in rules.alerts:
        for number, loop in enumerate(loops):
            own = results.cases[number * sampling.phases : (number + 1) * sampling.phases]
            rows.append(_row(name, loop, [each.get(name) for each in own], sampling, unknown[name]))
    false = {name: results.crowd.get(name, 0) for name in known}
    podless = tuple(name for name in known if name in results.of_no_pod)
    return Alerts(sampling=sampling, rows=tuple(rows), healthy=false, of_no_pod=podless, left_out=dict(left_out))


def _order(loop: CrashLoop, phase: int) -> Random:
    """The same in every evaluation, so that two rules are compared on the same loop."""
    return Random(f"{loop.scenario} {phase}")


def _row(
    alert: str, loop: CrashLoop, phases: Sequence[Fired | None], sampling: Sampling, unknown: tuple[str, ...]
) -> AlertRow:
    moments = [sampling.moments(phase) for phase in range(sampling.phases)]
    firsts = [] if unknown else [at_s[0] + each.first_s for at_s, each in zip(moments, phases, strict=True) if each]
    shares: Iterable[float] = ((each.evaluations if each else 0) / len(moments[0]) for each in phases)
    return AlertRow(
        alert=alert,
        run=loop.run,
        scenario=loop.scenario,
        profile=loop.profile,
        container=loop.container,
        maximum_s=loop.maximum_s,
        cycles=len(loop.cycles),
        cycle_s=round(loop.cycle_s, 2),
        shown_s=round(loop.shown_s, 2),
        phases=sampling.phases,
        fired=len(firsts),
        first_s=(min(firsts), max(firsts)) if firsts else None,
        share=0.0 if unknown else mean(shares),
        unknown=unknown,
    )
