"""Runs the checkers of a requirement on one recorded scenario, or on several together, under given variants of the model."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from crashloop.checks.finding import Checked, Finding, Observed, error, fewest_of
from crashloop.checks.judgement import JudgementInput, Question
from crashloop.checks.kinds import CHECKERS, KINDS
from crashloop.verdict import COMPARED


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
