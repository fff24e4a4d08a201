"""Checkers of the pods that others than a kubelet make: mirror pods that return, and the pods of a Job or a Deployment.

Theory of operation. A mirror pod that somebody deletes comes back, and shows its static pod again. A Job replaces a failed pod by
its controller's own backoff, which no kubelet has a part in. A Deployment replaces a pod whose containers have ended for good.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise, product
from typing import Any, NamedTuple

from crashloop.checks.checker import Holds, Need, Seen, checker, unwatched
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.checks.jobs import REACTS_WITHIN_S
from crashloop.history.instances import Instance
from crashloop.history.recording import Done, MirrorEvent, PodHistory
from crashloop.model.owner import replacement_s, replaces_at_once
from crashloop.model.pod_status import FAILED, SUCCEEDED
from crashloop.model.prediction import Admission
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, lost_watch, unseen_exit, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import first_sign_ns, ran
from crashloop.spec.intervention import InterventionKind
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
    asked = [each for each in case.recording.interventions if each.data.action == InterventionKind.DELETE_MIRROR_POD]
    for done, pod in product(asked, case.pods):
        before = [each for each in pod.mirrors if (each.fact.utc_ns or 0) < done.t_ns]
        if done.ok and before and before[-1].phase == "created" and before[-1] is pod.mirrors[-1]:
            seen["deletions"] += 1
            yield _mirror_stays(case, done)
    for pod, gone in _deleted_mirrors(case, asked):
        seen["deletions"] += 1
        back = next((each for each in pod.mirrors if each.phase == "created" and each.fact.line > gone.fact.line), None)
        stated_ns = None if back is None else _stated_ns(pod, back)
        if stated_ns is not None:
            seen.facts["mirror_back_s"].append(round((stated_ns - (gone.fact.utc_ns or stated_ns)) / 1e9, 3))
        yield from _mirror_back(case, gone, back, stated_ns)


def _mirror_stays(case: Case, done: Done) -> Finding:
    """A mirror pod that ends as an object only once its kubelet lets it."""
    after_s = (case.recording.end_ns - done.t_ns) / 1e9
    sentence = f"the mirror pod was not gone {seconds(after_s)} after the request to delete it {at_lines([done.line])}"
    if after_s <= MIRROR_WITHIN_S:
        return inconclusive(f"{sentence}: {why_it_ended(case)}.", done.line)
    lost = lost_watch(case, done.t_ns, case.recording.end_ns)
    doubt = f"The watch was lost meanwhile (history line {lost.line})" if lost else None
    return fail_unless(doubt, f"{sentence}; {seconds(MIRROR_WITHIN_S)} is the longest.", done.line)


def _deleted_mirrors(case: Case, asked: Collection[Done]) -> Iterator[tuple[PodHistory, MirrorEvent]]:
    """The mirror pods that the scenario deleted, as the watch showed it."""
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
        lives = [ran(after, each.name)[:1] for each in case.scenario.pod.containers]
        first = min((one for each in lives for one in each), key=lambda each: each.begun_ns or 0, default=None)
        seen["edited"] += first is not None
        if first is not None:
            last = [one for each in case.scenario.pod.containers for one in ran(before, each.name)[-1:]]
            yield from _beside_the_last(case, before, last, first)
    if edits:
        yield from _never_begun(case, edits[-1])


def _renewed(case: Case, done: Done, seen: Seen) -> Iterator[Finding]:
    """What is wrong with a pod whose file was removed and written again: it is the same by its uid, in another sandbox."""
    lives = [ran(case.pod, each.name) for each in case.scenario.pod.containers]
    made_ns = (each.fact.utc_ns or 0 for each in case.pod.sandboxes if each.phase == "created")
    new_ns = next((each for each in made_ns if each > done.t_ns), None)
    since_ns = done.t_ns if new_ns is None else new_ns
    again = [each for one in lives for each in one if (each.begun_ns or 0) >= since_ns]
    if new_ns is None:  # a first start was under way: nothing of another sandbox was seen
        again = [each for each in again if each.ordinal > 0]
    first = min(again, key=lambda each: each.begun_ns or 0, default=None)
    if first is None:
        yield from _never_begun(case, done)
        return
    seen["edited"] += 1
    before = [each for one in lives for each in one if (each.begun_ns or 0) < since_ns]
    yield from _beside_the_last(case, case.pod, before, first)


def _beside_the_last(case: Case, pod: PodHistory, last: Iterable[Instance], first: Instance) -> Iterator[Finding]:
    """That the first container of a pod that begins anew began while one of the pod before still ran."""
    begun_ns = first.begun_ns or 0
    late = next((each for each in last if each.exit_ns is None or each.exit_ns > begun_ns), None)
    if late is not None:
        lines = (*first.lines[:1], *((late.exit.line,) if late.exit else ()))
        unseen = unseen_exit(case, pod, late.begun_ns or begun_ns, begun_ns) if late.exit_ns is None else None
        began = f"a container of the static pod began {at_lines(lines)} while one of the pod before still ran"
        doubt = unseen and f"Its end could have gone unseen: {unseen}"
        yield fail_unless(doubt, f"{began}; it was to wait for its end.", *lines)


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
