"""A stress run judged from its directory alone.

Official latencies are judged where etcd waits for its disk, as the recorded cluster says; one of others is taken as it is.
"""

from pathlib import Path

import msgspec
import pytest

from crashloop.errors import UsageError
from crashloop.history.event import Channel, Kind
from crashloop.report.stress.results import StressResults
from crashloop.slo.measurements import SloVerdict
from crashloop.slo.preconditions import fact_in_words, facts_of
from crashloop.stress.assignment import Operation
from crashloop.stress.evidence_reader import read_evidence
from crashloop.stress.folder import Cause, publish_stress, published_stress
from crashloop.stress.judging import judge_run
from crashloop.verdict import ExitCode, Outcome
from suites.selftest.kit.histories import ns
from suites.selftest.kit.stress_kit import MARKS, Folder, arrivals, crashing, example_run, plan


def verdict(results: StressResults, slo: str) -> SloVerdict:
    return next(each for each in results.verdicts if each.slo == slo)


def test_a_run_that_went_as_planned_passes(tmp_path: Path) -> None:
    results = judge_run(example_run(tmp_path / "run").run)
    gates = {each.slo: each.outcome for each in results.verdicts if each.mode == "gate"}
    assert gates == {
        "load-as-planned": Outcome.PASS,
        "evidence-complete": Outcome.PASS,
        "no-early-restart": Outcome.PASS,
        "no-lost-restart": Outcome.PASS,
        "nothing-left": Outcome.PASS,
    }
    assert (results.outcome, results.exit_code) == (Outcome.PASS, ExitCode.OK)
    assert results.totals == {
        "pods": 2,
        "container_starts": 44,
        "restarts": 42,
        "history_events": results.totals["history_events"],
    }


def test_what_is_conserved_is_conserved_over_the_whole_run(tmp_path: Path) -> None:
    conserved = verdict(judge_run(example_run(tmp_path / "run").run), "restarts-conserved")
    assert (conserved.value, conserved.samples) == (0, 44)


def test_a_stage_tells_what_the_load_took(tmp_path: Path) -> None:
    baseline, storm = judge_run(example_run(tmp_path / "run").run).stages
    assert (storm.from_s, storm.to_s, storm.users) == (26, 86, {"healthy": 1, "crashers": 2})
    assert storm.figures["kubelet_cpu_cores"] == pytest.approx(12 / 60)
    assert storm.figures["harness_share"] == pytest.approx(1.6 / 36, abs=1e-4)
    assert storm.figures["host_busy_share"] == pytest.approx(0.5)
    assert storm.figures["kubelet_requests_per_s"] == pytest.approx(220 / 60, abs=1e-4)
    assert storm.figures["lateness_p50_s"] == pytest.approx(0.3)
    assert baseline.figures["restarts_per_s"] == 0
    assert baseline.figures["lateness_p99_s"] is None


def test_the_curve_under_load_stands_beside_what_was_due(tmp_path: Path) -> None:
    (curve,) = judge_run(example_run(tmp_path / "run").run).curves
    first, second, *_ = curve.points
    assert (curve.node, curve.profile) == ("node-1", "max-1s")
    assert (first.restart, first.due_s, first.samples) == (1, 0, 2)
    assert second.due_s == 1
    assert [second.lowest_s, second.highest_s] == pytest.approx([1.3, 1.4])


def test_arrivals_are_counted_by_what_became_of_them(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    folder.operations(
        Operation(load="healthy", what="dropped", intended_ns=ns(86.5), sent_ns=ns(86.5)),
        Operation(load="healthy", what="create", pod="late", intended_ns=ns(87), sent_ns=ns(87.2), error="no answer"),
    )
    (healthy,) = judge_run(folder.run).arrivals
    assert (healthy.intended, healthy.made, healthy.dropped, healthy.failed) == (85, 83, 1, 1)
    assert healthy.late_p99_s == pytest.approx(0.2)


def test_an_interrupted_run_ends_with_what_it_has(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", plan())
    folder.marks(*MARKS[:6])
    folder.operations(*arrivals(range(2, 23)))
    folder.write(folder.pod("crashers-0-0", *crashing(25, 0.2, 1.3, 1.3), ends_s=40))
    folder.incident(40, Cause.INTERRUPTED, "The run was interrupted.")
    results = judge_run(folder.run)
    assert results.exit_code == ExitCode.INTERRUPTED
    assert verdict(results, "load-as-planned").sentence == (
        "load-as-planned: stage 2 (storm) was measured for 14 of 60 s. "
        "stage 2 (storm) began to be measured with 1 of 2 planned pods of load crashers. "
        "The run was interrupted."
    )
    assert verdict(results, "no-early-restart").outcome is Outcome.PASS
    assert results.incidents == ("40 s, interrupted: The run was interrupted.",)


def test_a_gap_of_the_runtime_makes_the_run_inconclusive(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    history = folder.pod("crashers-0-5", *crashing(25, 0.2, 1.3)).gap(Channel.RUNTIME, 30, 33, reason="restarted")
    folder.write(history)
    results = judge_run(folder.run)
    assert (results.outcome, results.exit_code) == (Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE)
    assert verdict(results, "evidence-complete").sentence == (
        "evidence-complete: crashers-0-5: the runtime's events were lost for 3.0 s (restarted)"
    )


def test_an_early_restart_fails_the_run(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    folder.write(folder.pod("crashers-0-5", *crashing(25, 0.2, 0.7)))
    results = judge_run(folder.run)
    assert (results.outcome, results.exit_code) == (Outcome.FAIL, ExitCode.FAIL)


def test_a_container_that_a_killed_kubelet_created_and_never_started_is_no_missing_evidence(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    history = folder.pod("crashers-0-5", *crashing(25, 0.2, 3.0))
    history.runtime(27.5, Kind.CREATED, "app", "never").runtime(28.5, Kind.REMOVED, "app", "never")
    folder.write(history)
    assert verdict(judge_run(folder.run), "evidence-complete").outcome is Outcome.PASS
    unseen = folder.pod("crashers-0-5", *crashing(25, 0.2, 3.0)).without(Kind.STARTED)
    folder.write(unseen)
    assert verdict(judge_run(folder.run), "evidence-complete").sentence == (
        "evidence-complete: crashers-0-5: start or exit of 2 instances of 'app' was not seen"
    )


def test_a_run_that_never_came_to_a_load_says_so(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", plan())
    folder.run.metrics_dir.rmdir()
    results = judge_run(folder.run)
    assert results.outcome is Outcome.INCONCLUSIVE
    assert "stage 1 (baseline) was not measured." in verdict(results, "load-as-planned").sentence


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    results = judge_run(folder.run)
    publish_stress(folder.run, results)
    assert published_stress(folder.run) == msgspec.json.decode(msgspec.json.encode(results), type=StressResults)
    assert judge_run(folder.run) == results


def test_a_plan_of_an_unknown_format_is_refused_with_its_file(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    folder.run.plan_json.write_text('{"format": "crashloop.plan/2"}')
    with pytest.raises(UsageError, match=r"plan\.json has format 'crashloop\.plan/2'; this version reads"):
        judge_run(folder.run)


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    folder.run.plan_json.unlink()
    with pytest.raises(UsageError, match=r"plan\.json cannot be read"):
        judge_run(folder.run)


@pytest.mark.parametrize(
    ("cluster", "waits"),
    [({"etcd_disk": "ext4 on /dev/vda1"}, 1), ({"etcd_disk": ""}, 0), ({}, 0), (None, 0)],
    ids=["a disk", "none", "older recording", "no recording"],
)
def test_whether_etcd_waits_is_read_from_the_recorded_cluster(
    cluster: dict[str, str] | None, waits: int, tmp_path: Path
) -> None:
    run = example_run(tmp_path).run
    if cluster is not None:
        run.cluster_json.write_bytes(msgspec.json.encode(cluster))
    measured = read_evidence(run).measured
    assert facts_of(measured, measured.phases[0], ["etcd_fsync"]) == {"etcd_fsync": waits}


def test_a_cluster_that_exists_is_taken_as_it_is(tmp_path: Path) -> None:
    run = example_run(tmp_path).run
    run.plan_json.write_bytes(run.plan_json.read_bytes().replace(b'"local"', b'"existing"'))
    measured = read_evidence(run).measured
    assert facts_of(measured, measured.phases[0], ["etcd_fsync"]) == {"etcd_fsync": 1}


def test_the_precondition_says_what_is_missing() -> None:
    assert fact_in_words("etcd_fsync", 0) == "0 % of etcd's writes wait for its disk"
