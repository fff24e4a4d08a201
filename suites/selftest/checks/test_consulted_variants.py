"""A judgement by the promise knows which variants of the model could have changed it, so that no other one has to be tried."""

from random import Random

import pytest

from crashloop.checks.judge import run_checkers
from crashloop.checks.judgement import JudgementInput
from crashloop.checks.kinds import CHECKERS
from crashloop.model.variants import DOCUMENTED, VARIANTS, Consulted
from sim import simulate
from suites.selftest.kit.cases import requirement
from suites.selftest.kit.random_scenarios import random_case
from tools.trials import recorded


def on_a_random_history(seed: int) -> JudgementInput:
    case = random_case(seed)
    events = simulate(case.scenario, case.profile, case.version, rng=Random(seed), host=case.host, later=(case.later,))
    return JudgementInput(
        requirement=requirement(*CHECKERS, min_delays=1, within_s=[10, 30]),
        scenario=case.scenario,
        profile=case.profile,
        version=case.version,
        later=(case.later,),
        recording=recorded(events),
    )


@pytest.mark.parametrize("seed", range(12))
def test_a_variant_that_no_checker_asked_for_changes_no_answer(seed: int) -> None:
    question = on_a_random_history(seed)
    promised = run_checkers(question, DOCUMENTED)
    others = [each.name for each in VARIANTS if each.name not in question.memo.documented.asked]
    assert others
    for variant in others:
        assert run_checkers(question, frozenset({variant})) == promised, variant


def test_no_variant_is_noted_before_somebody_asks() -> None:
    documented = Consulted()
    assert documented == DOCUMENTED
    assert "counter-collected" not in documented
    assert documented.asked == {"counter-collected"}
