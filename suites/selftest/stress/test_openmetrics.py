"""A stress run as OpenMetrics: every recorded sample with its time, and what crashloop itself knows of restarts."""

import itertools
import json
import re
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.errors import UsageError
from crashloop.resources import MANIFESTS
from crashloop.rundir import RunDir, RunInfo
from crashloop.slo.measurements import Lifecycle
from crashloop.slo.scrapes import SOURCES
from crashloop.stress.folder import load_scrapes
from crashloop.stress.judging import judge_run
from crashloop.stress.openmetrics import LATENESS, OWN, RESTARTS, STAGE, STARTUP, exported, openmetrics, profiles_of
from crashloop.stress.profile import StressNode
from suites.selftest.kit.histories import ns
from suites.selftest.kit.stress_kit import BASELINE, MAX_1S, NODE, STOCK, STORM, Folder, example_run, plan

EPOCH = datetime.fromtimestamp(0, UTC)
BASE = msgspec.structs.replace(BASELINE, users={})


@pytest.fixture
def run(tmp_path: Path) -> Folder:
    folder = example_run(tmp_path / "run")
    judge_run(folder.run)
    return folder


def families(run: Folder) -> dict[str, Metric]:
    return read(openmetrics(exported(run.run.root)))


def read(text: str) -> dict[str, Metric]:
    return {each.name: each for each in text_string_to_metric_families(text)}  # type: ignore[no-untyped-call]


def seconds(timestamp: object) -> float:
    return float(str(timestamp)) - ns(0) / 1e9


def test_every_recorded_sample_is_exported_with_its_time(run: Folder) -> None:
    found = families(run)
    recorded = [series for scrapes in load_scrapes(run.run.metrics_dir) for series in scrapes.series]
    foreign = [sample for family in found.values() for sample in family.samples if sample.name not in OWN]
    assert len(foreign) == sum(len(series.values) for series in recorded) > 0
    patches = found["rest_client_requests"].samples
    assert patches[1].labels == {
        "run": "run",
        "source": "kubelet",
        "node": NODE,
        "profile": "max-1s",
        "method": "PATCH",
    }
    assert patches[1].value == 24
    assert seconds(patches[1].timestamp) == pytest.approx(24, abs=0.01)


def test_the_text_ends_as_openmetrics_has_to(run: Folder) -> None:
    assert openmetrics(exported(run.run.root)).endswith("\n# EOF\n")


def test_labels_of_a_component_win_over_those_of_its_source(run: Folder) -> None:
    cpu = families(run)["component_cpu_seconds"].samples
    assert {(each.labels["component"], each.labels["node"]) for each in cpu} >= {("kubelet", NODE), ("harness", "")}
    assert {each.labels["profile"] for each in cpu if not each.labels["node"]} == {""}


def test_samples_of_a_series_are_in_order_of_time(run: Folder) -> None:
    times = defaultdict(list)
    for family in families(run).values():
        for each in family.samples:
            times[(each.name, tuple(sorted(each.labels.items())))].append(seconds(each.timestamp))
    assert times
    assert all(before < after for each in times.values() for before, after in itertools.pairwise(each))


def test_restarts_are_counted_by_ground_truth(run: Folder) -> None:
    restarts = families(run)[RESTARTS.removesuffix("_total")].samples
    assert (restarts[0].value, restarts[-1].value) == (0, 42)
    assert restarts[0].labels == {"run": "run", "node": NODE, "profile": "max-1s"}


def test_lateness_is_a_sample_of_each_restart(run: Folder) -> None:
    late = families(run)[LATENESS].samples
    assert len(late) == 42
    assert {each.labels["pod"] for each in late} == {"crashers-0-0", "crashers-0-1"}


def test_start_up_is_a_sample_of_each_pod(run: Folder) -> None:
    pod = Lifecycle(pod="healthy-0-1", uid="u", node=NODE, group="healthy", asked_ns=ns(5), started_ns=ns(6.5))
    alone = msgspec.structs.replace(exported(run.run.root), lifecycles=(pod,))
    (sample,) = read(openmetrics(alone))[STARTUP].samples
    assert sample.value == pytest.approx(1.5)
    assert seconds(sample.timestamp) == pytest.approx(6.5, abs=0.01)
    assert sample.labels == {"run": "run", "profile": "max-1s", "node": NODE, "pod": "healthy-0-1", "group": "healthy"}


def test_a_stage_is_one_while_it_is_measured(run: Folder) -> None:
    stages = families(run)[STAGE].samples
    storm = {seconds(each.timestamp): each.value for each in stages if each.labels["stage"] == "stage 2 (storm)"}
    assert {at_s: value for at_s, value in storm.items() if value} == {at_s: 1.0 for at_s in storm if 26 <= at_s < 86}
    assert 0.0 in storm.values()


def test_a_node_that_had_several_profiles_is_labelled_with_none() -> None:
    nodes = tuple(StressNode(name=name, profile=name) for name in ("max-1s", "stock"))
    exchanged = msgspec.structs.replace(STORM, users={}, exchanged=("max-1s", "stock"))
    kept, changed = (
        plan(MAX_1S, STOCK, nodes=nodes, loads={}, stages=stages) for stages in ((BASE,), (BASE, exchanged))
    )
    hosts = {"max-1s": "node-1", "stock": "node-2"}
    assert profiles_of(kept, hosts) == {"node-1": "max-1s", "node-2": "stock"}
    assert profiles_of(changed, hosts) == {}


def test_a_run_that_was_not_judged_is_refused(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    with pytest.raises(UsageError, match="was not judged yet"):
        exported(folder.run.root)


def test_a_run_of_another_suite_is_refused(tmp_path: Path) -> None:
    RunDir.create(
        tmp_path / "run",
        RunInfo(suite="conformance", started=EPOCH, crashloop_version="0.1.0"),
    )
    with pytest.raises(UsageError, match="only stress runs record them"):
        exported(tmp_path / "run")


def test_the_command_prints_or_writes_the_text(run: Folder, tmp_path: Path) -> None:
    text = openmetrics(exported(run.run.root))
    written = tmp_path / "run.om"
    printed = CliRunner().invoke(app, ["export", "--openmetrics", str(run.run.root)], catch_exceptions=False)
    CliRunner().invoke(
        app, ["export", "--openmetrics", str(run.run.root), "--output", str(written)], catch_exceptions=False
    )
    assert printed.stdout == written.read_text() == text


def test_a_format_has_to_be_named(run: Folder) -> None:
    result = CliRunner().invoke(app, ["export", str(run.run.root)])
    assert isinstance(result.exception, UsageError)
    assert "--openmetrics is the only one" in str(result.exception)


def test_the_dashboard_shows_only_series_that_a_run_exports() -> None:
    """The name of a series is what a selector in braces follows."""
    dashboard = json.loads((MANIFESTS / "grafana" / "stress.json").read_text())
    known = {name for names in SOURCES.values() for name in names} | OWN.keys()
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    shown = {name for each in expressions for name in re.findall(r"([a-z_]+)\{", each)}
    assert shown >= OWN.keys()
    assert {name.removesuffix("_bucket") for name in shown} <= known
