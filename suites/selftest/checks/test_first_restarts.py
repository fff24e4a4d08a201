"""First restarts: one may come late for many reasons, the fastest tenth of many may not."""

import random

import msgspec
import pytest

from crashloop.checks.pooled import CHANCE
from crashloop.checks.samples import RELIST_TO_CREATE_S, latest_of_fastest_s
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Until
from crashloop.verdict import Outcome, Verdict
from sim import CALM, Fault
from sim.faults import PunctualityFault
from sim.host import BUSY, FROZEN, STARVED, HostModel
from suites.selftest.kit.cases import app, compared, scenario
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.histories import History
from suites.selftest.kit.proof import Share
from tools.trials import Trial, recordings_of, verdict_of

STOCK = KubeletProfile(name="stock")
PROMPT_S = (0.9, 0.1, 0.7, 0.3, 1.0, 0.5, 0.8, 0.2, 0.6, 0.4)
QUICK = {each.scenario.name: each for each in trials() if each.requirement.checkers == ("first-restarts",)}
ALL, BY_RULE, OF_INIT = "first-restarts", "first-restarts-by-rule", "first-restarts-of-init-containers"


def restarted(number: int, late_s: float) -> History:
    """A first restart that is created `late_s` after the exit."""
    of = scenario(app(exits_with(1, times=2)), name=f"loop-{number}", until=Until(restarts={"app": 1}))
    history = History(msgspec.structs.replace(of, profile="stock"))
    return history.lives("app", (0.5, 1.5, 1), (1.6 + late_s, None, 0))


def judged(*histories: History) -> Verdict:
    return compared(*(each.ends(20) for each in histories), checkers=("first-restarts",), profile=STOCK)


def judged_late_by(late_s: float) -> Verdict:
    return judged(*(restarted(number, each + late_s) for number, each in enumerate(PROMPT_S)))


def test_restarts_within_a_period_of_the_kubelets_looks_pass_with_their_figure() -> None:
    verdict = judged_late_by(0.0)
    assert (verdict.outcome, verdict.findings) == (Outcome.PASS, ())
    assert verdict.facts["estimate"] == "the fastest tenth of 10 first restarts within 0.1 s"


def test_restarts_that_are_all_a_second_late_fail() -> None:
    verdict = judged_late_by(1.0)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.findings == (
        "CAP-3: the fastest tenth of 10 first restarts, which have no delay, took up to 1.1 s from exit to create; "
        "0.952 s is the most for a kubelet that looks once a second.",
    )


def test_nine_late_restarts_of_ten_prove_nothing() -> None:
    late = [restarted(number, each + 1.0) for number, each in enumerate(PROMPT_S[1:])]
    assert judged(restarted(10, 0.2), *late).outcome is Outcome.PASS


def test_slow_control_containers_explain_late_restarts() -> None:
    late = [restarted(number, each + 1.0).control(2.0, create_s=1.0) for number, each in enumerate(PROMPT_S)]
    verdict = judged(*late)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings[0].endswith("Stalls that the recordings show explain it.")


def test_few_restarts_are_not_enough() -> None:
    verdict = judged(*(restarted(number, 1.5) for number in range(8)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings[0].startswith("CAP-3: 8 first restarts seen, 9 needed")


def test_more_restarts_have_a_shorter_bound() -> None:
    bounds = [latest_of_fastest_s(max(1, number // 10), number) for number in (9, 11, 22, 60)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] < 1.0


def test_random_moments_hardly_ever_exceed_the_bound() -> None:
    chance = random.Random(1)
    bound_s = latest_of_fastest_s(2, 22) - RELIST_TO_CREATE_S
    late = sum(sorted(chance.random() for _ in range(22))[1] > bound_s for _ in range(20_000))
    assert late <= 10 * CHANCE * 20_000


def verdict_on(name: str, host: HostModel, *faults: Fault, seed: int = 1) -> Verdict:
    trial: Trial = QUICK[name]
    recordings = recordings_of(trial.scenario, frozenset(faults), host=host, seed=seed)
    return verdict_of(trial.requirement, trial.scenario, *recordings)


@pytest.mark.parametrize("pressure", [0.0, 0.7])
@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (PunctualityFault.FIRST_1_S_LATE, ALL),
        (PunctualityFault.FIRST_1_S_LATE, BY_RULE),
        (PunctualityFault.FIRST_1_S_LATE, OF_INIT),
        (PunctualityFault.FIRST_BY_RULE_1_S_LATE, BY_RULE),
        (PunctualityFault.FIRST_INIT_1_S_LATE, OF_INIT),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_second_before_first_restarts_is_a_fail_whatever_others_wait_for(
    fault: PunctualityFault, name: str, pressure: float
) -> None:
    host = msgspec.structs.replace(CALM, name="pressed", extra_pressure=pressure)
    assert verdict_on(name, host, fault).outcome is Outcome.FAIL


@pytest.mark.parametrize("name", QUICK)
def test_a_right_kubelet_passes_on_a_busy_host(name: str, share: Share) -> None:
    assert {verdict_on(name, BUSY, seed=seed).outcome for seed in share(range(1, 9))} == {Outcome.PASS}


@pytest.mark.parametrize("host", [STARVED, FROZEN], ids=lambda host: host.name)
@pytest.mark.parametrize("name", QUICK)
def test_a_right_kubelet_without_a_cpu_is_never_accused(name: str, host: HostModel, share: Share) -> None:
    # With these seeds, a bound without excuses accuses some.
    assert Outcome.FAIL not in {verdict_on(name, host, seed=seed).outcome for seed in share(range(1, 15))}
