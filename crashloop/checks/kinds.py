"""All checkers by their names in the catalogue, and how each kind of scenario is judged: one row per kind.

A further kind needs a row here, and one in each table that `crashloop.spec.scenario` names; a further room of checkers a place in
`CHECKERS`.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from crashloop.checks import (
    api,
    blocked_starts,
    circumstances,
    comparisons,
    configuration,
    decisions,
    delays,
    deletion,
    disturbances,
    grace,
    initialized,
    jobs,
    kept,
    kills,
    last_exit,
    metrics,
    phase,
    pods,
    probe_periods,
    probes,
    pulls,
    readiness,
    restart_all,
    restart_all_stated,
    restart_cost,
    restart_rates,
    samples,
    started,
    starts,
    statements,
)
from crashloop.checks.api import AnswersCase
from crashloop.checks.checker import Checker, gathered
from crashloop.checks.configuration import StartupCase, node_objections
from crashloop.checks.finding import Finding
from crashloop.checks.integrity import pod_obstacles
from crashloop.checks.judgement import JudgementInput
from crashloop.checks.restart_rates import TextCase
from crashloop.model.api_server import predict_answers
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.model.prediction import predict_startup
from crashloop.restarts.case import Case, case_of
from crashloop.spec.scenario import AnyScenario, ApiScenario, PodScenario, StartupScenario, TextScenario

Variants = frozenset[str]
"""Names of variants of the model (crashloop.model.variants)."""

CHECKERS: dict[str, Checker[Any]] = gathered(
    api,
    blocked_starts,
    circumstances,
    comparisons,
    configuration,
    decisions,
    delays,
    deletion,
    disturbances,
    initialized,
    jobs,
    kept,
    grace,
    kills,
    last_exit,
    metrics,
    phase,
    pods,
    probe_periods,
    probes,
    pulls,
    readiness,
    restart_all,
    restart_all_stated,
    restart_cost,
    restart_rates,
    samples,
    started,
    starts,
    statements,
)
"""Every name that a requirement may use."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """How one kind of scenario is judged. The first argument of each function is the scenario."""

    case: Callable[[Any, JudgementInput, Variants], Any]
    """The argument of its checkers: the scenario as declared, as recorded, and as predicted under variants of the model."""
    obstacles: Callable[[Any, JudgementInput], tuple[Finding, ...]]
    """Why nothing in an undamaged recording can be judged; none if it can."""


def _pod_case(declared: PodScenario, judgement: JudgementInput, variants: Variants) -> Case:
    return case_of(
        declared,
        judgement.recording,
        judgement.profile,
        judgement.version,
        memo=judgement.memo,
        variants=variants,
        later=judgement.later,
        parameters=_parameters(judgement),
    )


def _parameters(judgement: JudgementInput) -> dict[str, Any]:
    return judgement.requirement.parameters_for(kubelet_version(judgement.profile, judgement.version))


def _pod_obstacles(scenario: PodScenario, judgement: JudgementInput) -> tuple[Finding, ...]:
    return pod_obstacles(scenario, judgement.recording) or node_objections(scenario, judgement)


def _startup_case(scenario: StartupScenario, judgement: JudgementInput, variants: Variants) -> StartupCase:
    return StartupCase(
        scenario=scenario,
        prediction=predict_startup(scenario, judgement.profile, judgement.version, variants),
        recording=judgement.recording,
    )


def _answers_case(scenario: ApiScenario, judgement: JudgementInput, _: Variants) -> AnswersCase:
    gates = effective_gates(judgement.profile, judgement.version)
    return AnswersCase(
        scenario=scenario,
        due=predict_answers(scenario, gates, judgement.version),
        recording=judgement.recording,
        parameters=_parameters(judgement),
    )


KINDS: dict[type[AnyScenario], Judged] = {
    PodScenario: Judged(case=_pod_case, obstacles=_pod_obstacles),
    StartupScenario: Judged(case=_startup_case, obstacles=lambda *_: ()),
    ApiScenario: Judged(case=_answers_case, obstacles=lambda *_: ()),
    TextScenario: Judged(case=lambda scenario, *_: TextCase(scenario=scenario), obstacles=lambda *_: ()),
}
