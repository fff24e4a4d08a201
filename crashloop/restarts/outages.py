"""Times without a kubelet or without a control plane, and how old a statement of the kubelet may therefore be.

Theory of operation. While a node has no kubelet nothing restarts, and nobody says anything; while it has no control plane its
kubelet states nothing. A status lags behind the containers even so, by what a kubelet takes for it (`OWN_NS`), and longer only
for what is proven: shown stalls and the kubelet's own waits for a CPU, a sync that is starting or killing a container of the
pod, and what API server and watch took for the recorder's own patches in the same seconds: `crashloop.history.api_controls`,
without a bound as long as those show that they are slow. In a recording without patches they may have held a status up for
`SLOW_API_NS`: that is open. What a status *says* is excused by none of this, only that it was not yet, or no longer, the
newest.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter

import msgspec

from crashloop.history.instances import Instance
from crashloop.history.recording import Done, PodHistory
from crashloop.history.stamps import joined, overlap_ns
from crashloop.model.after_restart import counts_anew
from crashloop.model.planned_exit import longest_ending_s
from crashloop.model.restart import Decision
from crashloop.restarts.case import Case
from crashloop.restarts.lives import first_sign_ns, leaves_ns, ran
from crashloop.spec.intervention import (
    DISTURB_NODE,
    NEED_OWN_CONTROL_PLANE,
    RESTART_THE_KUBELET,
    InterventionKind,
    down_s,
)
from crashloop.spec.pod import Container, ContainerKind, RestartPolicy
from crashloop.spec.program import KILLED


class KubeletOutage(msgspec.Struct, frozen=True):
    """A time without a kubelet, by UTC."""

    line: int
    """Of the intervention."""
    from_ns: int
    to_ns: int
    """The start of the next kubelet, by its own log."""

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9


def kubelet_outages(case: Case) -> Iterator[KubeletOutage]:
    """The kubelet is surely away for as long as it was to stay away before the next one started."""
    for done in kubelet_ended(case):
        down_ns = round(down_s(done.data.arguments) * 1e9)
        back_ns = _kubelet_back_ns(case, done)
        if back_ns is not None:
            yield KubeletOutage(done.line, max(done.t_ns, back_ns - down_ns), back_ns)


def without_kubelet_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long the node had no kubelet in that interval; one that was not seen again is away to the end of the recording."""
    away_ns = [(each.from_ns, each.to_ns) for each in kubelet_outages(case)]
    gone = (done for done in kubelet_ended(case) if _kubelet_back_ns(case, done) is None)
    return overlap_ns((*away_ns, *((done.t_ns, case.recording.end_ns) for done in gone)), from_ns, to_ns)


def kubelet_never_back(case: Case, to_ns: int) -> int | None:
    """The history line on which a kubelet was ended by then of which no later start was seen; None if there is none."""
    return next(
        (done.line for done in kubelet_ended(case) if done.t_ns <= to_ns and _kubelet_back_ns(case, done) is None),
        None,
    )


def met_ns(case: Case, pod: PodHistory, t_ns: int) -> int:
    """When the kubelet of a moment met a pod: when that came, or when the kubelet started."""
    began = (each.data.kubelet_started_ns for each in case.recording.nodes)
    return max(first_sign_ns(pod), *(each for each in began if each is not None and each <= t_ns), 0)


def back_ns(done: Done) -> int:
    """When what an intervention takes away for a pause, the kubelet or the runtime, is there again at the soonest, UTC."""
    return max(done.data.ended_ns or 0, done.t_ns + round(down_s(done.data.arguments) * 1e9))


def kubelet_ended(case: Case) -> Iterator[Done]:
    """The interventions that ended the kubelet."""
    return (done for done in case.recording.interventions if done.data.action in RESTART_THE_KUBELET and done.ok)


START_NS = 5_000_000_000
"""From a create to a start, and a kubelet that ends in between ends the start."""


def start_cut_short(case: Case, pod: PodHistory, container: str) -> Iterator[Instance]:
    """The instances that never ran since their kubelet was ended between create and start."""
    ends_ns = [(done.t_ns - START_NS, done.data.ended_ns or done.t_ns) for done in kubelet_ended(case)]
    for each in pod.instances(container):
        if not each.has_run and any(from_ns <= (each.begun_ns or 0) <= ended_ns for from_ns, ended_ns in ends_ns):
            yield each


def _kubelet_back_ns(case: Case, done: Done) -> int | None:
    """When the next kubelet started, by its own log."""
    started = (each.data.kubelet_started_ns for each in case.recording.nodes)
    return next((each for each in started if each is not None and each >= done.t_ns), None)


OUTAGE_ENDS_BY = {
    InterventionKind.STOP_COMPONENT: InterventionKind.START_COMPONENT,
    InterventionKind.CUT_OFF_NODE: InterventionKind.CONNECT_NODE,
}
"""What ends an outage, by what begins it."""


class ControlPlaneOutage(msgspec.Struct, frozen=True):
    """A time without a control plane, by UTC."""

    line: int
    """Of the intervention that began it."""
    from_ns: int
    """From then on it was surely away."""
    to_ns: int
    """Until then. The end of the recording if nothing ended it."""
    back_ns: int
    """By then it answered again."""

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9

    def has(self, t_ns: int | None) -> bool:
        """Whether a moment (UTC) surely was in it; None: the moment is not known."""
        return t_ns is not None and self.from_ns <= t_ns <= self.to_ns


def control_plane_outages(case: Case) -> Iterator[ControlPlaneOutage]:
    """The outages that the scenario has made, in their order."""
    done = [each for each in case.recording.interventions if each.ok]
    for index, each in enumerate(done):
        if each.data.action in OUTAGE_ENDS_BY:
            end = next((later for later in done[index + 1 :] if _ends_outage(each, later)), None)
            end_ns = case.recording.end_ns
            to_ns, back_ns = (end_ns, end_ns) if end is None else (end.t_ns, end.data.ended_ns or end.t_ns)
            yield ControlPlaneOutage(each.line, each.data.ended_ns or each.t_ns, to_ns, back_ns)


def without_control_plane_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long the node could state nothing in that interval."""
    return overlap_ns(((each.from_ns, each.back_ns) for each in control_plane_outages(case)), from_ns, to_ns)


def _ends_outage(began: Done, later: Done) -> bool:
    component = [(each.data.arguments or {}).get("component") for each in (began, later)]
    return later.data.action == OUTAGE_ENDS_BY[InterventionKind(began.data.action)] and component[0] == component[1]


OWN_NS = 2_300_000_000
"""What the kubelet itself takes for a statement: two relists a second apart, a sync and a write. One relist that had begun before
another sync of the pod was over is not new enough for the next: pkg/kubelet/container/cache.go@v1.37.1 GetNewerThan."""
SETTLED_NS = 10_000_000_000
"""A lag of so much that something explains is worth no doubt: the kubelet repeats a failed write so soon."""
SLOW_API_NS = 30_000_000_000
"""Up to here API server and watch may have held a write up where no patch of the recorder shows how fast they were."""
AFTERWARDS_NS = 30_000_000_000
"""How long after a disturbance of node or control plane connections are made again and pods looked at one by one."""
SANDBOX_NS = 5_000_000_000
"""What a sync takes at most from one step of a sandbox to the next."""


def may_lag_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """By how much a statement may lag, in that time, before the kubelet alone can be why."""
    host = case.recording.host
    held_ns, api_ns = round(host.kubelet_held_s(from_ns, to_ns) * 1e9), _api_held_ns(case, from_ns, to_ns)
    held_ns += _busy_ns(case, from_ns, to_ns)
    if api_ns is None or _is_disturbed(case, from_ns, to_ns):
        lag_ns = max(SLOW_API_NS, SETTLED_NS + held_ns + (api_ns or 0))
    else:
        lag_ns = OWN_NS + held_ns + api_ns
    return lag_ns + without_statements_ns(case, from_ns, to_ns)


def ended_before_it_stated(case: Case, from_ns: int, to_ns: int) -> int | None:
    """The line on which a kubelet was ended by `to_ns`, so soon after `from_ns` that it may not have stated what was so then."""
    for done in kubelet_ended(case):
        # Its own end is no disturbance that could have held its statement up.
        if from_ns <= done.t_ns <= to_ns and done.t_ns - from_ns <= may_lag_ns(case, from_ns, done.t_ns - 1):
            return done.line
    return None


def settled_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """Up to which lag nothing is objected to a statement, not even in doubt."""
    return min(SETTLED_NS, may_lag_ns(case, from_ns, to_ns))


def may_be_old_ns(case: Case, t_ns: int) -> int:
    """By how much a statement of that time may lag: what held it up is found ever further back."""
    age_ns = 0
    while t_ns - age_ns > case.recording.begin_ns and (longer_ns := may_lag_ns(case, t_ns - age_ns, t_ns)) > age_ns:
        age_ns = longer_ns
    return age_ns


def held_by_api_ns(case: Case, from_ns: int, to_ns: int, *, unmeasured_ns: int = SLOW_API_NS) -> int:
    """For how long API server and watch may have held up what was written in that time, by whomever.

    `unmeasured_ns`: the same where the recorder has patched nothing.
    """
    api_ns = _api_held_ns(case, from_ns, to_ns)
    return unmeasured_ns if api_ns is None else api_ns


def _api_held_ns(case: Case, from_ns: int, to_ns: int) -> int | None:
    """The same by the recorder's patches, beyond the times that have no control plane; None without any."""
    from_ns = max(from_ns, case.recording.begin_ns)
    api_ns = case.recording.host.api_held_ns(from_ns, to_ns)
    return None if api_ns is None else max(0, api_ns - without_control_plane_ns(case, from_ns, to_ns))


def _is_disturbed(case: Case, from_ns: int, to_ns: int) -> bool:
    disturbing = DISTURB_NODE | NEED_OWN_CONTROL_PLANE
    return any(
        each.data.action in disturbing
        and from_ns - AFTERWARDS_NS <= (each.data.ended_ns or each.t_ns)
        and each.t_ns <= to_ns
        for each in case.recording.interventions
    )


def _busy_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long in that time syncs of a pod were under way that start or kill something: none states anything meanwhile."""
    if case.memo.syncing_ns is None:
        case.memo.syncing_ns = joined(each for pod in case.pods for each in _syncs(case, pod))
    spans = case.memo.syncing_ns
    first, last = bisect_left(spans, from_ns, key=itemgetter(1)), bisect_right(spans, to_ns, key=itemgetter(0))
    return overlap_ns(spans[first:last], from_ns, to_ns)


def _syncs(case: Case, pod: PodHistory) -> Iterator[tuple[int, int]]:
    ending_ns = _ending_ns(case, pod)
    for spec in case.scenario.pod.containers:
        instances, grace_ns = pod.instances(spec.name), _grace_ns(case, spec)
        for before, each in zip((None, *instances), instances, strict=False):
            yield from _syncing(spec, before, each, grace_ns)
        if ending_ns is not None and instances and instances[-1].exit_ns is None:
            yield ending_ns, ending_ns + grace_ns
    steps_ns = [each.fact.utc_ns for each in pod.sandboxes if each.fact.utc_ns is not None]
    yield from ((max(begun_ns, end_ns - SANDBOX_NS), end_ns) for begun_ns, end_ns in pairwise(steps_ns))


def _ending_ns(case: Case, pod: PodHistory) -> int | None:
    """When the kubelet began to end all containers of a pod, none of which is stated before the last has ended."""
    asked_ns = leaves_ns(case, pod)
    lasts = [(each.name, ran(pod, each.name)[-1:]) for each in case.scenario.pod.of_kind(ContainerKind.REGULAR)]
    if asked_ns is None and all(last and _stays_ended(case, name, last[0]) for name, last in lasts):
        # The sync that finds that no container is to run ends the sidecars as well.
        return max(last[0].exit_ns or 0 for _, last in lasts)
    if asked_ns is None:
        return None
    exits_ns = (one.exit_ns for each in case.scenario.pod.containers for one in pod.instances(each.name))
    return min((each for each in exits_ns if each is not None and each >= asked_ns), default=asked_ns)


def _stays_ended(case: Case, container: str, last: Instance) -> bool:
    return last.exit_ns is not None and case.decided(container, last).decision is Decision.STOP


def _grace_ns(case: Case, spec: Container) -> int:
    pod = case.scenario.pod
    return round(max(*pod.graces_s(spec), longest_ending_s(pod, spec)) * 1e9)


def _syncing(spec: Container, before: Instance | None, instance: Instance, grace_ns: int) -> Iterator[tuple[int, int]]:
    """The syncs that pull the image of an instance, start it with its hook, and kill it; and how late they learn of its end."""
    begun_ns, start_ns, exit_ns = instance.begun_ns, instance.start_ns, instance.exit_ns
    if begun_ns is not None:
        pulled_since_ns = before.exit_ns if spec.image is not None and before is not None else None
        until_ns = exit_ns if spec.post_start and exit_ns is not None else start_ns
        yield pulled_since_ns or begun_ns, until_ns or begun_ns
    if exit_ns is not None and instance.exit_code in (spec.exit_code_on_term, KILLED):
        yield exit_ns - grace_ns, exit_ns
    if instance.clearing_ns is not None:  # no kubelet can learn of the exit before that is over
        yield instance.clearing_ns


def without_statements_ns(case: Case, from_ns: int, to_ns: int) -> int:
    """For how long nobody could state anything in that interval."""
    variants = case.prediction.deviations
    if variants not in case.memo.refused_ns:
        case.memo.refused_ns[variants] = tuple(_refused(case))
    away_ns = without_kubelet_ns(case, from_ns, to_ns) + without_control_plane_ns(case, from_ns, to_ns)
    return away_ns + overlap_ns(case.memo.refused_ns[variants], from_ns, to_ns)


def _refused(case: Case) -> Iterator[tuple[int, int]]:
    """Times in which no status of the pod is taken: what was stated as ended for good runs again (variants).

    The API server refuses those of regular containers; the kubelet itself drops those of init containers in another sandbox:
    pkg/kubelet/status/status_manager.go@v1.37.2 checkContainerStateTransition.
    """
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            for ended, again in pairwise(ran(pod, spec.name)):
                if _is_refused(case, pod, spec, ended, again) or _is_dropped(case, spec, ended, again):
                    yield again.begun_ns or 0, case.recording.end_ns if again.exit_ns is None else again.exit_ns


def _is_refused(case: Case, pod: PodHistory, spec: Container, ended: Instance, again: Instance) -> bool:
    is_regular = spec.kind is ContainerKind.REGULAR
    return (
        is_regular and case.decided(spec.name, ended, following=again).is_refused and _was_stated(pod, spec.name, ended)
    )


def _is_dropped(case: Case, spec: Container, ended: Instance, again: Instance) -> bool:
    """Whether the kubelet drops the statuses of an init container that had ended well and runs again in another sandbox."""
    pod = case.scenario.pod
    if spec.kind is not ContainerKind.INIT or spec.is_sidecar or pod.restart_policy is RestartPolicy.ALWAYS:
        return False
    return ended.exit_code == 0 and case.lost_sandbox(ended, again) and counts_anew(spec, case.prediction.deviations)


def _was_stated(pod: PodHistory, container: str, ended: Instance) -> bool:
    reports = (each.containers[container] for each in pod.statuses if container in each.containers)
    return any(each.state.kind == "terminated" and each.restart_count == ended.ordinal for each in reports)
