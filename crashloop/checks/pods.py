"""Checkers of the pods that others than a kubelet make: mirror pods that return, and the pods of a Job or a Deployment.

Theory of operation. A mirror pod that somebody deletes comes back, and shows its static pod again. A Job replaces a failed pod by
its controller's own backoff, which no kubelet has a part in. A Deployment replaces a pod whose containers have ended for good.
"""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any, NamedTuple

from crashloop.checks.checker import Holds, Need, Seen, checker, unwatched
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.checks.jobs import REACTS_WITHIN_S
from crashloop.history.recording import Done, MirrorEvent, PodHistory
from crashloop.model.owner import replacement_s, replaces_at_once
from crashloop.model.pod_status import FAILED, SUCCEEDED
from crashloop.model.prediction import Admission
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, lost_watch, unseen_exit, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import first_sign_ns, ran, was_killed
from crashloop.spec.intervention import RESTART_THE_KUBELET, InterventionKind
from crashloop.spec.pod import GRACE_PERIOD_S
from crashloop.spec.program import KILLED
from crashloop.words import at_lines, count, seconds

MIRROR_WITHIN_S = 30.0
"""No text names a number. The deletion itself makes the kubelet sync the pod; where that sync is lost, it looks again 10 s to
16 s later, and this leaves room for a second look (pkg/kubelet/kubelet.go@v1.37.1 tryReconcileMirrorPods)."""


@checker("mirror-returns", Need("deletions", 1, "deletion", "of a mirror pod", is_shown=False))
def check_mirror_returns(case: Case, seen: Seen) -> Iterator[Finding]:
    """A mirror pod that is deleted MUST be created again, and state the containers of its static pod."""
    if case.prediction.admission is not Admission.RUNS:
        yield inconclusive("the kubelet runs no such pod, so its mirror pod has nothing to state.")
        return
    seen.facts["mirror_back_s"] = []
    for pod, gone in _deleted_mirrors(case):
        seen["deletions"] += 1
        back = next((each for each in pod.mirrors if each.phase == "created" and each.fact.line > gone.fact.line), None)
        stated_ns = None if back is None else _stated_ns(pod, back)
        if stated_ns is not None:
            seen.facts["mirror_back_s"].append(round((stated_ns - (gone.fact.utc_ns or stated_ns)) / 1e9, 3))
        yield from _mirror_back(case, gone, back, stated_ns)


def _deleted_mirrors(case: Case) -> Iterator[tuple[PodHistory, MirrorEvent]]:
    """The mirror pods that the scenario deleted, as the watch showed it."""
    asked = [each for each in case.recording.interventions if each.data.action == InterventionKind.DELETE_MIRROR_POD]
    for pod in case.pods:
        for gone in (each for each in pod.mirrors if each.phase == "deleted"):
            known = {each.mirror_uid for each in pod.mirrors if each.phase == "created"}
            if gone.mirror_uid in known and any(each.ok and each.t_ns <= (gone.fact.utc_ns or 0) for each in asked):
                yield pod, gone


def _stated_ns(pod: PodHistory, back: MirrorEvent) -> int | None:
    """When a status with containers was first seen of a mirror pod that has come back."""
    shown = (each for each in pod.statuses if each.line > back.fact.line and each.containers)
    return next((each.t_ns for each in shown), None)


def _mirror_back(case: Case, gone: MirrorEvent, back: MirrorEvent | None, stated_ns: int | None) -> Iterator[Finding]:
    from_ns, to_ns = gone.fact.utc_ns or case.recording.end_ns, stated_ns or case.recording.end_ns
    after_s = (to_ns - from_ns) / 1e9
    lines = (gone.fact.line, *((back.fact.line,) if back else ()))
    if after_s <= MIRROR_WITHIN_S:
        if stated_ns is None:
            sentence = f"the mirror pod was not seen again {at_lines(lines)}, and {seconds(after_s)} were watched"
            yield inconclusive(f"{sentence}: {why_it_ended(case)}.", *lines)
        return
    if back is None:
        said = f"was not created again within {seconds(after_s)} of"
    elif stated_ns is None:
        said = f"that was created again stated no container within {seconds(after_s)} of"
    else:
        said = f"stated its containers only {seconds(after_s)} after"
    lost = lost_watch(case, from_ns, to_ns)
    doubt = (
        excuse(case, (from_ns, to_ns), 0.0, after_s - MIRROR_WITHIN_S)
        if lost is None
        else f"The watch was lost meanwhile (history line {lost.line})"
    )
    sentence = f"the mirror pod {said} its deletion {at_lines(lines)}; {seconds(MIRROR_WITHIN_S)} is the longest."
    yield fail_unless(doubt, sentence, *lines)


GONE_WITHIN_S = 30.0
"""From the end of the last container to the end of the pod's object: a sync, the volumes, a status, a request."""
SIGNALLED_WITHIN_S = 10.0
"""From the deletion to the exit of what exits on SIGTERM, on a host that has much to do."""


@checker(
    "gone",
    Need("deleted", 1, "deleted pod", is_shown=False),
    watch="the end of a pod",
    holds=Holds.EVERY_POD,
    about=lambda scenario: any(each.action == InterventionKind.DELETE_POD for each in scenario.interventions),
)
def check_gone(case: Case, seen: Seen) -> Iterator[Finding]:
    """A pod that is deleted MUST be gone soon after the end of its containers, which MUST end soon and not begin again.

    What exits on SIGTERM has to get that at once, and what ignores it or has a preStop hook may take its grace period, from the
    last restart of runtime or kubelet on; of pods with either only that is judged. Its object may go first. Not judged are static
    pods, and pods whose node may have had no control plane.
    """
    stubborn = any(each.exit_code_on_term == KILLED or each.pre_stop_s for each in case.scenario.pod.containers)
    for pod in case.pods if case.scenario.control_plane is None else ():
        gone = [] if pod.deleted is None or pod.deleted.utc_ns is None else [pod.deleted.utc_ns]
        asked_ns = min((*gone, *(each.deletion_ns for each in pod.statuses if each.deletion_ns)), default=None)
        if asked_ns is None or pod.mirrors or not case.scenario.pod.grace_s:
            continue
        yield from _begun_again(case, pod, asked_ns)
        broken_ns = [each.data.ended_ns or 0 for each in case.recording.interventions if _breaks_off(each)]
        from_ns = max(asked_ns, *broken_ns) if broken_ns else asked_ns
        longest_s = SIGNALLED_WITHIN_S + (case.scenario.pod.grace_s + GRACE_PERIOD_S if stubborn else 0)
        ends_ns = asked_ns
        for each in (one for spec in case.scenario.pod.containers for one in ran(pod, spec.name)[-1:]):
            until_ns = case.recording.end_ns if each.exit is None else each.exit_ns or asked_ns
            ends_ns = max(ends_ns, until_ns)
            late_s = (until_ns - from_ns) / 1e9
            if late_s > longest_s:
                lines = tuple(fact.line for fact in (each.begun, each.exit) if fact)
                after = "its runtime and kubelet were back" if from_ns > asked_ns else "the deletion of its pod"
                ran_on = f"a container ran on for {seconds(late_s)} after {after} {at_lines(lines)}"
                unseen = None
                if each.exit is None:
                    unseen = unseen_exit(case, pod, asked_ns, until_ns, each.container_id)
                held = excuse(case, (from_ns, until_ns), 0.0, late_s - longest_s)
                due = f"{seconds(longest_s)} is the longest" if stubborn else "it exits on SIGTERM"
                yield fail_unless(
                    (unseen and f"Its end could have gone unseen: {unseen}") or held, f"{ran_on}; {due}.", *lines
                )
        seen["deleted"] += pod.deleted is not None
        gone_ns = case.recording.end_ns if pod.deleted is None else pod.deleted.utc_ns or ends_ns
        late_s = (gone_ns - ends_ns) / 1e9
        if late_s > GONE_WITHIN_S:
            lines = pod.statuses[-1].line, *((pod.deleted.line,) if pod.deleted else ())
            there = f"a deleted pod was there {seconds(late_s)} after the end of its containers {at_lines(lines)}"
            lost = lost_watch(case, asked_ns, gone_ns)
            doubt = "The watch was lost meanwhile" if lost else None
            held = excuse(case, (ends_ns, gone_ns), 0.0, late_s - GONE_WITHIN_S)
            yield fail_unless(doubt or held, f"{there}; {seconds(GONE_WITHIN_S)} is the longest.", *lines)


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


STARTED_WITHIN_S = 35.0
"""From the end of the old one: the kubelet looks again after 10 s to 16 s, and this leaves room for a second look."""


@checker("edited-in-turn", Need("edited", 1, "pod", "that began after an edit", is_shown=False), watch="a pod")
def check_edited_in_turn(case: Case, seen: Seen) -> Iterator[Finding]:
    """A static pod whose file was changed, or removed and written again, MUST start again, once the one before has ended."""
    edits = [each for each in case.recording.interventions if each.data.action == InterventionKind.EDIT_STATIC_POD]
    for done in case.recording.interventions:
        if done.data.action == InterventionKind.RENEW_STATIC_POD and done.ok:
            yield from _renewed(case, done, seen)
    for before, after in pairwise(case.pods):
        ended = [one.exit_ns for each in case.scenario.pod.containers for one in ran(before, each.name)[-1:]]
        begun = [one for each in case.scenario.pod.containers for one in ran(after, each.name)[:1]]
        first = min(begun, key=lambda each: each.begun_ns or 0, default=None)
        seen["edited"] += first is not None
        if first is not None and any(each is None or each > (first.begun_ns or 0) for each in ended):
            lines = first.lines[:1]
            began = f"a container of the edited pod began {at_lines(lines)} while one of the pod before still ran"
            unseen = unseen_exit(case, before, case.recording.begin_ns, first.begun_ns or 0) if None in ended else None
            doubt = unseen and f"Its end could have gone unseen: {unseen}"
            yield fail_unless(doubt, f"{began}; it was to wait for its end.", *lines)
    if edits:
        yield from _never_begun(case, edits[-1])


def _renewed(case: Case, done: Done, seen: Seen) -> Iterator[Finding]:
    """What is wrong with a pod whose file was removed and written again: it is the same by its uid."""
    lives = [ran(case.pod, each.name) for each in case.scenario.pod.containers]
    again = [each for one in lives for each in one if (each.begun_ns or 0) > done.t_ns]
    first = min(again, key=lambda each: each.begun_ns or 0, default=None)
    if first is None:
        yield from _never_begun(case, done)
        return
    seen["edited"] += 1
    before = [each for one in lives for each in one if (each.begun_ns or 0) <= done.t_ns]
    late = next((each for each in before if each.exit_ns is None or each.exit_ns > (first.begun_ns or 0)), None)
    if late is not None:
        lines = (*first.lines[:1], *((late.exit.line,) if late.exit else ()))
        unseen = unseen_exit(case, case.pod, done.t_ns, first.begun_ns or 0) if late.exit is None else None
        began = f"a container of the pod began again {at_lines(lines)} while one that ran before its file was removed still ran"
        yield fail_unless(unseen and f"Its end could have gone unseen: {unseen}", f"{began}.", *lines)


def _never_begun(case: Case, edit: Done) -> Iterator[Finding]:
    """That nothing began after the last edit, though the kubelet has looked again since the pod before had ended."""
    spots = []
    from_ns = edit.t_ns
    for pod, each in product(case.pods, case.scenario.pod.containers):
        instances = ran(pod, each.name)
        if first_sign_ns(pod) > edit.t_ns:
            if instances:
                return
            continue
        from_ns = max((from_ns, *(one.exit_ns or case.recording.end_ns for one in instances[-1:])))
        spots.append(blind_spot(case, pod, instances, edit.t_ns, case.recording.end_ns))
    waited_s = (case.recording.end_ns - from_ns) / 1e9
    if waited_s > STARTED_WITHIN_S:
        doubt = next(filter(None, spots), None) or excuse(
            case, (from_ns, case.recording.end_ns), 0.0, waited_s - STARTED_WITHIN_S
        )
        unseen = f"nothing began for {seconds(waited_s)} after the end of the pod whose file was changed"
        yield fail_unless(doubt, f"{unseen} {at_lines([edit.line])}; it was to start.", edit.line)


class _Moment(NamedTuple):
    t_ns: int
    line: int
    reported_ns: int
    """When the recorder knew of it."""


@checker("pod-spacing", Need("pods", 2, "pod", is_shown=False))
def check_pod_spacing(case: Case, seen: Seen) -> Iterator[Finding]:
    """Each pod of a Job MUST come 10 s, 20 s, 40 s and so on after the containers of the failed one before it had finished."""
    if case.scenario.job is None:
        yield inconclusive("no Job makes the pods.")
        return
    lost = next(unwatched(case, "the beginning or the end of a pod"), None)
    doubt = lost.sentence.rstrip(".") if lost else None
    spacing: list[dict[str, Any]] = []
    seen["pods"] = len(case.pods)
    for failures, (before, after) in enumerate(pairwise(case.pods), start=1):
        finished, began = _finished(before), _first_sign(after)
        if finished is None or began is None:
            yield inconclusive(f"no status shows when pod {failures} of the Job had finished, or the next began.")
            continue
        due_s, seen_s = replacement_s(failures), (began.t_ns - finished.t_ns) / 1e9
        latest_s = max(due_s, (finished.reported_ns - finished.t_ns) / 1e9) + REACTS_WITHIN_S
        spacing.append({"due_s": due_s, "seen_s": round(seen_s, 3)})
        if not due_s <= seen_s <= latest_s:
            lines = (finished.line, began.line)
            early, late = f"after {seconds(seen_s, unlike=due_s)}", f"only after {seconds(seen_s)}"
            replaced = f"the Job replaced its failed pod {failures} {early if seen_s < due_s else late}"
            yield fail_unless(doubt, f"{replaced} {at_lines(lines)}; {seconds(due_s)} were due.", *lines)
    seen.facts["spacing"] = spacing


def _finished(pod: PodHistory) -> _Moment | None:
    """When the last container of a failed pod finished, in whole seconds below."""
    failed = next((each for each in pod.statuses if each.phase == FAILED), None)
    stamps = [each.state.finished_ns for each in failed.containers.values()] if failed else []
    known = [each for each in stamps if each is not None]
    if failed is None or not known or len(known) < len(stamps):
        return None
    return _Moment(max(known), failed.line, failed.t_ns)


def _first_sign(pod: PodHistory) -> _Moment | None:
    """The first sign of a pod: of the API, which has it before its node, or its sandbox."""
    signs = [_Moment(each.t_ns, each.line, each.t_ns) for each in pod.statuses[:1]]
    facts = [*(each.fact for each in pod.sandboxes[:1]), *((pod.created,) if pod.created else ())]
    signs += [_Moment(each.utc_ns, each.line, each.utc_ns) for each in facts if each.utc_ns is not None]
    return min(signs, key=lambda each: each.t_ns, default=None)


MOST, WITHIN_S = 3, 30.0
"""A container that runs for 1 s on the default curve has as many starts: the first, a free one, and one after 10 s."""
REPLACED_WITHIN_S = 15.0


@checker("pods-made", "the pods of the within_s (30) after the first", watch="a pod", holds=Holds.DECLARED)
def check_pods_made(case: Case, seen: Seen) -> Iterator[Finding]:
    """A Deployment of one replica MUST make no more than `most` (3) pods in the `within_s` (30) after the first.

    By the model that replaces an ended pod at once, each MUST be replaced within 15 s, by one pod.
    """
    within_s, most = case.number("within_s", WITHIN_S), int(case.number("most", MOST))
    first_ns = first_sign_ns(case.pods[0])
    made = [each for each in case.pods if first_sign_ns(each) <= first_ns + within_s * 1e9]
    seen.facts |= {"pods": len(made), "within_s": within_s}
    wrong = None
    if replaces_at_once(case.prediction.deviations):
        wrong = _not_replaced(case)
    elif len(made) > most:
        lines = [each.statuses[0].line for each in made if each.statuses]
        sentence = f"the Deployment made {count(len(made), 'pod')} within {seconds(within_s)} {at_lines(lines[-1:])}"
        wrong = fail(f"{sentence}; a container would have been started {most} times.", *lines)
    watched_s = (case.recording.end_ns - first_ns) / 1e9
    if wrong is not None:
        yield wrong
    elif watched_s < within_s:
        yield inconclusive(f"the pods were watched for {seconds(watched_s)}: {why_it_ended(case)}.")


def _not_replaced(case: Case) -> Finding | None:
    """The first pod that was not replaced by one other as soon as it had ended."""
    for before, after in zip(case.pods, (*case.pods[1:], None), strict=True):
        ended = next((each for each in before.statuses if each.phase in (SUCCEEDED, FAILED)), None)
        next_ns = case.recording.end_ns if after is None else first_sign_ns(after)
        appeared = after.statuses[0] if after is not None and after.statuses else None
        if appeared is not None and (ended is None or ended.line > appeared.line):
            line = appeared.line
            return fail(f"the Deployment made a pod {at_lines([line])} while the one before it had not ended.", line)
        if ended is not None and (waited_s := (next_ns - ended.t_ns) / 1e9) > REPLACED_WITHIN_S:
            sentence = f"a pod that had ended {at_lines([ended.line])} was not replaced for {seconds(waited_s)}"
            return fail(f"{sentence}; it was to be replaced at once.", ended.line)
    return None
