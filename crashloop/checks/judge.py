"""The judge: one requirement on one recorded scenario, or on several that are compared, to one verdict.

Theory of operation. First the obstacles to a judgement: a damaged file, contradicting ground truths, a node that did not
run with the profile. Then the requirement's checkers, with the prediction of the promise; the worst outcome wins. If it is
a FAIL and deviations are known for this kubelet, the same checkers run again with the deviating variant of the model: if
that explains the history, the FAIL carries the deviation's name. If the promise was kept and the same history contradicts
the variant, the deviation is gone; that is a FAIL too, since its entry has to be removed. Of a kubelet that is newer than every
model, what an open change of upstream's explains is no FAIL, nor is a deviation that is gone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from crashloop.checks.finding import Checked, Finding, Observed, error, fail, fewest_of, inconclusive, worst_first
from crashloop.checks.integrity import obstacles, unfinished
from crashloop.checks.judgement import JudgementInput, Question
from crashloop.checks.kinds import CHECKERS, KINDS
from crashloop.model.gates import kubelet_version
from crashloop.model.variants import DOCUMENTED, IN_MOTION
from crashloop.spec.requirement import Deviation
from crashloop.spec.version import RELEASES
from crashloop.verdict import COMPARED, FEWEST, Evidence, Ground, Outcome, Verdict


def judge(question: Question, deviations: Sequence[Deviation] = ()) -> Verdict:
    """The verdict of a requirement on what was recorded. Raises nothing: a crash of ours is an ERROR.

    `deviations` are all that are known.
    """
    try:
        return _judged(question, deviations)
    except Exception as crash:  # noqa: BLE001 - a crash of the judge must not end the judgement of the others
        return verdict_of(question, Checked(findings=(crashed("the judge", crash),)))


def _judged(question: Question, deviations: Sequence[Deviation]) -> Verdict:
    found = tuple(_obstacles(question))
    if found:
        return verdict_of(question, Checked(findings=found))
    promised = run_checkers(question, DOCUMENTED)
    known = tuple(
        each
        for each in deviations
        if any(each.holds_in(kubelet_version(one.profile, one.version)) for one in question.histories)
        and _was_asked_for(each, question)
    )
    expected = tuple(each for each in known if each.explains(question.requirement.id))
    if promised.outcome is Outcome.FAIL:
        return _failed(question, promised, expected, frozenset(each.variant for each in known))
    if promised.outcome is Outcome.PASS:
        gone = () if _is_newer(question) else _gone(question, expected)
        incomplete = _unfinished(question)
        findings = (*gone, *((incomplete,) if incomplete else ()))
        return verdict_of(question, msgspec.structs.replace(promised, findings=findings))
    return verdict_of(question, promised)


def _was_asked_for(deviation: Deviation, question: Question) -> bool:
    """Whether the judgement by the promise met a rule that the variant would replace; otherwise it would say the same again."""
    variants = (deviation.variant, *deviation.company)
    return any(name in each.memo.documented.asked for each in question.histories for name in variants)


def _obstacles(question: Question) -> Iterator[Finding]:
    """Why nothing can be judged; in a comparison, in any of its histories."""
    for each in question.histories:
        kind = KINDS[type(each.scenario)]
        found = obstacles(each.scenario, each.recording) or kind.obstacles(each.scenario, each)
        yield from (_placed(finding, each.name, question) for finding in found)


def _unfinished(question: Question) -> Finding | None:
    found = ((each.name, unfinished(each.recording)) for each in question.histories)
    return next((_placed(finding, name, question) for name, finding in found if finding is not None), None)


def _placed(finding: Finding, scenario: str, question: Question) -> Finding:
    """A finding about one history as one about what is judged."""
    return finding if len(question.histories) == 1 else finding.in_history(scenario)


def _failed(question: Question, promised: Checked, expected: Sequence[Deviation], shipped: frozenset[str]) -> Verdict:
    """A broken promise, and the deviation that explains it if there is one.

    The variant is tried alone, with those that its entry names, and with all that such a kubelet has (`shipped`), since several
    may meet in one pod. If it accuses nobody, and the host or the evidence leaves something open, a new accusation of Kubernetes
    is open as well: this kubelet is known to behave so. Not if the evidence of the very lines that are accused is missing; that
    the host held a restart up is evidence.
    """
    undecided: Checked | None = None
    nearest, nearest_id = promised, ""
    for deviation, variants in _explanations(expected, shipped):
        explained = run_checkers(question, variants)
        incomplete = _unfinished(question)
        found = deviation or nearest_id
        if len(_accused(explained)) < len(_accused(nearest)):
            nearest, nearest_id = explained, found
        if not found:
            continue
        if explained.outcome is Outcome.PASS and incomplete is None:
            return verdict_of(question, promised, deviation=found, facts=explained.facts)
        accuses_none = explained.outcome in (Outcome.PASS, Outcome.INCONCLUSIVE)
        if accuses_none and not _lacks(explained, promised):
            note = inconclusive(f"deviation {found} may be why the promise was not kept; that is open.")
            why = (*explained.findings, *((incomplete,) if incomplete else ()))
            undecided = undecided or Checked(findings=(note, *why), facts=explained.facts)
    for change, turned in IN_MOTION.items() if _is_newer(question) else ():
        otherwise = run_checkers(question, frozenset({turned.name}))
        if otherwise.outcome in (Outcome.PASS, Outcome.INCONCLUSIVE) and not _lacks(otherwise, promised):
            return verdict_of(question, otherwise, facts=otherwise.facts | {"upstream_change": change})
    return verdict_of(question, undecided or _unexplained_first(promised, nearest))


def _explanations(expected: Sequence[Deviation], shipped: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Each deviation with the variants to try; last all of them, which is named after the one that explains most by itself."""
    for each in expected:
        alone = frozenset({each.variant})
        yield from ((each.id, variants) for variants in dict.fromkeys((alone, alone | set(each.company))))
    if expected and len(shipped) > 1:
        yield "", shipped


def _unexplained_first(promised: Checked, nearest: Checked) -> Checked:
    """What the nearest deviation leaves unexplained before the rest: it is what is new about this kubelet."""
    left = _accused(nearest)
    ordered = sorted(promised.findings, key=lambda each: left.isdisjoint(_stands_on(each)))
    return msgspec.structs.replace(promised, findings=tuple(ordered))


def _accused(checked: Checked) -> set[tuple[str, int]]:
    """The lines that its accusations stand on."""
    return {place for each in checked.findings if each.outcome is Outcome.FAIL for place in _stands_on(each)}


def _is_newer(question: Question) -> bool:
    """Whether a kubelet is newer than every model: what upstream has decided since then is not known."""
    return any(kubelet_version(each.profile, each.version).release > RELEASES[-1] for each in question.histories)


def _lacks(explained: Checked, promised: Checked) -> bool:
    """Whether a variant lacks the evidence of the very lines that are accused; not what the promise leaves open as well."""
    accused = _accused(promised)
    known = (*promised.findings, *(each for each in explained.findings if each.is_excused or each.is_too_short))
    of_the_variant = (each for each in explained.findings if each not in known)
    return any(accused.intersection(_stands_on(each)) for each in of_the_variant)


def _stands_on(finding: Finding) -> frozenset[tuple[str, int]]:
    """History lines; of the only history, without a name."""
    return frozenset((*(("", line) for line in finding.lines), *finding.places))


def _gone(question: Question, expected: Sequence[Deviation]) -> tuple[Finding, ...]:
    """Deviations that this kubelet was expected to show and that its history contradicts.

    Where promise and variant both explain the history, it decides nothing, and nothing is gone.
    """
    return tuple(
        fail(
            f"deviation {each.id} is gone: the promise was kept where kubelets since {each.since} are known to break it. "
            "Its entry in deviations.yaml has to end."
        )
        for each in expected
        if run_checkers(question, frozenset({each.variant})).outcome is Outcome.FAIL
    )


def _fewest(checked: Checked) -> dict[str, Any]:
    """What a PASS says of the kind of evidence of which it has the fewest."""
    shown = checked.fewest if checked.outcome is Outcome.PASS else None
    return {} if shown is None else {FEWEST: msgspec.structs.asdict(shown)}


def verdict_of(
    question: Question, checked: Checked, *, deviation: str | None = None, facts: dict[str, Any] | None = None
) -> Verdict:
    """The verdict with the requirement before each finding, worst first, and the history lines that they stand on."""
    only = question.histories[0].name if len(question.histories) == 1 else ""
    findings = worst_first(checked.findings)
    stands_on = {(name or only, line) for each in findings for name, line in _stands_on(each)}
    return Verdict(
        requirement=question.requirement.id,
        scenario=question.name,
        profile=question.subject,
        outcome=checked.outcome,
        mode=question.requirement.mode,
        findings=tuple(f"{question.requirement.id}: {each.sentence}" for each in findings),
        grounds=tuple(_ground(each, only, question.subject) for each in findings),
        evidence=tuple(
            Evidence(
                file=f"history/{each.name}.jsonl",
                lines=tuple(sorted(line for name, line in stands_on if name == each.name)),
            )
            for each in question.histories
        ),
        deviation=deviation,
        facts=(checked.facts if facts is None else facts) | _fewest(checked),
    )


def _ground(finding: Finding, only: str, profile: str) -> Ground:
    """The history that a finding rests on; of several the first. `only`: the name of the only one there is."""
    places = finding.places or tuple((only, line) for line in finding.lines)
    scenario = places[0][0] if places else only
    lines = tuple(line for name, line in places if name == scenario)
    return Ground(scenario=scenario, profile=profile, lines=lines, missed=finding.missed)


def run_checkers(question: Question, variants: frozenset[str]) -> Checked:
    """What the requirement's checkers say, all together, with the prediction under these variants of the model.

    In a comparison the checkers of single scenarios judge each, and those of comparisons all of them.
    """
    if len(question.histories) == 1:
        checks = tuple(_checks(question.histories[0], variants))
        return _together(checks) if checks else _no_checker(question)
    comparing = tuple(_comparisons(question, variants))
    if not comparing:
        return _no_checker(question)
    each_alone = {each.name: _together(_checks(each, variants)) for each in question.histories}
    compared = _together(comparing)
    return Checked(
        findings=(
            *(finding.in_history(name) for name, checked in each_alone.items() for finding in checked.findings),
            *compared.findings,
        ),
        facts={**compared.facts, COMPARED: {name: checked.facts for name, checked in each_alone.items()}},
        fewest=fewest_of(each.fewest for each in (compared, *each_alone.values())),
    )


def _no_checker(question: Question) -> Checked:
    named = ", ".join(question.requirement.checkers) or "none"
    what = "scenario" if len(question.histories) == 1 else "comparison"
    return Checked(findings=(error(f"no checker for {what} {question.name!r} among its own ({named})."),))


def _together(checks: Iterable[tuple[str, Callable[[], Checked]]]) -> Checked:
    """The findings and facts of several checkers."""
    findings: list[Finding] = []
    facts: dict[str, Any] = {}
    fewest: Observed | None = None
    for name, check in checks:
        checked = _safely(name, check)
        findings += [each for each in checked.findings if each not in findings]
        facts = {**checked.facts, **facts, **_more_delays(facts, checked.facts)}
        fewest = fewest_of((fewest, checked.fewest))
    return Checked(findings=tuple(findings), facts=facts, fewest=fewest)


def _comparisons(question: Question, variants: frozenset[str]) -> Iterable[tuple[str, Callable[[], Checked]]]:
    wanted = [CHECKERS[name] for name in question.requirement.checkers if CHECKERS[name].compares]
    cases = [_case(each, variants) for each in question.histories if wanted]
    for each in wanted:
        yield each.name, partial(each, cases)


def _checks(judgement: JudgementInput, variants: frozenset[str]) -> Iterable[tuple[str, Callable[[], Checked]]]:
    named = [CHECKERS[name] for name in judgement.requirement.checkers]
    wanted = [each for each in named if each.reads is type(judgement.scenario) and not each.compares]
    case = _case(judgement, variants) if wanted else None
    for each in wanted:
        yield each.name, partial(each, case)


def _case(judgement: JudgementInput, variants: frozenset[str]) -> Any:
    return KINDS[type(judgement.scenario)].case(judgement.scenario, judgement, variants or judgement.memo.documented)


def _safely(name: str, check: Callable[[], Checked]) -> Checked:
    """A checker's answer; its crash is a fault of this suite, and says nothing about Kubernetes."""
    try:
        return check()
    except Exception as crash:  # noqa: BLE001 - whatever a checker runs into must not read as a pass or a FAIL
        return Checked(findings=(crashed(f"checker {name}", crash),))


def crashed(what: str, crash: Exception) -> Finding:
    """The finding for a crash of ours."""
    return error(
        f"{what} crashed: {type(crash).__name__} {crash}. "
        "This is a fault of the suite; the history is kept. Replay: crashloop report --again RUN."
    )


def _more_delays(known: dict[str, Any], further: dict[str, Any]) -> dict[str, Any]:
    """Checkers that judge some of the delays do not hide those of one that judges all."""
    return (
        {"delays": max(known["delays"], further["delays"], key=len)}
        if "delays" in known and "delays" in further
        else {}
    )
