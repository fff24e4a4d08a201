"""A stress run from end to end, and what becomes of its evidence when it is judged with other rows."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from crashloop.history.reduction import read_recording
from crashloop.report.stress.results import StressResults
from crashloop.stress.folder import StressDir, published_stress
from crashloop.stress.profile import Slos
from crashloop.verdict import ExitCode, Outcome
from suites.stress.started import CRASHLOOP, Running, left_on_host, require_passed, started, verdict


@pytest.fixture(scope="module")
def storm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, StressResults]]:
    """A run that nobody disturbs."""
    with started("short", tmp_path_factory.mktemp("stress")) as running:
        yield running, running.ended()


def test_nothing_is_lost_and_nothing_comes_early(storm: tuple[Running, StressResults]) -> None:
    running, results = storm
    require_passed(
        results, "load-as-planned", "evidence-complete", "no-early-restart", "nothing-left", "restarts-conserved"
    )
    assert verdict(results, "restarts-conserved").value == 0
    assert results.totals["restarts"] >= 6
    assert running.process.returncode == results.exit_code == ExitCode.OK


def test_pods_that_must_stay_down_have_one_life(storm: tuple[Running, StressResults]) -> None:
    """While others restart: an exit code that no rule names is the end under restart policy Never."""
    running, _ = storm
    found = []
    for path in sorted(running.run.history_dir.glob("final-*.jsonl")):
        with path.open("rb") as lines:
            (pod,) = read_recording(lines).pods
        found += [[life.exit_code for life in lives] for lives in pod.containers.values()]
    assert len(found) >= 10
    assert set(map(tuple, found)) <= {(7,), (None,), ()}
    assert (7,) in map(tuple, found)


def test_the_load_was_measured_on_its_node(storm: tuple[Running, StressResults]) -> None:
    _, results = storm
    baseline, stormed = results.stages
    assert (stormed.figures["restarts_per_s"] or 0) > (baseline.figures["restarts_per_s"] or 0) == 0
    assert (stormed.figures["kubelet_cpu_cores"] or 0) > 0
    assert results.environment["host"]["cpus"] >= 1


def test_every_view_is_there_and_nothing_else_is_left(storm: tuple[Running, StressResults]) -> None:
    running, results = storm
    assert all(path.exists() for path in (running.run.report_html, running.run.junit_xml, running.run.summary_md))
    assert (running.run.load_dir / "locust.html").exists()
    assert results.incidents == ()
    assert left_on_host(running) == []


ROWS = """\
description: rows that are wrong, or that nobody can keep
slos:
  - id: no-such-metric
    sli: {kind: histogram, source: kubelet, metric: kubelet_never_heard_of_seconds, of: events}
    percentile: 99
    target: {at_most: 1, unit: s}
    min_samples: 100
    mode: gate
    definition: a metric that no component has
    source: this test
  - id: impossible
    # Not about a time or a rate, which nothing is promised of while the host works for others.
    sli: {kind: ratio, source: kubelet, metric: rest_client_requests_total, per: restarts}
    phase: storm
    target: {at_most: 0, unit: requests/restart}
    mode: gate
    definition: restarts that nothing reports
    source: this test
"""


def test_rows_that_cannot_be_judged_or_kept_say_so(storm: tuple[Running, StressResults], tmp_path: Path) -> None:
    """The same evidence, other rows: an unknown metric is our error, an impossible target is not kept."""
    copy = tmp_path / "copy"
    shutil.copytree(storm[0].run.root, copy)
    rows = tmp_path / "rows.yaml"
    rows.write_text(ROWS, encoding="utf-8")
    run = StressDir(copy)
    plan = run.stress_plan()
    profile = msgspec.structs.replace(plan.load, slos=Slos(files=(str(rows),)))
    run.write(run.plan_json, msgspec.structs.replace(plan, load=profile))
    judged = subprocess.run([CRASHLOOP, "analyze", copy], capture_output=True, text=True, timeout=60, check=False)
    results = published_stress(run)
    assert verdict(results, "no-such-metric").outcome is Outcome.ERROR
    assert verdict(results, "impossible").outcome is Outcome.FAIL
    assert judged.returncode == ExitCode.FAIL
    assert "no-such-metric" in judged.stdout
