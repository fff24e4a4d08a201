"""Conservation: ground truth, restartCount and the kubelet's own counter agree on the number of starts.

Theory of operation. Every start of a container in the window raises kubelet_started_containers_total by one, and every start
after the first raises that container's restartCount by one. A difference with an explanation proves nothing, and the
explanation is reported: a start within `EDGE_S` of a scrape at the window's end may count on either side of it; an instance
that was created and never ran, as a killed kubelet leaves it, may count as well; and if the counter was reset in the window,
its growth after the previous scrape is lost. A restart that a status states after the last reading of the pod's journals is
no difference, nor is one that became due between that reading and the pod's end. restartCount is the last reported one: it
must never exceed the observed starts, and may lag behind the starts of the last `REPORTED_S`.
Source: pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 startContainer (StartedContainersTotal).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from crashloop.errors import ObservationError
from crashloop.slo.events import in_groups
from crashloop.slo.increase import find_growth, notes, resets
from crashloop.slo.measurements import Interval, Lifecycle, Measured, Phase, SliResult
from crashloop.slo.rows import ConservationSli, Selection

COUNTER = Selection(metric="kubelet_started_containers_total", source="kubelet")
EDGE_S = 2.0
"""The kubelet counts a start once the runtime has answered, which on a loaded node takes a second."""
REPORTED_S = 30.0
"""The most that a status lags, even if a kubelet's requests queue behind its client rate limit."""


def conservation(sli: ConservationSli, measured: Measured, window: Phase) -> list[SliResult]:
    """The difference of the three in starts: one result per node. Raises ObservationError where a side is missing."""
    everyone = list(in_groups(measured.lifecycles, sli.groups))
    pods = [pod for pod in everyone if pod.starts_ns]
    if not pods:
        raise ObservationError("no starts were recorded by ground truth.")
    unheard = [pod.pod for pod in everyone if not pod.starts_ns and any(pod.restart_counts.values())]
    if unheard:
        raise ObservationError(
            f"ground truth lacks the starts of {len(unheard)} of {len(everyone)} pods, which restarted, such as {unheard[0]}."
        )
    found = find_growth(measured, COUNTER, window.from_ns, window.to_ns)
    lacks = notes(found)
    compared = []
    for source in found:
        node = source.scrapes.source.node
        of_node = [pod for pod in pods if pod.node == node]
        moments = sorted(t_ns for pod in of_node for starts in pod.starts_ns.values() for t_ns in starts)
        begin, end = source.window.from_ns, source.window.to_ns
        inside = _between(moments, begin, end)
        near = _near(moments, begin) + _near(moments, end)
        unstarted = sum(_between(sorted(each), begin, end) for pod in of_node for each in pod.unstarted_ns.values())
        unseen = sum(sum(pod.unseen_starts.values()) + _due_unseen(pod) for pod in of_node)
        anew = resets(source.scrapes, COUNTER.metric, source.window)
        counted = round(sum(growth.total for growth in source.growths))
        said = tuple(_disagreeing(of_node))
        differ = max(inside - counted, counted - inside - unseen, 0)
        proven = 0 if anew else max(0, differ - near - unstarted)
        compared.append(
            SliResult(
                value=float(differ + len(said)),
                interval=Interval(float(proven + len(said)), float(differ + len(said))),
                samples=inside,
                group={"node": node},
                from_ns=begin,
                to_ns=end,
                notes=(
                    f"{node}: {inside} starts seen, kubelet_started_containers_total rose by {counted}.",
                    *_explained(node, near, unstarted, unseen),
                    *_lost(node, sum(_between(moments, *each) for each in anew) if anew else None),
                    *said,
                    *lacks,
                ),
            )
        )
    return compared


def _explained(node: str, near: int, unstarted: int, unseen: int) -> Iterator[str]:
    """Possible explanations of a difference."""
    if near:
        yield f"{node}: starts within {EDGE_S:g} s of a scrape, which may count on either side: {near}."
    if unstarted:
        yield f"{node}: instances that were created and never ran, which may count as well: {unstarted}."
    if unseen:
        yield f"{node}: restarts stated or due after the end of ground truth, no difference where they count: {unseen}."


def _lost(node: str, around: int | None) -> Iterator[str]:
    """`around`: starts between the scrapes around every reset of the counter; None without a reset."""
    if around is not None:
        yield f"{node}: the counter was reset; starts between the scrapes around that, whose count may be lost: {around}."


def _due_unseen(pod: Lifecycle) -> int:
    """Restarts that nobody saw or stated, which were due after the end of ground truth, before the pod was gone."""
    if pod.deleted_ns is None or pod.seen_until_ns is None:
        return 0
    return sum(
        each.started_ns is None
        and bool(each.expected)
        and each.container not in pod.unseen_starts
        and pod.seen_until_ns <= each.exited_ns + round((each.due_s or 0.0) * 1e9) < pod.deleted_ns
        for each in pod.restarts
    )


def _between(moments: list[int], from_ns: int, to_ns: int) -> int:
    return bisect_right(moments, to_ns) - bisect_left(moments, from_ns)


def _near(moments: list[int], edge_ns: int) -> int:
    reach = int(EDGE_S * 1e9)
    return _between(moments, edge_ns - reach, edge_ns + reach)


def _disagreeing(pods: list[Lifecycle]) -> Iterator[str]:
    """Containers whose restartCount differs from the starts after the first, beyond the instances that never ran.

    RestartAllContainers raises it before the starts (KEP-5532), which never come if the pod ends meanwhile.
    """
    for pod in pods:
        begun = any(each.started_ns is None for each in pod.restarts_all)
        for container, starts in pod.starts_ns.items():
            if not starts:
                continue
            said = pod.restart_counts.get(container)
            last_ns = starts[-1] if pod.seen_until_ns is None else pod.seen_until_ns - int(REPORTED_S * 1e9)
            least = bisect_right(starts, last_ns) - 1
            most = len(starts) - 1 + len(pod.unstarted_ns.get(container, ())) + begun
            if said is not None and not least <= said <= most:
                yield f'{pod.pod}: restartCount of "{container}" is {said} after {len(starts)} starts.'
