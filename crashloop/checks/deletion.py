"""Checker of deleted pods: their containers end soon, in their order, and do not begin again; then their objects go.

Theory of operation. By KEP-753 "Pod Termination" the regular containers get SIGTERM first, and each sidecar once those and the
sidecars behind it have ended. A preStop hook runs before SIGTERM, and its time is part of the grace period.
"""

from collections.abc import Iterable, Iterator

from crashloop.checks.checker import Holds, Life, Need, Seen, checker, lives
from crashloop.checks.finding import Finding, fail, fail_unless
from crashloop.checks.kills import without_hook
from crashloop.history.instances import Instance
from crashloop.history.recording import Done, PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import lost_watch, unseen_exit
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import deletions, ran, was_killed
from crashloop.restarts.outages import held_by_api_ns
from crashloop.spec.intervention import RESTART_THE_KUBELET, InterventionKind
from crashloop.spec.pod import GRACE_PERIOD_S, ContainerKind
from crashloop.spec.program import KILLED
from crashloop.words import at_lines, seconds

GONE_WITHIN_S = 30.0
"""From the end of the last container to the end of the pod's object: a sync, the volumes, a status, a request."""
SIGNALLED_WITHIN_S = 10.0
"""From the deletion to the exit of what exits on SIGTERM, on a host that has much to do."""


@checker(
    "gone",
    Need("deleted", 1, "deleted pod", is_shown=False),
    watch="the end of a pod",
    holds=Holds.EVERY_POD,
    about=lambda scenario: any(
        each.action in (InterventionKind.DELETE_POD, InterventionKind.RECREATE_POD) for each in scenario.interventions
    ),
)
def check_gone(case: Case, seen: Seen) -> Iterator[Finding]:
    """A pod that is deleted MUST be gone soon after the end of its containers, which MUST end soon and not begin again.

    Sidecars end after the others, the last of them first, and a preStop hook gets its time.
    What exits on SIGTERM has to get that at once, and what ignores it or has a preStop hook may take its grace period, from the
    last restart of runtime or kubelet on; of pods with either only that is judged. So may what the kubelet was starting when it
    heard of it: that start is carried out, and a first process heeds no signal before its program says so (pid_namespaces(7)).
    Its object may go first. Not judged are static pods, and pods whose node may have had no control plane.
    """
    for pod in case.pods if case.scenario.control_plane is None else ():
        gone = [] if pod.deleted is None or pod.deleted.utc_ns is None else [pod.deleted.utc_ns]
        asked_ns = min((*gone, *(each.deletion_ns for each in pod.statuses if each.deletion_ns)), default=None)
        if asked_ns is None or pod.mirrors or not case.scenario.pod.grace_s:
            continue
        yield from _begun_again(case, pod, asked_ns)
        yield from _out_of_turn(case, pod)
        last = [one for spec in case.scenario.pod.containers for one in ran(pod, spec.name)[-1:]]
        for each in last:
            yield from _ran_on(case, pod, each, asked_ns)
        seen["deleted"] += pod.deleted is not None
        ends_ns = max((asked_ns, *(_until_ns(case, each, asked_ns) for each in last)))
        gone_ns = case.recording.end_ns if pod.deleted is None else pod.deleted.utc_ns or ends_ns
        late_s = (gone_ns - ends_ns) / 1e9
        if late_s > GONE_WITHIN_S:
            lines = pod.statuses[-1].line, *((pod.deleted.line,) if pod.deleted else ())
            there = f"a deleted pod was there {seconds(late_s)} after the end of its containers {at_lines(lines)}"
            lost = lost_watch(case, asked_ns, gone_ns)
            doubt = "The watch was lost meanwhile" if lost else None
            if late_s - GONE_WITHIN_S <= held_by_api_ns(case, ends_ns, gone_ns) / 1e9:
                doubt = doubt or "The API server or the watch may have held its last status up"
            held = excuse(case, (ends_ns, gone_ns), 0.0, late_s - GONE_WITHIN_S)
            yield fail_unless(doubt or held, f"{there}; {seconds(GONE_WITHIN_S)} is the longest.", *lines)


def _until_ns(case: Case, last: Instance, asked_ns: int) -> int:
    """Until when a container of a deleted pod ran, UTC."""
    return case.recording.end_ns if last.exit is None else last.exit_ns or asked_ns


def _ran_on(case: Case, pod: PodHistory, last: Instance, asked_ns: int) -> Iterator[Finding]:
    """That a container ran on after the deletion of its pod, or after runtime and kubelet were back, for longer than it may."""
    broken_ns = [each.data.ended_ns or 0 for each in case.recording.interventions if _breaks_off(each)]
    from_ns, until_ns = max((asked_ns, *broken_ns)), _until_ns(case, last, asked_ns)
    started_ns = last.start_ns or until_ns
    stubborn = any(each.exit_code_on_term == KILLED or each.pre_stop_s for each in case.scenario.pod.containers)
    may_stay = stubborn or started_ns > from_ns
    longest_s = SIGNALLED_WITHIN_S + (case.scenario.pod.grace_s + GRACE_PERIOD_S if may_stay else 0)
    late_s = (until_ns - max(from_ns, started_ns)) / 1e9
    if late_s <= longest_s:
        return
    lines = tuple(fact.line for fact in (last.begun, last.exit) if fact)
    after = "its runtime and kubelet were back" if from_ns > asked_ns else "the deletion of its pod"
    unseen = unseen_exit(case, pod, asked_ns, until_ns, last.container_id) if last.exit is None else None
    held = excuse(case, (from_ns, until_ns), 0.0, late_s - longest_s)
    due = f"{seconds(longest_s)} is the longest" if may_stay else "it exits on SIGTERM"
    yield fail_unless(
        (unseen and f"Its end could have gone unseen: {unseen}") or held,
        f"a container ran on for {seconds(late_s)} after {after} {at_lines(lines)}; {due}.",
        *lines,
    )


def _breaks_off(done: Done) -> bool:
    """Whether the runtime or the kubelet was away: the end of a container is asked for anew, with its whole grace period."""
    return done.data.action in RESTART_THE_KUBELET | {InterventionKind.RESTART_RUNTIME}


def _begun_again(case: Case, pod: PodHistory, asked_ns: int) -> Iterator[Finding]:
    """That a container began after one of its pod was ended for the pod's deletion: the kubelet ends it in any case."""
    ended = [
        each.exit_ns or 0
        for spec in case.scenario.pod.containers
        for number, each in enumerate(ran(pod, spec.name))
        if (each.exit_ns or 0) > asked_ns
        and was_killed(case, spec.name, number, each)
        and not (spec.probes or spec.post_start)
    ]
    later = (each for spec in case.scenario.pod.containers for each in pod.instances(spec.name))
    for each in later if ended else ():
        if each.created is not None and (each.begun_ns or 0) > min(ended):
            lines = each.lines[:1]
            yield fail(f"a container of a deleted pod began {at_lines(lines)} after others of it were ended.", *lines)


WHOLE_SECONDS_S = 1
"""The kubelet rounds down what it has waited for a sidecar's turn."""


def _out_of_turn(case: Case, pod: PodHistory) -> Iterator[Finding]:
    """A sidecar that was ended before what its pod has to end first, and a preStop hook that was left out.

    Only judged where nothing ignores SIGTERM and where nothing broke that off.
    """
    asked = next(deletions(case, pod), None)
    if (
        asked is None
        or any(_breaks_off(each) for each in case.recording.interventions)
        or (asked.data.arguments or {}).get("at_once")
        or len({each.sandbox_id for each in pod.sandboxes}) > 1
    ):
        return
    specs = case.scenario.pod.containers
    last = {each.spec.name: each for each in lives(case) if each.pod is pod and each.following is None}
    ending = {name: each for name, each in last.items() if (each.instance.exit_ns or 0) > asked.t_ns}
    for each in ending.values():
        yield from without_hook(case, each, asked.t_ns, "the deletion of its pod")
    if any(each.exit_code_on_term == KILLED for each in specs):
        return
    sidecars = [each.name for each in specs if each.is_sidecar]
    regular = [each.name for each in specs if each.kind is ContainerKind.REGULAR]
    for number, name in enumerate(sidecars):
        sidecar = ending.get(name)
        if sidecar is not None and was_killed(case, name, sidecar.number, sidecar.instance):
            before = (ending[each] for each in (*regular, *sidecars[number + 1 :]) if each in ending)
            turn_ns = asked.t_ns + (case.scenario.pod.grace_s - WHOLE_SECONDS_S) * 1_000_000_000
            yield from _ended_ahead(sidecar, before, turn_ns)


def _ended_ahead(sidecar: Life, before: Iterable[Life], turn_ns: int) -> Iterator[Finding]:
    """The first of what has to end before a sidecar that ended after it, in time: by `turn_ns` at the latest it waits no more.

    The kubelet ends it when the runtime has said that the other has ended, so one channel stamps them in their order.
    """
    exited = sidecar.instance.exit
    for each in before:
        other = each.instance.exit
        if exited is None or other is None or exited.utc_ns is None or other.utc_ns is None:
            continue
        ahead_ns = other.utc_ns - exited.utc_ns
        unsure_ns = exited.resolution_ns + other.resolution_ns
        if exited.channel is other.channel and ahead_ns > unsure_ns and other.utc_ns < turn_ns:
            lines = (exited.line, other.line)
            names = f'sidecar "{sidecar.spec.name}" was ended {seconds(ahead_ns / 1e9)} before "{each.spec.name}"'
            yield fail(f"{names} {at_lines(lines)}; it was to end after it.", *lines)
            return
