"""What one restart cost in a stress run: which stage shows it, and when none does."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from crashloop.predict.costs import read_costs
from crashloop.slo.measurements import Measured, Phase
from crashloop.slo.scrapes import Scrapes
from crashloop.stress.costing import run_costs
from crashloop.stress.folder import publish_stress
from crashloop.stress.judging import judge_run
from crashloop.stress.phases import Measurement
from crashloop.stress.profile import Stage
from suites.selftest.kit.slo_kit import cpu, crasher, host, measured, phase, restart, scrapes
from suites.selftest.kit.stress_kit import example_run, plan

TIMES = (0, 100, 200, 300)
REST, EASY, FULL = phase(0, 100, "baseline"), phase(100, 200), phase(200, 300)
PLAIN = phase(0, 100, "quiet")


PROCESSES = scrapes(
    TIMES,
    {
        cpu("kubelet"): (0, 1, 4, 40),
        cpu("runtime"): (0, 1, 13, 133),
        cpu("apiserver"): (0, 1, 3, 20),
        cpu("etcd"): (0, 1, 2, 8),
        host("busy"): (0, 10, 40, 236),
        host("idle"): (0, 190, 360, 364),
    },
    source="processes",
    node="",
)
KUBELET = scrapes(TIMES, {("rest_client_requests_total", (("method", "PATCH"),)): (0, 50, 700, 1550)})
CORES = scrapes(TIMES, {("machine_cpu_cores", ()): (2, 2, 2, 2)}, source="cadvisor")


def run(*, easy: int, full: int, sources: Sequence[Scrapes] = (PROCESSES, KUBELET, CORES)) -> Measured:
    """A node at rest, one with that many restarts that is at ease, and one at its limit."""
    restarts = [restart(100 + at * 97 / max(easy, 1), 1.5) for at in range(easy)]
    restarts += [restart(200 + at * 97 / max(full, 1), 1.5) for at in range(full)]
    return measured(*sources, lifecycles=[crasher(*restarts, seen_until_s=300)], phases=(REST, EASY, FULL))


def stages(*phases: Phase, whole: bool = True) -> tuple[Measurement, ...]:
    return tuple(
        Measurement(
            index=at,
            stage=Stage(name=each.name, mix=f"{at}", duration_s=100, users={"crashers": at} if at else {}),
            phase=each,
            users=1,
            whole=whole,
        )
        for at, each in enumerate(phases)
    )


ALL = stages(REST, EASY, FULL)


def test_a_stage_at_ease_tells_the_costs_and_one_at_its_limit_what_is_sustained() -> None:
    costs = run_costs(plan(), ALL, run(easy=120, full=900))
    assert costs is not None
    assert (costs.restarts, costs.sustained_per_s) == (120, 9.0)
    assert costs.api_requests == pytest.approx((650 - 50) / 120)
    assert costs.kubelet_cpu_s == pytest.approx((3 - 1) / 120, abs=1e-4)
    assert not costs.saturated


def test_every_stage_below_the_limit_is_a_load_of_its_own() -> None:
    costs = run_costs(plan(), ALL, run(easy=120, full=900))
    assert costs is not None
    (load,) = costs.by_load
    assert (load.restarts_per_s, load.maximum_s, load.restarts) == (1.2, 1.0, 120)
    assert (load.api_requests, load.kubelet_cpu_s) == (costs.api_requests, costs.kubelet_cpu_s)
    assert (load.overhead_s, load.intervals) == (costs.overhead_s, costs.intervals)


def test_the_source_says_what_crashed_in_each_stage_that_tells_something() -> None:
    costs = run_costs(plan(), ALL, run(easy=120, full=900))
    assert costs is not None
    pods = "crashers, run_s 0.5"
    assert costs.source == (
        f"load example, stage storm, 1 (1 x {pods}; every life writes to its journal), for 100 s, kubelet profile max-1s, "
        f"Kubernetes 1.37.1, provider local; sustained rate: stage storm, 2 (2 x {pods}; every life writes to its journal)"
    )


def test_where_every_stage_was_at_its_limit_the_one_with_the_most_restarts_tells_and_says_so() -> None:
    costs = run_costs(plan(), stages(REST, FULL), run(easy=0, full=900))
    assert costs is not None
    assert (costs.restarts, costs.sustained_per_s, costs.saturated) == (900, 9.0, True)
    assert "what is sustained:" not in costs.source


def test_without_a_baseline_nothing_is_subtracted_and_the_source_says_so() -> None:
    subtracted, whole = (
        run_costs(plan(), stages(*each), run(easy=120, full=0)) for each in ((REST, EASY), (PLAIN, EASY))
    )
    assert subtracted is not None
    assert whole is not None
    assert whole.api_requests > subtracted.api_requests
    assert whole.source.endswith(", with what the nodes use at rest, since the load has no baseline")
    assert "at rest" not in subtracted.source


def test_too_few_restarts_tell_nothing() -> None:
    assert run_costs(plan(), stages(REST, EASY), run(easy=99, full=0)) is None


def test_a_stage_that_was_cut_short_tells_nothing() -> None:
    assert run_costs(plan(), stages(REST, EASY, whole=False), run(easy=120, full=0)) is None


def test_the_cost_of_a_component_that_cannot_be_measured_is_not_zero() -> None:
    """On a cluster of somebody else only the CPU of the harness is known."""
    harness = scrapes(
        TIMES, {cpu("harness"): (0, 1, 2, 3), host("busy"): (0, 10, 40, 236)}, source="processes", node=""
    )
    assert run_costs(plan(), ALL, run(easy=150, full=0, sources=(harness, KUBELET, CORES))) is None


def test_without_scrapes_nothing_is_reported() -> None:
    assert run_costs(plan(), ALL, run(easy=120, full=900, sources=())) is None


def test_costs_are_written_for_predictions_and_go_when_they_are_no_longer_told(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    costs = run_costs(plan(), ALL, run(easy=120, full=900))
    results = judge_run(folder.run)
    publish_stress(folder.run, msgspec.structs.replace(results, costs=costs))
    assert read_costs(folder.run.costs_json.read_bytes(), name="costs.json") == costs
    assert "Costs of one restart: 5 API requests" in folder.run.summary_md.read_text(encoding="utf-8")
    assert "Costs of one restart: 5 API requests" in folder.run.report_html.read_text(encoding="utf-8")
    publish_stress(folder.run, results)
    assert not folder.run.costs_json.exists()
