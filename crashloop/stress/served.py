"""The servers of a run with the requests to them, from the load's operations and the lives of their pods. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from crashloop.errors import ObservationError
from crashloop.report.stress.results import ServedResult
from crashloop.slo.measurements import Lifecycle, Measured, Phase, ServedPod
from crashloop.slo.servers import SERVER_FIGURES, ServerValue, downs_in, kills_in
from crashloop.stress.assignment import Operation
from crashloop.stress.loads import AnyLoad, Demand, load_of
from crashloop.stress.pace import arrivals_ns
from crashloop.stress.phases import Measurement


def served_pods(
    loads: Mapping[str, AnyLoad], operations: Iterable[Operation], lifecycles: Iterable[Lifecycle]
) -> Iterator[ServedPod]:
    """One per server of which requests are known, in the order of the loads."""
    requests: defaultdict[tuple[str, str], list[Operation]] = defaultdict(list)
    first_ns: dict[str, int] = {}
    for each in operations:
        if each.what in ("request", "unanswered") and each.intended_ns is not None:
            # Of a shared Service a request may be answered by the pod of another load.
            requests[load_of(each.pod, tuple(loads)) or each.load, each.pod].append(each)
            service = getattr(loads[each.load], "service", None) or ""
            first_ns[service] = min(each.intended_ns, first_ns.get(service, each.intended_ns))
    lives = {pod.pod: pod for pod in lifecycles}
    for name, load in loads.items():
        if isinstance(load, Demand):
            for pod in sorted(pod for of, pod in requests if of == name):
                shared_ns = first_ns.get(load.service) if load.service else None
                yield _served(name, load, pod, requests[name, pod], lives.get(pod), shared_ns)


def _served(
    name: str,
    load: Demand,
    pod: str,
    requests: Sequence[Operation],
    life: Lifecycle | None,
    shared_ns: int | None = None,
) -> ServedPod:
    """`shared_ns`: the first request of a Service, which another pod may have answered."""
    intended = sorted(each.intended_ns or 0 for each in requests)
    answers = ((each.intended_ns or 0, each.sent_ns + each.took_ns) for each in requests if each.what == "request")
    answered = tuple(sorted(answers, key=lambda each: each[1]))
    unanswered = ((each.intended_ns or 0, each.sent_ns) for each in requests if each.what == "unanswered")
    given_up = tuple(sorted(unanswered, key=lambda each: each[1]))
    began_ns = (intended[0] if shared_ns is None else shared_ns) - next(arrivals_ns(load, 0))
    ended_ns = max([intended[-1], *(t_ns for _, t_ns in (*answered, *given_up))])
    return ServedPod(
        load=name,
        pod=pod,
        node=life.node if life else "",
        service=load.service or "",
        cpu_limit=load.limit_cores,
        rate_per_s=load.rate_per_s,
        bursts=tuple(
            (began_ns + round(1e9 * burst.after_s), began_ns + round(1e9 * burst.to_s), burst.rate_per_s)
            for burst in load.bursts
        ),
        began_ns=began_ns,
        ended_ns=ended_ns,
        intended_ns=tuple(intended),
        answered=answered,
        given_up=given_up,
        downs_ns=tuple(_downs_ns(life)) if life else (),
    )


def _downs_ns(life: Lifecycle) -> Iterator[tuple[int, int]]:
    until_ns = life.seen_until_ns
    for restart in life.restarts:
        to_ns = until_ns if restart.running_ns is None else restart.running_ns
        if to_ns is not None and to_ns > restart.exited_ns:
            yield restart.exited_ns, to_ns


def served_results(measured: Measured, stages: Iterable[Measurement], *, began_ns: int) -> Iterator[ServedResult]:
    """The figures of every server in every stage with demand for it."""
    for stage in stages:
        window = stage.phase
        for pod in measured.served:
            asked = sum(1 for t_ns in pod.intended_ns if window.from_ns <= t_ns < window.to_ns)
            if asked:
                found = {name: _figure(name, pod, measured, window) for name in SERVER_FIGURES}
                yield ServedResult(
                    load=pod.load,
                    stage=stage.stage.label,
                    requests=asked,
                    figures={name: None if each is None else round(each.value, 4) for name, each in found.items()},
                    cpu_limit=pod.cpu_limit,
                    kills_s=tuple(_seconds(t_ns, began_ns) for t_ns in kills_in(pod, window)),
                    downs_s=tuple(
                        (_seconds(from_ns, began_ns), _seconds(to_ns, began_ns))
                        for from_ns, to_ns in downs_in(pod, window)
                    ),
                    at_least=tuple(name for name, each in found.items() if each is not None and each.is_least),
                )


def _seconds(t_ns: int, began_ns: int) -> float:
    return round((t_ns - began_ns) / 1e9, 2)


def _figure(name: str, pod: ServedPod, measured: Measured, window: Phase) -> ServerValue | None:
    try:
        return SERVER_FIGURES[name].of_pod(pod, measured, window)
    except ObservationError:
        return None
