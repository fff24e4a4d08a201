"""Whether the pods of users' own templates ran and crashed: a load is as planned only if they did. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from crashloop.report.text import counted
from crashloop.slo.measurements import Lifecycle
from crashloop.stress.loads import AnyLoad, Crash
from crashloop.stress.phases import Measurement


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
