"""Checks that the load was as planned: users, pods and arrivals, on nodes without any other load. Pure.

Theory of operation. A closed load has a fixed number of pods from beginning to end of a stage; they are counted by watch,
runtime and the answers to creates. An open load has a rate: every intended arrival must have been tried. An arrival that
was dropped for lack of a place belongs to such a load, and is reported; an arrival that was never tried breaks the plan.

Verdicts about the run itself all gate, and list their first few faults (`gate`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from crashloop.report.text import counted
from crashloop.slo.measurements import Lifecycle, SloVerdict
from crashloop.stress.arrivals import asked, open_models
from crashloop.stress.assignment import Operation
from crashloop.stress.evidence_reader import StressEvidence, owners
from crashloop.stress.incidents import Cause, Incident
from crashloop.stress.loads import AnyLoad, Canary, Crash, Demand, OpenLoad, Rollout, load_of
from crashloop.stress.own_pods import faults_of_own_pods
from crashloop.stress.phases import Measurement, stage_name
from crashloop.stress.plan import StressPlan
from crashloop.verdict import Outcome

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


NAME = "load-as-planned"
DIFFERS_BY = (Cause.LOAD, Cause.UNPLACED, Cause.CLUSTER, Cause.INTERRUPTED)
"""Incidents that make a load differ from the plan."""
EXISTS = 409
"""The answer to a repeated create whose first answer was lost: no other object has these names."""


def load_as_planned(
    plan: StressPlan, measured: Sequence[Measurement], recorded: StressEvidence, incidents: Iterable[Incident]
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
        return gate(NAME, Outcome.INCONCLUSIVE, missing, faults=len(missing))
    all_of, their = (
        (f"all {len(plan.stages)} stages were", "their") if len(plan.stages) > 1 else ("the stage was", "its")
    )
    sentence = f"{all_of} measured to {their} end, with all of {their} users and pods."
    return gate(NAME, Outcome.PASS, [sentence, *_dropped_arrivals(plan.load.loads, measured, recorded.operations)])


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


def _missing_pods(plan: StressPlan, measured: Iterable[Measurement], recorded: StressEvidence) -> Iterator[str]:
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


def _refused_objects(loads: Mapping[str, AnyLoad], recorded: StressEvidence) -> Iterator[str]:
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
