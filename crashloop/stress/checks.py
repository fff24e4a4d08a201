"""What a stress run is judged by besides the rows of manifests/slo: whether it was the run that was planned, whether
everything was seen, and that no container was restarted before its delay had passed. Pure.
"""

from collections.abc import Iterable, Iterator, Sequence

from crashloop.slo.types import Lifecycle, SloVerdict
from crashloop.stress.incidents import Cause, Incident
from crashloop.stress.loads import has_known_delays
from crashloop.stress.phases import Measurement
from crashloop.stress.plan import StressPlan
from crashloop.stress.recorded import Recorded
from crashloop.verdict import Outcome

MAX_TOLD = 5
"""Sentences of one kind that a verdict tells; the rest is counted."""


def checks(
    plan: StressPlan, measured: Sequence[Measurement], recorded: Recorded, incidents: Sequence[Incident]
) -> tuple[SloVerdict, ...]:
    """The verdicts about the run itself."""
    loaded = {plan.profile.loads[name] for stage in plan.stages for name in stage.users}
    early = [no_early_restart(recorded.lifecycles)] if any(map(has_known_delays, loaded)) else []
    return (load_as_planned(plan, measured, incidents), evidence_complete(recorded), *early, nothing_left(incidents))


def load_as_planned(plan: StressPlan, measured: Sequence[Measurement], incidents: Iterable[Incident]) -> SloVerdict:
    """Whether the load was what the profile says. If not, what it shows was promised to nobody."""
    missing = list(_missing_load(plan, measured, incidents))
    if missing:
        return _verdict("load-as-planned", Outcome.INCONCLUSIVE, missing, len(missing))
    sentence = f"all {len(plan.stages)} stages were measured to their end, with all of their users."
    return _verdict("load-as-planned", Outcome.PASS, [sentence], 0)


def _missing_load(plan: StressPlan, measured: Sequence[Measurement], incidents: Iterable[Incident]) -> Iterator[str]:
    by_index = {each.index: each for each in measured}
    for index, stage in enumerate(plan.stages):
        name = f"stage {index + 1} ({stage.label})"
        wanted, seen = sum(int(count) for count in stage.users.values()), by_index.get(index)
        if seen is None:
            yield f"{name} was not measured."
        elif not seen.whole:
            yield f"{name} was measured for {seen.phase.seconds:.0f} of {stage.duration_s:g} s."
        elif seen.users < wanted:
            yield f"{name} had {seen.users} of {wanted} users."
    for each in incidents:
        if each.cause in (Cause.LOAD, Cause.CLUSTER, Cause.INTERRUPTED):
            yield each.sentence


def evidence_complete(recorded: Recorded) -> SloVerdict:
    """Whether ground truth tells of every restart."""
    if recorded.lacking:
        return _verdict("evidence-complete", Outcome.INCONCLUSIVE, list(recorded.lacking), len(recorded.lacking))
    starts = sum(len(moments) for pod in recorded.lifecycles for moments in pod.starts_ns.values())
    if not starts:
        return _verdict("evidence-complete", Outcome.INCONCLUSIVE, ["no container start was seen."], 0)
    sentence = (
        f"{starts:,} container starts of {len(recorded.lifecycles):,} pods, by the runtime's events, without a gap."
    )
    return _verdict("evidence-complete", Outcome.PASS, [sentence], 0, samples=starts)


def no_early_restart(lifecycles: Iterable[Lifecycle]) -> SloVerdict:
    """No restart may come before the delay that is due has passed, however large the load."""
    judged, early = 0, []
    for pod in lifecycles:
        for restart in pod.restarts:
            if restart.started_ns is None or restart.due_s is None:
                continue
            judged += 1
            came_s = (restart.started_ns - restart.exited_ns) / 1e9
            if came_s < restart.due_s:
                early.append(
                    f'{pod.pod}: restart {restart.number} of "{restart.container}" came {came_s:.3f} s after the exit; '
                    f"{restart.due_s:g} s was due."
                )
    if early:
        return _verdict("no-early-restart", Outcome.FAIL, early, len(early), samples=judged)
    if not judged:
        return _verdict("no-early-restart", Outcome.INCONCLUSIVE, ["no restart with a known delay was seen."], 0)
    sentence = f"none of {judged:,} restarts came before the delay that was due."
    return _verdict("no-early-restart", Outcome.PASS, [sentence], 0, samples=judged)


def nothing_left(incidents: Sequence[Incident]) -> SloVerdict:
    """The load takes away what it has made. Where it was ended by force, the run does so for it."""
    left = [each.sentence for each in incidents if each.cause is Cause.LEFT_BEHIND]
    forced = any(each.cause in (Cause.LOAD, Cause.INTERRUPTED) for each in incidents)
    if not left:
        return _verdict("nothing-left", Outcome.PASS, ["the load has removed everything that it had made."], 0)
    return _verdict("nothing-left", Outcome.PASS if forced else Outcome.ERROR, left, len(left))


def _verdict(name: str, outcome: Outcome, told: list[str], count: int, *, samples: int = 0) -> SloVerdict:
    more = f" {len(told) - MAX_TOLD} more like it." if len(told) > MAX_TOLD else ""
    return SloVerdict(
        slo=name,
        outcome=outcome,
        mode="gate",
        sentence=f"{name}: {' '.join(told[:MAX_TOLD])}{more}",
        target=0.0,
        unit="faults",
        value=float(count),
        samples=samples,
    )
