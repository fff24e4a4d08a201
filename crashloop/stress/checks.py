"""Checks of a stress run besides the rows of manifests/slo: load as planned, evidence complete, no restart early or lost. Pure.

Theory of operation. The one reading of a restart (crashloop.restarts) says whether it was owed, when it had to come at the
latest, and what may have held it up or hidden it. Under load restarts come late by the work of the kubelet itself, and rows of
SLOs say how many of them may; one that is later than a second look of the kubelet explains is lost.

A closed load has a fixed number of pods from beginning to end of a stage; they are counted by watch, runtime and the answers to
creates. An open load has a rate: every intended arrival must have been tried. An arrival that was dropped for lack of a place
belongs to such a load, and is reported; an arrival that was never tried breaks the plan. Pods of users' own templates must run
and crash. Verdicts about the run itself all gate, and list their first few faults (`gate`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from crashloop.report.text import counted
from crashloop.restarts.bounds import LOST_AFTER_S
from crashloop.slo.measurements import Lifecycle, Lost, Restart, SloVerdict
from crashloop.stress.arrivals import asked, open_models
from crashloop.stress.assignment import Operation
from crashloop.stress.evidence_reader import RecordedPods, owners
from crashloop.stress.folder import Cause, Incident
from crashloop.stress.loads import AnyLoad, Canary, Crash, Demand, Jobs, OpenLoad, Rollout, has_known_delays, load_of
from crashloop.stress.phases import Measurement, stage_name
from crashloop.stress.plan import StressPlan
from crashloop.stress.plan_text import restarted_share
from crashloop.verdict import Outcome

LOST = "no-lost-restart"


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
        return gate(LOST, Outcome.FAIL, lost, faults=len(lost), samples=len(owed))
    if unproven:
        return gate(LOST, Outcome.INCONCLUSIVE, unproven, faults=len(unproven), samples=len(owed))
    if not owed:
        return gate(LOST, Outcome.INCONCLUSIVE, ["no exit that required a restart was seen."])
    sentence = (
        f"none of {len(owed):,} restarts that were due was missing for {LOST_AFTER_S:g} s more than the kubelet's own retry "
        "allows."
    )
    return gate(LOST, Outcome.PASS, [sentence], samples=len(owed))


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
    recorded: RecordedPods,
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


def evidence_complete(recorded: RecordedPods) -> SloVerdict:
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


MAX_SENTENCES = 5
"""Sentences per verdict; further ones are counted."""


def gate(name: str, outcome: Outcome, sentences: Sequence[str], *, faults: int = 0, samples: int = 0) -> SloVerdict:
    """The verdict of one check."""
    more = f" {len(sentences) - MAX_SENTENCES} more like it." if len(sentences) > MAX_SENTENCES else ""
    return SloVerdict(
        slo=name,
        outcome=outcome,
        mode="gate",
        sentence=f"{name}: {' '.join(sentences[:MAX_SENTENCES])}{more}",
        target=0.0,
        unit="faults",
        value=float(faults),
        samples=samples,
    )


PLANNED = "load-as-planned"
DIFFERS_BY = (Cause.LOAD, Cause.UNPLACED, Cause.CLUSTER, Cause.INTERRUPTED)
"""Incidents that make a load differ from the plan."""
EXISTS = 409
"""The answer to a repeated create whose first answer was lost: no other object has these names."""


def load_as_planned(
    plan: StressPlan, measured: Sequence[Measurement], recorded: RecordedPods, incidents: Iterable[Incident]
) -> SloVerdict:
    """Whether the load matched the profile. If it did not, no promise holds for its results."""
    missing = [
        *_unmeasured_stages(plan, measured),
        *_missing_pods(plan, measured, recorded),
        *faults_of_own_pods(
            plan.load.loads, measured, _pods_by_load(recorded.lifecycles, plan.load.loads), recorded.waits
        ),
        *_lingering_pods(plan, measured, recorded.lifecycles),
        *_refused_objects(plan.load.loads, recorded),
        *_untried_arrivals(plan.load.loads, measured, recorded.operations),
        *(each.sentence for each in incidents if each.cause in DIFFERS_BY),
    ]
    if missing:
        return gate(PLANNED, Outcome.INCONCLUSIVE, missing, faults=len(missing))
    all_of, their = (
        (f"all {len(plan.stages)} stages were", "their") if len(plan.stages) > 1 else ("the stage was", "its")
    )
    sentence = f"{all_of} measured to {their} end, with all of {their} users and pods."
    return gate(PLANNED, Outcome.PASS, [sentence, *_dropped_arrivals(plan.load.loads, measured, recorded.operations)])


def _unmeasured_stages(plan: StressPlan, measured: Sequence[Measurement]) -> Iterator[str]:
    by_index = {each.index: each for each in measured}
    for index, stage in enumerate(plan.stages):
        wanted, seen = sum(int(count) for count in stage.users.values()), by_index.get(index)
        if seen is None:
            yield f"{stage_name(index, stage)} was not measured."
        elif not seen.whole:
            yield f"{seen.name} was measured for {seen.phase.seconds:.0f} of {stage.duration_s:g} s."
        elif seen.users < wanted:
            yield f"{seen.name} had {seen.users} of {wanted} users."


def least_pods(load: AnyLoad) -> int:
    """The fewest pods of one user of a load after its start; 0 for a load whose pods come and go at a rate."""
    if isinstance(load, Rollout):
        # During a rollout half of them may be missing: maxUnavailable 50 %, rounded down (load/manifests.py).
        return load.replicas - load.replicas // 2
    return 1 if isinstance(load, Crash | Demand | Canary) else 0


def _missing_pods(plan: StressPlan, measured: Iterable[Measurement], recorded: RecordedPods) -> Iterator[str]:
    """Stages that began without all pods of their closed loads."""
    of_load = _pods_by_load(recorded.lifecycles, plan.load.loads)
    taken_ns = {each.pod: each.sent_ns + each.took_ns for each in recorded.operations if _was_taken(each)}
    for stage in measured:
        for name, users in stage.stage.users.items():
            planned = int(users) * least_pods(plan.load.loads[name])
            there = sum(1 for pod in of_load[name] if _belongs_to(stage, pod, taken_ns.get(pod.pod)))
            if there < planned:
                yield f"{stage.name} began to be measured with {there} of {planned} planned pods of load {name}."


def _belongs_to(stage: Measurement, pod: Lifecycle, taken_ns: int | None) -> bool:
    """Whether a pod was made for a stage, and existed when its measurement began."""
    came_ns, at_ns = _came_ns(pod, taken_ns), stage.phase.from_ns
    if came_ns is None or (stage.came_ns is not None and came_ns < stage.came_ns):
        return False
    return came_ns <= at_ns and (pod.seen_until_ns is None or at_ns < pod.seen_until_ns)


def _came_ns(pod: Lifecycle, taken_ns: int | None = None) -> int | None:
    """When a pod existed first, by any source."""
    starts_ns = (starts[0] for starts in pod.starts_ns.values() if starts)
    return min((t_ns for t_ns in (pod.seen_ns, taken_ns, *starts_ns) if t_ns is not None), default=None)


def _lingering_pods(
    plan: StressPlan, measured: Iterable[Measurement], lifecycles: Sequence[Lifecycle]
) -> Iterator[str]:
    """Stages that began on nodes with the load of the stage before."""
    for stage in measured:
        if stage.index == 0 or stage.came_ns is None:
            continue
        before = stage_name(stage.index - 1, plan.stages[stage.index - 1])
        left = [pod.pod for pod in lifecycles if _is_left_in(stage, pod)]
        if stage.users_before:
            yield f"{stage.name} began with {counted(stage.users_before, 'user')} that {before} had left."
        if left:
            pods = counted(len(left), "pod")
            yield f"{stage.name} began to be measured with {pods} left over from {before}, such as {left[0]}."


def _is_left_in(stage: Measurement, pod: Lifecycle) -> bool:
    came_ns, at_ns = _came_ns(pod), stage.phase.from_ns
    earlier = came_ns is not None and stage.came_ns is not None and came_ns < stage.came_ns
    return earlier and (pod.deleted_ns is None or pod.deleted_ns > at_ns)


def _refused_objects(loads: Mapping[str, AnyLoad], recorded: RecordedPods) -> Iterator[str]:
    """Objects that were never made, and rollouts that were refused."""
    refused = {each.pod for each in recorded.operations if each.what == "not created"}
    there = {name for pod in recorded.lifecycles for name in _owners_of(loads, pod)}
    known = there | refused | {each.pod for each in recorded.operations if _was_taken(each)}
    creates: dict[str, dict[str, Operation]] = defaultdict(dict)
    for each in recorded.operations:
        if each.what == "create" and each.pod not in known:
            creates[each.load].setdefault(each.pod, each)
    for load, failed in sorted(creates.items()):
        yield f"load {load}: {counted(len(failed), 'create')} failed for good, {_first_failure(list(failed.values()))}."
    rollouts: dict[str, list[Operation]] = defaultdict(list)
    for each in recorded.operations:
        if each.what == "patch" and each.error:
            rollouts[each.load].append(each)
    for load, untaken in sorted(rollouts.items()):
        yield f"load {load}: {counted(len(untaken), 'rollout')} failed, {_first_failure(untaken)}."


def _was_taken(operation: Operation) -> bool:
    return operation.what == "create" and (not operation.error or operation.code == EXISTS)


def _owners_of(loads: Mapping[str, AnyLoad], pod: Lifecycle) -> tuple[str, ...]:
    load = load_of(pod.pod, tuple(loads))
    return () if load is None else owners(loads[load], pod.pod)


def _first_failure(failed: Sequence[Operation]) -> str:
    one = failed[0]
    return f"the first of them of {one.pod} ({f'answer {one.code}: {one.error}' if one.code else 'no answer'})"


def _untried_arrivals(
    loads: Mapping[str, AnyLoad], measured: Iterable[Measurement], operations: Iterable[Operation]
) -> Iterator[str]:
    """Stages in which intended arrivals were not even tried."""
    for each in asked(loads, operations, (stage for stage in measured if stage.whole)):
        if each.logged < each.least:
            yield (
                f"{each.stage.name}: of {counted(each.by_rate, 'arrival')} of load {each.load} by its rate, "
                f"{each.logged} were tried."
            )


def _dropped_arrivals(
    loads: Mapping[str, AnyLoad], measured: Iterable[Measurement], operations: Iterable[Operation]
) -> Iterator[str]:
    for each in open_models(loads, operations, measured):
        load = loads[each.load]
        if each.dropped and isinstance(load, OpenLoad):
            yield (
                f"{each.dropped:,} of {counted(each.intended, 'arrival')} of {each.load} were dropped "
                f"(in_flight {load.in_flight})."
            )


def _pods_by_load(lifecycles: Iterable[Lifecycle], loads: Mapping[str, AnyLoad]) -> defaultdict[str, list[Lifecycle]]:
    found: defaultdict[str, list[Lifecycle]] = defaultdict(list)
    for pod in lifecycles:
        name = load_of(pod.pod, tuple(loads))
        if name is not None:
            found[name].append(pod)
    return found


def faults_of_own_pods(
    loads: Mapping[str, AnyLoad],
    measured: Sequence[Measurement],
    pods: Mapping[str, Sequence[Lifecycle]],
    waits: Mapping[str, str],
) -> Iterator[str]:
    """One sentence per stage that began with such pods not running, and per load without a restart.

    `pods` are by load; `waits` says by the pod's name why one ran nothing.
    """
    for name, load in loads.items():
        stages = [each for each in measured if name in each.stage.users]
        if isinstance(load, Crash) and load.own is not None and stages:
            late = [sentence for stage in stages for sentence in _late(name, stage, pods.get(name, ()), waits)]
            yield from late
            yield from () if late else _calm(name, pods.get(name, ()), waits)


def _late(load: str, stage: Measurement, pods: Iterable[Lifecycle], waits: Mapping[str, str]) -> Iterator[str]:
    """Pods of the stage that had not started anything when its measurement began."""
    at_ns = stage.phase.from_ns
    made = [each for each in pods if each.seen_ns is not None and (stage.came_ns or 0) <= each.seen_ns <= at_ns]
    late = [each for each in made if (began_ns := _began_ns(each)) is None or began_ns > at_ns]
    if late:
        yield (
            f"{stage.name} began to be measured while {_share(len(late), len(made))} of load {load} "
            f"had not run{_why(late, waits)}."
        )


def _share(some: int, of_all: int) -> str:
    return "the only pod" if of_all == 1 else f"{some} of {of_all} pods"


def _why(pods: Iterable[Lifecycle], waits: Mapping[str, str]) -> str:
    """What the first of the pods says that says anything."""
    return next((f": {waits[each.pod]} in {each.pod}" for each in pods if each.pod in waits), "")


def _began_ns(pod: Lifecycle) -> int | None:
    """The first start, by ground truth or by the watch."""
    starts_ns = (starts[0] for starts in pod.starts_ns.values() if starts)
    known = [t_ns for t_ns in (*starts_ns, pod.started_ns) if t_ns is not None]
    return min(known, default=None)


def _calm(load: str, pods: Sequence[Lifecycle], waits: Mapping[str, str]) -> Iterator[str]:
    """Nothing of the load restarted."""
    if any(_restarts(pod) for pod in pods):
        return
    exits = sum(each.exited_ns < (pod.seen_until_ns or 0) for pod in pods for each in pod.restarts)
    finals = sum(final_ns < (pod.seen_until_ns or 0) for pod in pods for final_ns in pod.finals_ns)
    if all(_began_ns(each) is None for each in pods):
        why = f"none of its pods ran{_why(pods, waits)}"
    elif finals and finals >= exits:
        why = f"its containers exited {counted(finals, 'time')}, after which their restart policy or rules restart nothing"
    elif exits:
        why = f"its containers exited {counted(exits, 'time')}, and their pods were removed before a restart was due"
    else:
        why = "its containers did not exit"
    yield f"0 restarts of load {load}: {why}."


def _restarts(pod: Lifecycle) -> bool:
    came = any(each.came_ns is not None for each in pod.restarts)
    return came or any(pod.restart_counts.values())
