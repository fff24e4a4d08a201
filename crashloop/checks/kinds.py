"""How each kind of scenario is judged: one row per kind.

A further kind needs a row here, and one in each table that `crashloop.spec.scenario` names.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from crashloop.checks.answers import AnswersCase, check_answer, check_stored, check_stored_size
from crashloop.checks.compared_delays import check_added_restarts, check_same_delays
from crashloop.checks.compared_events import check_same_decisions, check_same_order
from crashloop.checks.effective_config import node_objections
from crashloop.checks.finding import Checked, Finding
from crashloop.checks.first_restarts import check_first_restarts
from crashloop.checks.group_wait import check_group_wait
from crashloop.checks.integrity import pod_obstacles
from crashloop.checks.judgement import JudgementInput
from crashloop.checks.mean_lateness import check_lateness_slope, check_mean_lateness
from crashloop.checks.prompt_starts import check_prompt_starts
from crashloop.checks.registry import POD_CHECKERS
from crashloop.checks.restart_all import check_restart_all_first_start
from crashloop.checks.startup import StartupCase, check_startup
from crashloop.checks.sums import TextCase, check_sums
from crashloop.model.answers import predict_answers
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.model.prediction import predict, predict_startup
from crashloop.model.stored_pod import as_stored
from crashloop.restarts.case import Case
from crashloop.spec.scenario import AnyScenario, ApiScenario, PodScenario, StartupScenario, TextScenario

Variants = frozenset[str]
"""Names of variants of the model (crashloop.model.variants)."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """How one kind of scenario is judged. The first argument of each function is the scenario."""

    checkers: Mapping[str, Callable[[Any], Checked]]
    """By the names that the catalogue uses."""
    case: Callable[[Any, JudgementInput, Variants], Any]
    """The argument of these checkers: the scenario as declared, as recorded, and as predicted under variants of the model."""
    obstacles: Callable[[Any, JudgementInput], tuple[Finding, ...]]
    """Why nothing in an undamaged recording can be judged; none if it can."""


def _pod_case(declared: PodScenario, judgement: JudgementInput, variants: Variants) -> Case:
    scenario = as_stored(declared, variants)
    predictions = judgement.memo.predictions
    if variants not in predictions:
        predictions[variants] = predict(scenario, judgement.profile, judgement.version, variants, later=judgement.later)
    return Case(
        scenario=scenario,
        profile=judgement.profile,
        later=judgement.later,
        prediction=predictions[variants],
        recording=judgement.recording,
        memo=judgement.memo,
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
    PodScenario: Judged(checkers=POD_CHECKERS, case=_pod_case, obstacles=_pod_obstacles),
    StartupScenario: Judged(checkers={"startup": check_startup}, case=_startup_case, obstacles=lambda *_: ()),
    ApiScenario: Judged(
        checkers={"answer": check_answer, "stored": check_stored, "stored-size": check_stored_size},
        case=_answers_case,
        obstacles=lambda *_: (),
    ),
    TextScenario: Judged(
        checkers={"sums": check_sums}, case=lambda scenario, *_: TextCase(scenario=scenario), obstacles=lambda *_: ()
    ),
}

COMPARISONS: Mapping[str, Callable[[Sequence[Case]], Checked]] = {
    "added-restarts": check_added_restarts,
    "first-restarts": check_first_restarts,
    "group-wait": check_group_wait,
    "lateness-slope": check_lateness_slope,
    "mean-lateness": check_mean_lateness,
    "prompt-starts": check_prompt_starts,
    "restart-all-first-start": check_restart_all_first_start,
    "same-decisions": check_same_decisions,
    "same-delays": check_same_delays,
    "same-order": check_same_order,
}
"""Checkers of several pod scenarios together, by the names that the catalogue uses."""

CHECKERS = frozenset({*COMPARISONS, *(name for kind in KINDS.values() for name in kind.checkers)})
"""Every name that a requirement may use."""
