"""Power and false alarms are counted in runs: what found nothing counts, what did not come to its end does not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.ab_power.counting import ANY, ComparedRun, compared_run, counted
from bench.ab_power.text import counts_as_table
from crashloop.report.stress.results import Comparison, StressResults
from crashloop.slo.compare import Effect, EffectReading
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.loads import Crash
from crashloop.stress.plan import StressPlan, with_own_kubelet
from crashloop.stress.profile import Stage, StressNode
from crashloop.verdict import ExitCode
from suites.selftest.kit.stress_comparison_example import stress_run
from suites.selftest.kit.stress_kit import MAX_1S, plan

CPU, REQUESTS = "CPU per restart", "requests per restart"
HIGHER, LOWER, UNDECIDED = EffectReading.HIGHER, EffectReading.LOWER, EffectReading.UNDECIDED
TOO_LITTLE = EffectReading.TOO_LITTLE
OWN = with_own_kubelet(MAX_1S, "/tmp/dearer")
NODES = (
    StressNode(name="base", profile="max-1s", arm="baseline"),
    StressNode(name="treat", profile="max-1s", arm="treatment"),
)
LOADS = {"a": Crash(node="base"), "b": Crash(node="treat")}
STORM = Stage(name="storm", arm="both", duration_s=50, users={"a": 1, "b": 1}, settle_s=0)


def effect(what: str, reading: EffectReading, *, primary: bool = True, ratio: float | None = 1.02) -> Effect:
    return Effect(
        what=what,
        statistic="mean",
        unit="x",
        reading=reading,
        sentence="",
        pairs=10,
        samples=(10, 10),
        primary=primary,
        ratio=ratio,
        smallest_visible=None if ratio is None else 1.04,
    )


def results(*effects: Effect, treatment: KubeletProfile = MAX_1S, mix: str = "", **more: Any) -> StressResults:
    comparison = Comparison(mix=mix, baseline=MAX_1S.name, treatment=treatment.name, effects=effects)
    shown: dict[str, Any] = {"comparisons": (comparison,)} | more
    return stress_run(profile="ab-kubelet", **shown).results


def planned(treatment: KubeletProfile = MAX_1S) -> StressPlan:
    return plan(MAX_1S, treatment, nodes=NODES, loads=LOADS, stages=(STORM,))


def run(cpu: EffectReading, requests: EffectReading = UNDECIDED, treatment: str = "A/A", **of_cpu: Any) -> ComparedRun:
    effects = {CPU: effect(CPU, cpu, **of_cpu), REQUESTS: effect(REQUESTS, requests)}
    return ComparedRun(treatment=treatment, took_s=780.0, effects=effects)


def test_a_run_of_equal_kubelets_has_its_primary_effects() -> None:
    found = compared_run(results(effect(CPU, UNDECIDED), effect("memory", HIGHER, primary=False)), planned())
    assert found is not None
    assert (found.treatment, found.took_s) == ("ab-kubelet: A/A", 240.0)
    assert list(found.effects) == [CPU]


def test_a_run_with_another_kubelet_is_named_by_its_file_and_its_effects_by_their_mix() -> None:
    found = compared_run(results(effect(CPU, HIGHER), treatment=OWN, mix="m"), planned(OWN))
    assert found is not None
    assert (found.treatment, list(found.effects)) == ("ab-kubelet: dearer", [f"m, {CPU}"])


def test_a_run_with_another_configuration_is_named_by_its_profile() -> None:
    other = KubeletProfile(name="max-300s")
    found = compared_run(results(effect(CPU, HIGHER), treatment=other), planned(other))
    assert found is not None
    assert found.treatment == "ab-kubelet: max-300s"


def test_an_interrupted_run_and_one_without_a_comparison_are_left_out() -> None:
    interrupted = results(effect(CPU, HIGHER), exit_code=ExitCode.INTERRUPTED)
    assert compared_run(interrupted, planned()) is None
    assert compared_run(results(comparisons=()), planned()) is None


def test_false_alarms_and_power_are_shares_of_all_runs_also_of_those_that_found_nothing() -> None:
    equal = [run(UNDECIDED), run(EffectReading.EQUIVALENT), run(LOWER, LOWER), run(UNDECIDED, HIGHER)]
    dearer = [run(HIGHER, treatment="dearer", ratio=ratio) for ratio in (1.04, 1.05, 1.06)]
    dearer += [run(TOO_LITTLE, treatment="dearer", ratio=None)]
    assert counts_as_table(counted([*dearer, *equal])).splitlines() == [
        "| Treatment | Primary effect | Higher | Higher or lower | Ratio, median | Visible with a power of 80 %, median "
        "| Longest run |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        f"| A/A | {CPU} | 0 of 4: 0 % (0 to 49 %) | 1 of 4: 25 % (5 to 70 %) | 1.020 | 4.0 % | 13.0 min |",
        f"| A/A | {REQUESTS} | 1 of 4: 25 % (5 to 70 %) | 2 of 4: 50 % (15 to 85 %) | 1.020 | 4.0 % | 13.0 min |",
        f"| A/A | {ANY} | 1 of 4: 25 % (5 to 70 %) | 2 of 4: 50 % (15 to 85 %) | – | – | 13.0 min |",
        f"| dearer | {CPU} | 3 of 4: 75 % (30 to 95 %) | 3 of 4: 75 % (30 to 95 %) | 1.050 | 4.0 % | 13.0 min |",
        f"| dearer | {REQUESTS} | 0 of 4: 0 % (0 to 49 %) | 0 of 4: 0 % (0 to 49 %) | 1.020 | 4.0 % | 13.0 min |",
        f"| dearer | {ANY} | 3 of 4: 75 % (30 to 95 %) | 3 of 4: 75 % (30 to 95 %) | – | – | 13.0 min |",
    ]


def test_an_effect_that_a_run_lacks_was_not_found_in_it() -> None:
    cpu, *_ = counted([run(HIGHER), ComparedRun(treatment="A/A", took_s=60.0, effects={})])
    assert (cpu.runs, cpu.higher, cpu.different, cpu.longest_s) == (2, 1, 1, 780.0)


def test_without_runs_there_is_no_line() -> None:
    assert list(counted([])) == []


@given(st.lists(st.tuples(st.sampled_from(EffectReading), st.sampled_from(EffectReading)), min_size=1))
def test_any_effect_is_found_in_at_least_as_many_runs_as_each_and_at_most_in_all_together(
    readings: list[tuple[EffectReading, EffectReading]],
) -> None:
    *each, together = counted(run(cpu, requests) for cpu, requests in readings)
    for what in ("higher", "different"):
        shares = [getattr(line, what) for line in each]
        assert max(shares) <= getattr(together, what) <= min(len(readings), sum(shares))


@pytest.mark.parametrize("alarms", [0, 2, 40])
def test_the_interval_of_a_share_is_wilsons(alarms: int) -> None:
    *_, together = counts_as_table(counted([*[run(HIGHER)] * alarms, *[run(UNDECIDED)] * (40 - alarms)])).splitlines()
    shown = {0: "0 % (0 to 9 %)", 2: "5 % (1 to 17 %)", 40: "100 % (91 to 100 %)"}
    assert f"{alarms} of 40: {shown[alarms]}" in together
