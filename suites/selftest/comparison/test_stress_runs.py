"""Two stress runs compared: which promises and figures differ, why some are not compared, and the exit code."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.comparison.comparison import Comparison
from crashloop.comparison.side import Change
from crashloop.comparison.stress import NOT_ASKED_FOR, compare_stress
from crashloop.comparison.values import JudgedStressRun, ValueChange
from crashloop.slo.measurements import SloVerdict
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.loads import Crash
from crashloop.stress.profile import Disturbance, Slos
from crashloop.verdict import Outcome
from suites.selftest.kit import stress_kit
from suites.selftest.kit.stress_comparison_example import (
    AT_REST,
    BASELINE,
    ENVIRONMENT,
    EXTRA,
    FIGURES,
    LATENESS,
    PLANNED,
    RATE,
    ROWS,
    STARTUP,
    VERDICTS,
    edited,
    figured,
    stage,
    stress_run,
)
from suites.selftest.kit.stress_kit import STORM

SAME = stress_run()


def changes(comparison: Comparison) -> dict[str, Change]:
    return {each.requirement.id: each.change for each in comparison.verdicts if each.change is not Change.SAME}


def figure_changes(comparison: Comparison) -> dict[tuple[str, str], Change | None]:
    return {
        (stage.stage, figure.measure.name): figure.change
        for stage in comparison.stages
        for figure in stage.figures
        if figure.is_change
    }


def value_of(comparison: Comparison, slo: str) -> ValueChange:
    (value,) = (each.value for each in comparison.verdicts if each.requirement.id == slo)
    assert value is not None
    return value


def not_compared(comparison: Comparison) -> dict[str, str]:
    return {
        each.requirement.id: each.value.not_compared
        for each in comparison.verdicts
        if each.value and each.value.not_compared
    }


def test_a_promise_that_gates_and_breaks_is_worse() -> None:
    comparison = compare_stress(SAME, stress_run(edited(STARTUP, outcome=Outcome.FAIL, value=5.2)))
    assert changes(comparison) == {STARTUP: Change.WORSE}
    assert (comparison.exit_code, comparison.differences) == (1, 1)
    (worse, *_) = comparison.verdicts
    assert (worse.outcome, worse.gates) == (Change.WORSE, True)
    assert worse.after is not None
    assert worse.after.findings == ("pod-startup-latency: 1 s.",)


def test_missing_evidence_where_something_gates_has_an_exit_code_of_its_own() -> None:
    unclear = stress_run(edited(STARTUP, outcome=Outcome.INCONCLUSIVE))
    assert changes(compare_stress(SAME, unclear)) == {STARTUP: Change.UNDECIDED}
    assert compare_stress(SAME, unclear).exit_code == 3
    assert compare_stress(unclear, SAME).exit_code == 3


def test_a_value_that_gates_and_got_worse_by_more_than_noise_counts_although_the_promise_is_kept() -> None:
    comparison = compare_stress(SAME, stress_run(edited(STARTUP, value=1.8)))
    (worse, *_) = comparison.verdicts
    assert (worse.requirement.id, worse.change, worse.outcome) == (STARTUP, Change.WORSE, Change.SAME)
    assert value_of(comparison, STARTUP).ratio == pytest.approx(1.8)
    assert comparison.exit_code == 1


def test_what_is_only_reported_is_shown_and_its_value_counts_when_asked_to() -> None:
    slower = stress_run(edited(LATENESS, outcome=Outcome.FAIL, value=4.0))
    assert changes(compare_stress(SAME, slower)) == {LATENESS: Change.WORSE}
    assert compare_stress(SAME, slower).exit_code == 0
    assert compare_stress(SAME, slower, values_count=True).exit_code == 1
    assert compare_stress(slower, SAME, values_count=True).exit_code == 0


def test_a_reported_target_that_is_missed_by_noise_alone_never_counts() -> None:
    missed = stress_run(edited(RATE, outcome=Outcome.FAIL, value=4.9))
    comparison = compare_stress(SAME, missed, values_count=True)
    assert changes(comparison) == {RATE: Change.WORSE}
    assert comparison.exit_code == 0


def test_a_rate_is_worse_where_it_is_lower() -> None:
    assert changes(compare_stress(SAME, stress_run(edited(RATE, value=3.0)))) == {RATE: Change.WORSE}
    assert changes(compare_stress(SAME, stress_run(edited(RATE, value=12.0)))) == {RATE: Change.BETTER}


def test_a_promise_that_gates_in_one_of_the_runs_counts() -> None:
    gating = edited(LATENESS, mode="gate")
    broken = edited(LATENESS, outcome=Outcome.FAIL)
    assert compare_stress(stress_run(gating), stress_run(broken)).exit_code == 1


def test_figures_of_a_stage_are_compared_by_their_directions_and_count_when_asked_to() -> None:
    after = stress_run(stages=figured(runtime_cpu_cores=0.8, restarts_per_s=3.0, requests_per_restart=2.0))
    comparison = compare_stress(SAME, after)
    assert figure_changes(comparison) == {
        ("storm", "restarts_per_s"): Change.WORSE,
        ("storm", "requests_per_restart"): Change.BETTER,
        ("storm", "runtime_cpu_cores"): Change.WORSE,
    }
    assert (comparison.differences, comparison.exit_code) == (3, 0)
    assert compare_stress(SAME, after, values_count=True).exit_code == 1


def test_a_figure_that_neither_run_has_is_left_out_and_one_of_few_samples_says_so() -> None:
    (baseline, _) = compare_stress(SAME, SAME).stages
    assert {each.measure.name: each.not_compared for each in baseline.figures} == {
        "restarts_per_s": "",
        "kubelet_cpu_cores": "",
        "startup_p50_s": "",
        "startup_p99_s": "p99 of fewer than 100 samples.",
    }


def test_stages_are_matched_by_name_mix_arm_and_round() -> None:
    blocks = (
        stage(arm="baseline", mix="5 pods"),
        stage(arm="treatment", mix="5 pods"),
        stage(arm="baseline", mix="5 pods", figures=FIGURES | {"kubelet_cpu_cores": 0.3}),
    )
    before, after = stress_run(stages=blocks), stress_run(stages=(*blocks[:2], blocks[0]))
    comparison = compare_stress(before, after)
    assert [each.stage for each in comparison.stages] == [
        "storm, 5 pods, baseline",
        "storm, 5 pods, treatment",
        "storm, 5 pods, baseline, round 2",
    ]
    assert figure_changes(comparison) == {("storm, 5 pods, baseline, round 2", "kubelet_cpu_cores"): Change.BETTER}


def test_what_was_put_on_in_another_number_is_not_compared() -> None:
    more = stage(users={"healthy": 1, "crashers": 40}, figures=FIGURES | {"kubelet_cpu_cores": 9.0})
    comparison = compare_stress(SAME, stress_run(edited(RATE, value=60.0), stages=(BASELINE, more)))
    reason = "1 healthy and 2 crashers in the first run, 1 healthy and 40 crashers in the second."
    assert comparison.stages[1].not_compared == reason
    assert not_compared(comparison) == dict.fromkeys((STARTUP, LATENESS, RATE), f"stage storm: {reason}")
    assert (comparison.differences, comparison.exit_code) == (0, 0)


def test_a_load_of_one_name_that_is_not_the_same_is_not_compared() -> None:
    faster = stress_kit.profile(loads={"healthy": stress_kit.HEALTHY, "crashers": Crash(node="storm", run_s=0.1)})
    comparison = compare_stress(SAME, stress_run(edited(RATE, value=60.0), load=faster))
    assert comparison.stages[1].not_compared == "the runs do not have the same load crashers."
    assert comparison.stages[0].not_compared == ""
    assert changes(comparison) == {}


def test_a_stage_of_one_run_only_hinders_the_promises_that_look_at_it() -> None:
    short = stress_run(edited(RATE, value=1.0), stages=(BASELINE,))
    assert not_compared(compare_stress(SAME, short)) == dict.fromkeys(
        (STARTUP, LATENESS, RATE), "stage storm: measured in the first run only."
    )
    no_baseline = compare_stress(SAME, stress_run(edited(RATE, value=1.0), stages=(stage(),)))
    assert not_compared(no_baseline).keys() == {STARTUP, LATENESS}
    assert changes(no_baseline) == {RATE: Change.WORSE}


def test_a_run_that_was_disturbed_is_not_compared_with_one_that_was_not() -> None:
    disturbed = stress_kit.profile(disturbances=(Disturbance(after_s=9, action="kill-kubelet", node="storm"),))
    comparison = compare_stress(SAME, stress_run(load=disturbed))
    assert {each.not_compared for each in comparison.stages} == {"the runs do not disturb the cluster in the same way."}


def test_a_row_that_is_not_the_same_is_not_compared() -> None:
    comparison = compare_stress(SAME, stress_run(edited(LATENESS, value=99.0, percentile=50)))
    assert not_compared(comparison) == {LATENESS: "the row is not the same in both runs."}


def test_the_same_load_for_another_time_widens_the_threshold() -> None:
    longer = stress_kit.profile(stages=(stress_kit.BASELINE, msgspec.structs.replace(STORM, duration_s=90)))
    after = stress_run(edited(STARTUP, value=2.0), load=longer)
    startup = value_of(compare_stress(SAME, after), STARTUP)
    assert (startup.threshold, startup.change) == (2.25, Change.SAME)


def test_another_kubelet_is_what_is_compared_and_widens_nothing() -> None:
    after = stress_run(edited(STARTUP, value=2.0), kubelet=KubeletProfile(name="max-300s"))
    assert compare_stress(SAME, after).exit_code == 1


def test_a_host_that_worked_on_something_else_widens_the_threshold_by_what_it_left() -> None:
    busy = stress_run(edited(STARTUP, value=2.5), stages=figured(foreign_cpu_share=0.62, kubelet_cpu_cores=0.2))
    comparison = compare_stress(SAME, busy)
    startup = value_of(comparison, STARTUP)
    assert startup.threshold == pytest.approx(1.5 * 0.95 / 0.38)
    assert startup.change is Change.SAME
    assert {each.threshold for each in comparison.stages[0].figures if each.change} == {1.5}
    assert figure_changes(comparison) == {}


def test_a_host_at_its_limit_widens_the_threshold() -> None:
    full = figured(host_busy_share=0.95, kubelet_cpu_cores=0.2)
    comparison = compare_stress(SAME, stress_run(edited(STARTUP, value=2.0), stages=full))
    assert value_of(comparison, STARTUP).threshold == 2.25
    assert figure_changes(comparison) == {}
    assert comparison.exit_code == 0


def test_a_host_with_fewer_cores_widens_the_threshold_as_well() -> None:
    startup = value_of(compare_stress(stress_run(cores=8), stress_run(edited(STARTUP, value=5.5))), STARTUP)
    assert startup.threshold == pytest.approx(6.0)
    assert startup.change is Change.SAME


def test_a_verdict_of_the_second_run_only_is_allowed_and_one_that_is_gone_is_not() -> None:
    assert changes(compare_stress(SAME, stress_run(EXTRA))) == {"extra": Change.ALLOWED}
    gone = compare_stress(stress_run(EXTRA), SAME)
    assert (changes(gone), gone.exit_code) == ({"extra": Change.UNDECIDED}, 3)


def test_a_row_that_the_second_load_does_not_ask_for_is_allowed() -> None:
    fewer = stress_kit.profile(slos=Slos(files=("node",)))
    comparison = compare_stress(stress_run(EXTRA), stress_run(load=fewer))
    assert (changes(comparison), comparison.exit_code) == ({"extra": Change.ALLOWED}, 0)
    (allowed,) = comparison.allowed
    assert allowed.after is not None
    assert allowed.after.findings == (NOT_ASKED_FOR,)


def test_what_else_differs_is_stated() -> None:
    environment: dict[str, Any] = {**ENVIRONMENT, "host": {**ENVIRONMENT["host"], "cpus": 8}}
    after = stress_run(
        provider="kind",
        kubernetes_version="1.36.3",
        profile="other",
        environment=environment,
        kubelet=KubeletProfile(name="stock"),
        load=stress_kit.profile(
            loads={
                "healthy": stress_kit.HEALTHY,
                "crashers": Crash(node="storm", exit_code=7),
                "final": Crash(node="storm"),
            }
        ),
        rows=(msgspec.structs.replace(ROWS[0], promise="p99 at most 9 s"), *ROWS[1:]),
        stages=(stage("baseline", AT_REST | {"foreign_cpu_share": None}, users={"healthy": 1}), stage()),
    )
    stated = {each.subject: (each.before, each.after) for each in compare_stress(SAME, after).circumstances}
    assert stated == {
        "provider": ("local", "kind"),
        "Kubernetes": ("1.37.1", "1.36.3"),
        "load": ("example", "other"),
        "load crashers": ("run_s 0.5, exit_code 1", "run_s 0.0, exit_code 7"),
        "load final": ("absent", "kind crash"),
        "kubelet profile of storm": (
            "max-1s: crashLoopBackOff:; maxContainerRestartPeriod: 1s (0, 1 s)",
            "stock: # nothing is set: the kubelet's defaults (0, 1 s)",
        ),
        "promise pod-startup-latency": ("p99 at most 5 s (gate)", "p99 at most 9 s (gate)"),
        "host cpus": ("2", "8"),
        "host CPU taken by others in baseline": ("5 %", "unknown"),
    }


def test_a_run_that_never_came_to_a_load_is_compared_all_the_same() -> None:
    nothing = stress_run(stages=(), verdicts=(), rows=(), environment={"nodes": "damaged", "host": 3})
    assert compare_stress(nothing, nothing).differences == 0
    assert changes(compare_stress(SAME, nothing)) == dict.fromkeys(VERDICTS, Change.UNDECIDED)


@st.composite
def runs(draw: st.DrawFn) -> JudgedStressRun:
    """The example with other outcomes and values, without some of its verdicts, and with other figures."""

    def another(verdict: SloVerdict) -> SloVerdict | None:
        outcome = draw(st.sampled_from([Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.ERROR, None]))
        if outcome is None:
            return None
        if verdict.slo == PLANNED:
            return edited(PLANNED, outcome=outcome, interval=None)
        return edited(verdict.slo, outcome=outcome, value=draw(numbers))

    numbers = st.one_of(st.just(0.0), st.floats(0.01, 100))
    kept = tuple(each for verdict in VERDICTS.values() if (each := another(verdict)) is not None)
    figures = {name: draw(numbers) for name in FIGURES if name.endswith(("_cores", "_s"))}
    share = draw(st.floats(0, 1))
    return stress_run(verdicts=kept, stages=figured(**figures, foreign_cpu_share=share))


@given(run=runs(), values_count=st.booleans())
def test_a_run_does_not_differ_from_itself(run: JudgedStressRun, values_count: bool) -> None:
    comparison = compare_stress(run, run, values_count=values_count)
    assert (comparison.differences, comparison.exit_code) == (0, 0)
    assert comparison.circumstances == ()
    assert changes(comparison) == {}


@given(before=runs(), after=runs())
def test_swapping_the_runs_swaps_worse_and_better(before: JudgedStressRun, after: JudgedStressRun) -> None:
    forth, back = compare_stress(before, after), compare_stress(after, before)
    turned = {Change.WORSE: Change.BETTER, Change.BETTER: Change.WORSE}
    assert {place: turned[each] for place, each in figure_changes(forth).items() if each} == figure_changes(back)
    values = [
        {each.requirement.id: each.value.change for each in comparison.verdicts if each.value and each.value.change}
        for comparison in (forth, back)
    ]
    assert {slo: turned.get(each, each) for slo, each in values[0].items()} == values[1]
    outcomes = [{each.requirement.id: each.outcome for each in comparison.verdicts} for comparison in (forth, back)]
    assert all(outcomes[1][slo] is Change.WORSE for slo, each in outcomes[0].items() if each is Change.BETTER)
    assert not any(outcomes[1][slo] is Change.WORSE for slo, each in outcomes[0].items() if each is Change.WORSE)
