"""Checkers of the API server: how it answers requests, and what it stores.

Texts are shown, never judged: a cause counts by its field and its reason.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.recording import ApiAnswer, Recording
from crashloop.model.answers import NO_POD_FIELDS, PROBE_DEFAULTS, RULE_FIELDS, Expected, pod_spec
from crashloop.model.validation import CONTAINER_LISTS, FIELDS, Answer
from crashloop.spec.api_request import ApiRequest, Verb
from crashloop.spec.scenario import ApiScenario
from crashloop.words import at_lines

CONFLICT = 409
BUSY = 429
SERVER_ERROR = 500
ACCEPTED = (200, 201)
COMPARED = (*FIELDS, "livenessProbe")
"""Fields of a container whose stored value is judged."""


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


def check_answer(case: AnswersCase) -> Checked:
    """Each request MUST be accepted or rejected as the model says, and rejected for the fields that it names.

    Needs an answer to each request; one of an overloaded or failing API server counts as none.
    """
    return _checked(case, _answer_findings)


def check_stored(case: AnswersCase) -> Checked:
    """An accepted object MUST keep its restart fields and probes as the model says; a rejected or dry one MUST NOT be stored.

    Needs an answer to each request, with the object that the API server returned.
    """
    return _checked(case, _stored_findings)


def check_stored_size(case: AnswersCase) -> Checked:
    """What a later request stores MUST NOT exceed what the first has stored by more than max_bytes (0) bytes.

    Needs two requests that store an object, and the size of each as the API server encodes it for its storage.
    """
    sizes = {
        index: seen
        for index, (request, _) in enumerate(case.due)
        if not request.dry_run and (seen := case.answer(index)) is not None and seen.data.stored_bytes is not None
    }
    wanted = sum(not request.dry_run for request, _ in case.due)
    if len(sizes) < max(wanted, 2):
        return Checked(findings=(inconclusive(f"the stored size of {len(sizes)} of {wanted} objects is known."),))
    first, *later = sizes.items()
    allowed = int(case.parameters.get("max_bytes", 0))
    added = {index: (seen.data.stored_bytes or 0) - (first[1].data.stored_bytes or 0) for index, seen in later}
    found = tuple(
        fail(
            f"{_name(index, case.due[index][0])} stores {more} bytes more than {_name(first[0], case.due[first[0]][0])} "
            f"{at_lines([first[1].line, sizes[index].line])}; {allowed} more are allowed.",
            first[1].line,
            sizes[index].line,
        )
        for index, more in added.items()
        if more > allowed
    )
    return Checked(findings=found, facts={"added_bytes": list(added.values())})


def _checked(case: AnswersCase, findings: Any) -> Checked:
    found: list[Finding] = []
    for index, (request, due) in enumerate(case.due):
        seen = case.answer(index)
        name = _name(index, request)
        if seen is None:
            found.append(inconclusive(f"{name} was not answered."))
        elif seen.data.code == CONFLICT:
            sentence = f"{name} met an object of that name {at_lines([seen.line])}, so its answer says nothing."
            found.append(inconclusive(sentence, seen.line))
        elif seen.data.code == BUSY or seen.data.code >= SERVER_ERROR:
            sentence = f"{name} was answered with {seen.data.code} {seen.data.reason} {at_lines([seen.line])}"
            found.append(inconclusive(f"{sentence}: the API server was not able to decide.", seen.line))
        else:
            found += findings(name, request, due, seen)
    return Checked(findings=tuple(found), facts={"answers": [_shown(each) for each in case.recording.answers]})


def _answer_findings(name: str, _: ApiRequest, due: Answer, seen: ApiAnswer) -> Iterator[Finding]:
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


def _stored_findings(name: str, request: ApiRequest, due: Answer, seen: ApiAnswer) -> Iterator[Finding]:
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
                f"{name} has {_value(stored.get(place))} in {place} as stored {at_lines([seen.line])}; "
                f"{_value(wanted.get(place))} was due.",
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


def _name(index: int, request: ApiRequest) -> str:
    what = f"{request.object.get('kind')} {request.name!r}"
    target = f"{what}/{request.subresource}" if request.subresource else what
    return f"request {index + 1} ({request.verb} {target}{', dry run' if request.dry_run else ''})"


def _causes(causes: set[tuple[str, str]]) -> str:
    return ", ".join(f"{field} {reason}" for field, reason in sorted(causes)) or "no field"


def _value(value: Any) -> str:
    return "nothing" if value is None else msgspec.json.encode(value).decode()


def _shown(seen: ApiAnswer) -> dict[str, Any]:
    return {"index": seen.data.index, "code": seen.data.code, "causes": [each.message for each in seen.data.causes]}
