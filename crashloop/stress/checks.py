"""Checks of a stress run besides the rows of manifests/slo: the evidence is complete, and no restart was early or lost. Pure.

Theory of operation. The one reading of a restart (crashloop.restarts) says whether it was owed, when it had to come at the
latest, and what may have held it up or hidden it. Under load restarts come late by the work of the kubelet itself, and rows of
SLOs say how many of them may; one that is later than a second look of the kubelet explains is lost.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from crashloop.restarts.bounds import LOST_AFTER_S
from crashloop.slo.measurements import Lifecycle, Lost, Restart, SloVerdict
from crashloop.stress.evidence_reader import StressEvidence
from crashloop.stress.incidents import Cause, Incident
from crashloop.stress.load_as_planned import gate, load_as_planned
from crashloop.stress.loads import Jobs, has_known_delays
from crashloop.stress.phases import Measurement
from crashloop.stress.plan import StressPlan
from crashloop.stress.plan_text import restarted_share
from crashloop.verdict import Outcome

NAME = "no-lost-restart"


def no_lost_restart(lifecycles: Iterable[Lifecycle]) -> SloVerdict:
    """Whether every exit that required a restart was followed by one in time, if the observation was long enough."""
    owed = [
        (pod, each)
        for pod in lifecycles
        for each in pod.restarts
        if each.expected and each.exited_ns < (pod.seen_until_ns or 0)
    ]
    lost = [_sentence(pod, each, each.lost) for pod, each in owed if each.lost is not None and not each.lost.doubt]
    unproven = [
        f"{_sentence(pod, each, each.lost)} {each.lost.doubt}."
        for pod, each in owed
        if each.lost is not None and each.lost.doubt
    ]
    if lost:
        return gate(NAME, Outcome.FAIL, lost, faults=len(lost), samples=len(owed))
    if unproven:
        return gate(NAME, Outcome.INCONCLUSIVE, unproven, faults=len(unproven), samples=len(owed))
    if not owed:
        return gate(NAME, Outcome.INCONCLUSIVE, ["no exit that required a restart was seen."])
    sentence = (
        f"none of {len(owed):,} restarts that were due was missing for {LOST_AFTER_S:g} s more than the kubelet's own retry "
        "allows."
    )
    return gate(NAME, Outcome.PASS, [sentence], samples=len(owed))


def _sentence(pod: Lifecycle, restart: Restart, lost: Lost) -> str:
    at = datetime.fromtimestamp(restart.exited_ns // 1_000_000 / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    came = (
        f"never came in {lost.waited_s:.0f} s" if restart.came_ns is None else f"came after {lost.waited_s:.0f} s only"
    )
    return (
        f'{pod.pod}: restart {restart.number} of "{restart.container}" {came}: the container exited at {at} UTC, and '
        f"{lost.latest_s:.1f} s is the longest."
    )


def checks(
    plan: StressPlan,
    measured: Sequence[Measurement],
    recorded: StressEvidence,
    incidents: Sequence[Incident],
) -> tuple[SloVerdict, ...]:
    """The verdicts about the run itself, without checks that no load of the plan can show."""
    loaded = [plan.load.loads[name] for name in {name for stage in plan.stages for name in stage.users}]
    restarted = [load for load in loaded if restarted_share(load) > 0 or (isinstance(load, Jobs) and load.failures > 0)]
    early = [no_early_restart(recorded.lifecycles)] if any(map(has_known_delays, restarted)) else []
    lost = no_lost_restart(recorded.lifecycles)
    return (
        load_as_planned(plan, measured, recorded, incidents),
        evidence_complete(recorded),
        *early,
        *([lost] if restarted or lost.samples else []),
        nothing_left(incidents),
    )


def evidence_complete(recorded: StressEvidence) -> SloVerdict:
    """Whether ground truth covers every restart."""
    if recorded.lacking:
        return gate("evidence-complete", Outcome.INCONCLUSIVE, recorded.lacking, faults=len(recorded.lacking))
    starts = sum(len(moments) for pod in recorded.lifecycles for moments in pod.starts_ns.values())
    if not starts:
        return gate("evidence-complete", Outcome.INCONCLUSIVE, ["no container start was seen."])
    sentence = (
        f"{starts:,} container starts of {len(recorded.lifecycles):,} pods, by runtime or journal, without a gap."
    )
    return gate("evidence-complete", Outcome.PASS, [sentence], samples=starts)


def no_early_restart(lifecycles: Iterable[Lifecycle]) -> SloVerdict:
    """No restart may happen before its due delay has passed, under any load.

    The requirement BACKOFF-2 is judged pod by pod (crashloop.stress.evidence_reader), by the same reading of each restart.
    """
    judged, early = 0, []
    for pod in lifecycles:
        for restart in pod.restarts:
            if restart.came_ns is None or restart.due_s is None:
                continue
            judged += 1
            if restart.early_s is not None:
                early.append(
                    f'{pod.pod}: restart {restart.number} of "{restart.container}" came '
                    f"{restart.due_s - restart.early_s:.3f} s after the exit; {restart.due_s:g} s was due."
                )
    if early:
        return gate("no-early-restart", Outcome.FAIL, early, faults=len(early), samples=judged)
    if not judged:
        return gate("no-early-restart", Outcome.INCONCLUSIVE, ["no restart with a known delay was seen."])
    sentence = f"none of {judged:,} restarts came before the due delay."
    return gate("no-early-restart", Outcome.PASS, [sentence], samples=judged)


def nothing_left(incidents: Sequence[Incident]) -> SloVerdict:
    """The load removes its objects; if it was killed, the run removes them. Any that remain are an error."""
    left = [each.sentence for each in incidents if each.cause in (Cause.LEFT_BEHIND, Cause.NOT_REMOVED)]
    if not left:
        return gate("nothing-left", Outcome.PASS, ["the load removed all of its objects."])
    forced = any(each.cause in (Cause.LOAD, Cause.INTERRUPTED) for each in incidents)
    stays = any(each.cause is Cause.NOT_REMOVED for each in incidents)
    return gate("nothing-left", Outcome.PASS if forced and not stays else Outcome.ERROR, left, faults=len(left))
