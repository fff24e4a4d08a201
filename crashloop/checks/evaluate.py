"""Runs the checkers of a requirement on one recorded scenario, under given variants of the model."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from crashloop.checks.case import Case, Memo
from crashloop.checks.finding import Checked, Finding, error
from crashloop.checks.registry import POD_CHECKERS, STARTUP_CHECKERS
from crashloop.checks.startup import StartupCase
from crashloop.history.recording import Recording
from crashloop.model.gates import effective_gates
from crashloop.model.prediction import predict, predict_startup
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Requirement
from crashloop.spec.scenario import PodScenario, Scenario
from crashloop.spec.version import KubernetesVersion


class JudgementInput(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement to be judged on one recorded scenario."""

    requirement: Requirement
    scenario: Scenario
    profile: KubeletProfile
    """The node's, or the candidate of a startup scenario."""
    version: KubernetesVersion
    """The cluster's; a profile may have its own."""
    recording: Recording
    memo: Memo = msgspec.field(default_factory=Memo)
    """Shared by the questions about one recorded scenario."""


def run_checkers(question: JudgementInput, deviations: frozenset[str]) -> Checked:
    """What the requirement's checkers say, all together, with the prediction under these variants of the model."""
    checks = tuple(_checks(question, deviations))
    if not checks:
        named = ", ".join(question.requirement.checkers) or "none"
        return Checked(
            findings=(error(f"no checker for scenario {question.scenario.name!r} among its own ({named})."),)
        )
    findings: list[Finding] = []
    facts: dict[str, Any] = {}
    for name, check in checks:
        checked = _safely(name, check)
        findings += [each for each in checked.findings if each not in findings]
        facts = {**checked.facts, **facts, **_more_delays(facts, checked.facts)}
    return Checked(findings=tuple(findings), facts=facts)


def _checks(question: JudgementInput, deviations: frozenset[str]) -> Iterable[tuple[str, Callable[[], Checked]]]:
    scenario, recording = question.scenario, question.recording
    wanted = question.requirement.checkers
    if isinstance(scenario, PodScenario):
        predictions = question.memo.predictions
        if deviations not in predictions:
            predictions[deviations] = predict(scenario, question.profile, question.version, deviations)
        case = Case(
            scenario=scenario,
            profile=question.profile,
            prediction=predictions[deviations],
            recording=recording,
            memo=question.memo,
            gates=effective_gates(question.profile, question.version),
            parameters=question.requirement.parameters,
        )
        for name in wanted:
            if name in POD_CHECKERS:
                yield name, partial(POD_CHECKERS[name], case)
        return
    startup = StartupCase(
        scenario=scenario,
        prediction=predict_startup(scenario, question.profile, question.version, deviations),
        recording=recording,
    )
    for name in wanted:
        if name in STARTUP_CHECKERS:
            yield name, partial(STARTUP_CHECKERS[name], startup)


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
        "This is a fault of the suite; the history is kept. Replay: crashloop analyze RUN."
    )


def _more_delays(known: dict[str, Any], further: dict[str, Any]) -> dict[str, Any]:
    """Checkers that judge some of the delays do not hide those of one that judges all."""
    return (
        {"delays": max(known["delays"], further["delays"], key=len)}
        if "delays" in known and "delays" in further
        else {}
    )
