"""Checkers of the API server and of who takes a pod: how requests are answered, what is stored, and what comes before a start.

Texts are shown, never judged: a cause counts by its field and its reason.

Theory of operation. The scheduler places the pod, and the kubelet takes it. A rejected pod is Failed by a status that gives a
reason, though nothing of it ever ran. The condition PodScheduled is what the scheduler states: True with the binding, False
once it has found no node.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from crashloop.checks.checker import Holds, Seen, checker, unwatched
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.history.recording import ApiAnswer, PodHistory, Recording
from crashloop.history.stamps import Fact
from crashloop.history.statuses import StatusReport
from crashloop.model.api_server import (
    CONTAINER_LISTS,
    FIELDS,
    NO_POD_FIELDS,
    PROBE_DEFAULTS,
    RULE_FIELDS,
    Answer,
    Expected,
    pod_spec,
)
from crashloop.model.pod_status import FAILED, PENDING
from crashloop.model.prediction import Admission
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import DEADLINE_EXCEEDED, ENDED_BY_NODE, why_it_ended
from crashloop.spec.control_plane import ApiRequest, Verb
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.scenario import ApiScenario
from crashloop.words import at_lines, seconds

CONFLICT = 409
BUSY = 429
SERVER_ERROR = 500
ACCEPTED = (200, 201)
COMPARED = (*FIELDS, "livenessProbe")
"""Fields of a container whose stored value is judged."""


Judge = Callable[[str, ApiRequest, Answer, ApiAnswer], Iterator[Finding]]
"""Of a request by its name: what was due, and what was answered."""


class AnswersCase(msgspec.Struct, frozen=True, kw_only=True):
    """An API scenario as declared, as predicted and as recorded."""

    scenario: ApiScenario
    due: tuple[Expected, ...]
    recording: Recording
    parameters: dict[str, Any] = {}
    """From the requirement: such as max_bytes."""

    def answer(self, index: int) -> ApiAnswer | None:
        """The answer to a request; None if none was recorded."""
        return next((each for each in self.recording.answers if each.data.index == index), None)


ANSWER = "an answer to each request; one of an overloaded or failing API server counts as none"


@checker("answer", ANSWER, reads=ApiScenario, holds=Holds.DECLARED)
def check_answer(case: AnswersCase, seen: Seen) -> Iterator[Finding]:
    """Each request MUST be accepted or rejected as the model says, and rejected for the fields that it names."""
    yield from _of_each_answer(case, seen, _other_answer)


@checker("stored", ANSWER, "the object that the API server returned", reads=ApiScenario, holds=Holds.DECLARED)
def check_stored(case: AnswersCase, seen: Seen) -> Iterator[Finding]:
    """An accepted object MUST keep its restart fields and probes as the model says; a rejected or dry one MUST NOT be stored."""
    yield from _of_each_answer(case, seen, _otherwise_stored)


def _of_each_answer(case: AnswersCase, seen: Seen, judge: Judge) -> Iterator[Finding]:
    seen.facts["answers"] = [_answer_shown(each) for each in case.recording.answers]
    for index, (request, due) in enumerate(case.due):
        answer, name = case.answer(index), _request_name(index, request)
        if answer is None:
            yield inconclusive(f"{name} was not answered.")
        elif answer.data.code == CONFLICT:
            sentence = f"{name} met an object of that name {at_lines([answer.line])}, so its answer says nothing."
            yield inconclusive(sentence, answer.line)
        elif answer.data.code == BUSY or answer.data.code >= SERVER_ERROR:
            sentence = f"{name} was answered with {answer.data.code} {answer.data.reason} {at_lines([answer.line])}"
            yield inconclusive(f"{sentence}: the API server was not able to decide.", answer.line)
        else:
            yield from judge(name, request, due, answer)


@checker(
    "stored-size",
    "two requests that store an object, and the size of each as the API server encodes it for its storage",
    reads=ApiScenario,
    holds=Holds.DECLARED,
)
def check_stored_size(case: AnswersCase, seen: Seen) -> Iterator[Finding]:
    """What a later request stores MUST NOT exceed what the first has stored by more than max_bytes (0) bytes."""
    storing = [(index, request) for index, (request, _) in enumerate(case.due) if not request.dry_run]
    sizes = [
        (_request_name(index, request), answer.line, answer.data.stored_bytes)
        for index, request in storing
        if (answer := case.answer(index)) is not None and answer.data.stored_bytes is not None
    ]
    if len(sizes) < max(len(storing), 2):
        yield inconclusive(f"the stored size of {len(sizes)} of {len(storing)} objects is known.")
        return
    (first, first_line, least), *later = sizes
    allowed = int(case.parameters.get("max_bytes", 0))
    seen.facts["added_bytes"] = [stored - least for _, _, stored in later]
    for name, line, stored in later:
        if stored - least > allowed:
            more = f"{name} stores {stored - least} bytes more than {first} {at_lines([first_line, line])}"
            yield fail(f"{more}; {allowed} more are allowed.", first_line, line)


def _other_answer(name: str, _: ApiRequest, due: Answer, seen: ApiAnswer) -> Iterator[Finding]:
    answer = seen.data
    wanted = {(each.path, each.cause.value) for each in due.errors}
    given = {(each.field, each.reason) for each in answer.causes}
    if answer.code != due.code:
        because = f" for {_causes(given)}" if given else ""
        reasons = f" for {_causes(wanted)}" if wanted else ""
        yield fail(
            f"{name} was answered with {answer.code}{because} {at_lines([seen.line])}; {due.code} was due{reasons}.",
            seen.line,
        )
    elif given != wanted:
        yield fail(
            f"{name} was rejected for {_causes(given)} {at_lines([seen.line])}; {_causes(wanted)} was due.", seen.line
        )


def _otherwise_stored(name: str, request: ApiRequest, due: Answer, seen: ApiAnswer) -> Iterator[Finding]:
    answer = seen.data
    if request.verb is Verb.PATCH and due.stored is None:
        return
    if answer.found is not None and (request.dry_run or due.stored is None):
        why = "it was a dry run" if request.dry_run else "it was to be rejected"
        yield fail(f"the object of {name} was stored {at_lines([seen.line])}; {why}.", seen.line)
    if due.stored is None or answer.code not in ACCEPTED:
        return
    kept = answer.object if request.dry_run else answer.found
    if kept is None:
        yield fail(f"the object of {name} was accepted and not stored {at_lines([seen.line])}.", seen.line)
        return
    stored, wanted = _judged_fields(pod_spec(kept)), _judged_fields(due.stored)
    for place in sorted(stored.keys() | wanted.keys()):
        if stored.get(place) != wanted.get(place):
            yield fail(
                f"{name} has {_stored_value(stored.get(place))} in {place} as stored {at_lines([seen.line])}; "
                f"{_stored_value(wanted.get(place))} was due.",
                seen.line,
            )


def _judged_fields(spec: Mapping[str, Any]) -> dict[str, Any]:
    """`restartPolicy`, `containers[app].restartPolicyRules` and so on; an absent or empty field has no entry."""
    own = {name: spec[name] for name in ("restartPolicy", *NO_POD_FIELDS) if spec.get(name)}
    return own | {
        f"{field}[{container['name']}].{key}": _known(key, container[key])
        for field in CONTAINER_LISTS
        for container in spec.get(field) or ()
        for key in COMPARED
        if container.get(key)
    }


def _known(key: str, value: Any) -> Any:
    """Probes by what has a default; rules without what is dropped while they are decoded: unknown fields and empty lists."""
    if key == "livenessProbe":
        return {name: value.get(name) for name in PROBE_DEFAULTS}
    if key != "restartPolicyRules":
        return value
    rules = [{name: each[name] for name in sorted(RULE_FIELDS) if name in each} for each in value]
    return [
        rule | {"exitCodes": _without_empty_lists(rule["exitCodes"])} if rule.get("exitCodes") else rule
        for rule in rules
    ]


def _without_empty_lists(codes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in codes.items() if part != []}


def _request_name(index: int, request: ApiRequest) -> str:
    what = f"{request.object.get('kind')} {request.name!r}"
    target = f"{what}/{request.subresource}" if request.subresource else what
    return f"request {index + 1} ({request.verb} {target}{', dry run' if request.dry_run else ''})"


def _causes(causes: set[tuple[str, str]]) -> str:
    return ", ".join(f"{field} {reason}" for field, reason in sorted(causes)) or "no field"


def _stored_value(value: Any) -> str:
    return "nothing" if value is None else msgspec.json.encode(value).decode()


def _answer_shown(seen: ApiAnswer) -> dict[str, Any]:
    return {"index": seen.data.index, "code": seen.data.code, "causes": [each.message for each in seen.data.causes]}


_NO_ROOM = ("OutOf", "Insufficient")
"""How the reasons of a node without room begin: pkg/kubelet/lifecycle/predicate.go@v1.37.1."""
FEATURE_UNSUPPORTED = "PodFeatureUnsupported"
"""The reason of a node without a feature that the pod needs: pkg/kubelet/lifecycle/handlers.go@v1.37.1."""
LEFT_FOR_S = 20.0
"""How long a pod is left Pending to say that it is not placed. A scheduler tries a pod again after 10 s at the latest."""


@checker("admitted", "a start of one of its containers, or its rejection where that is due")
def check_admitted(case: Case, seen: Seen) -> Iterator[Finding]:
    """The kubelet MUST run the pod that is bound to its node, and fail it only if the model says so.

    It MUST NOT reject one that it has begun to run, nor one that replaces it.
    """
    yield from _rejected_later(case)
    due = case.prediction.admission
    rejected, began = _rejection(case.pod), _first_start(case.pod)
    lines = tuple(each.line for each in (rejected, began) if each is not None)
    seen.facts["rejected"] = rejected.reason if rejected else None
    if rejected is not None and due is not Admission.REJECTED:
        sentence = f"the kubelet rejected the pod, reason {rejected.reason} {at_lines(lines)}; it was to run it."
        doubt = "Its node had no room for it" if rejected.reason.startswith(_NO_ROOM) else None
        yield fail_unless(doubt, sentence, *lines)
    elif rejected is not None and rejected.reason != FEATURE_UNSUPPORTED:
        sentence = f"the kubelet rejected the pod, reason {rejected.reason} {at_lines(lines)}"
        doubt = "Its node had no room for it" if rejected.reason.startswith(_NO_ROOM) else None
        yield fail_unless(doubt, f"{sentence}; the reason {FEATURE_UNSUPPORTED} was due.", *lines)
    elif began is not None and due is Admission.REJECTED:
        yield fail(f"the kubelet started the pod {at_lines(lines)}; it was to reject it.", *lines)
    elif not lines:
        yield inconclusive(f"the pod was neither started nor rejected: {why_it_ended(case)}.")


@checker(
    "placement",
    "the condition PodScheduled, or a status of the kubelet",
    "a pod that is left Pending is watched for min_pending_s (20)",
)
def check_placement(case: Case, seen: Seen) -> Iterator[Finding]:
    """The scheduler MUST bind the pod to its node, or leave it Pending if that node does not declare what the pod needs."""
    bound = next((each for each in case.pod.statuses if each.scheduled or each.phase not in ("", PENDING)), None)
    held = next((each for each in case.pod.statuses if each.scheduled is False), None)
    pending_s = 0.0 if held is None else ((bound.t_ns if bound else case.recording.end_ns) - held.t_ns) / 1e9
    needed_s = case.number("min_pending_s", LEFT_FOR_S)
    seen.facts["pending_s"] = round(pending_s, 3)
    if case.prediction.admission is Admission.UNPLACED:
        if bound is not None:
            sentence = f"the scheduler bound the pod to its node {at_lines([bound.line])}; it was to leave it Pending, "
            yield fail(f"{sentence}for the node does not declare what it needs.", bound.line)
        elif held is None:
            yield inconclusive(f"no status says that the scheduler found no node: {why_it_ended(case)}.")
        elif pending_s < needed_s:
            watched = f"left Pending for {seconds(pending_s)}, {seconds(needed_s)} needed"
            yield inconclusive(f"the pod was {watched}: {why_it_ended(case)}.", held.line)
        else:
            yield from unwatched(case, "its binding")
    elif bound is None and held is not None and pending_s >= needed_s:
        sentence = f"the scheduler left the pod Pending for {seconds(pending_s)} {at_lines([held.line])}"
        yield fail(f"{sentence}; its node declares what it needs.", held.line)
    elif bound is None:
        yield inconclusive(f"no status says that the scheduler bound the pod: {why_it_ended(case)}.")


NODE_AFFINITY = "NodeAffinity"
"""Why a kubelet rejects a pod whose nodeSelector does not fit its node."""


def _rejected_later(case: Case) -> Iterator[Finding]:
    """Rejections of pods that had begun, or that replace others: when the kubelet restarts it admits each of them anew.

    It rejects what has yet to end on a node that has lost the label which the pod selects: kubernetes/kubernetes#126341.
    """
    unlabelled = any(each.action == InterventionKind.UNLABEL_NODE for each in case.scenario.interventions)
    for pod in case.pods:
        began, rejected = _first_start(pod), _failed_for_a_reason(pod)
        if rejected is None or rejected.reason == FEATURE_UNSUPPORTED or (pod is case.pod and began is None):
            continue
        if unlabelled and rejected.reason == NODE_AFFINITY:
            continue
        lines = tuple(each.line for each in (began, rejected) if each is not None)
        ran = " that it ran" if began else " that replaces another"
        doubt = "Its node had no room for it" if rejected.reason.startswith(_NO_ROOM) else None
        yield fail_unless(
            doubt, f"the kubelet rejected a pod{ran}, reason {rejected.reason} {at_lines(lines)}.", *lines
        )


def _rejection(pod: PodHistory) -> StatusReport | None:
    """The status by which the kubelet rejected the pod; None if it did not."""
    return _failed_for_a_reason(pod) if _first_start(pod) is None else None


def _failed_for_a_reason(pod: PodHistory) -> StatusReport | None:
    """The first status of a pod that has failed for another reason than its containers, its deadline or its node."""
    others = {"", DEADLINE_EXCEEDED, *ENDED_BY_NODE}
    return next((each for each in pod.statuses if each.phase == FAILED and each.reason not in others), None)


def _first_start(pod: PodHistory) -> Fact | None:
    """The first start of a container."""
    begun = (each.begun for instances in pod.containers.values() for each in instances)
    return min((each for each in begun if each is not None), key=lambda each: each.line, default=None)
