"""Scenarios with a control plane for themselves: which part of a plan they are, and what becomes of one without a cluster."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from crashloop.cluster.provider import ClusterRequest
from crashloop.history.reduction import read_recording
from crashloop.record.recorder import LoggedProgress
from crashloop.record.scenario_loop import Lifeline
from crashloop.record.stage import record_apart
from crashloop.rundir import RunDir, RunInfo
from crashloop.spec.assignment import assign
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.plan import Budgets, Plan, PlannedNode
from crashloop.spec.pod import Container, Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until


def crashing(name: str, control_plane: ControlPlane | None = None) -> PodScenario:
    return PodScenario(
        name=name,
        profile="stock",
        control_plane=control_plane,
        pod=Pod(containers=(Container(program=exits_with(1)),)),
        until=Until(),
    )


SCENARIOS = (
    crashing("one"),
    crashing("lone", ControlPlane()),
    crashing("lone-without-rules", ControlPlane(feature_gates={"ContainerRestartRules": False})),
)
PLAN = Plan(
    suite="conformance",
    provider="nowhere",
    kubernetes_version="1.37.1",
    scope="full",
    feature_gates={"JobPodFailurePolicy": True},
    profiles=(KubeletProfile(name="stock"),),
    scenarios=SCENARIOS,
    judgements=(),
    **assign(SCENARIOS, Budgets(live_nodes=1))._asdict(),
)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir.create(
        tmp_path / "run", RunInfo(suite="test", started=datetime.now(UTC), crashloop_version="0", settings={})
    )


@pytest.fixture
def record(run: RunDir) -> Callable[..., list[str]]:
    """Records the plan's lone scenarios, and returns the names under which clusters were requested."""

    def recorded(*, broken: bool = False) -> list[str]:
        requested: list[str] = []

        def request(part: Plan, name: str) -> ClusterRequest:
            requested.append(name)
            return ClusterRequest(name=name, kubernetes_version=part.kubernetes_version, nodes=())

        line = SimpleNamespace(broken=threading.Event())
        if broken:
            line.broken.set()
        record_apart(run, PLAN, request, nullcontext, cast("Lifeline", line), LoggedProgress())
        return requested

    return recorded


def test_the_shared_part_has_neither_the_lone_scenarios_nor_their_nodes() -> None:
    shared = PLAN.shared()
    assert [each.name for each in shared.scenarios] == ["one"]
    assert shared.nodes == (PlannedNode(name="stock", profile="stock"),)
    assert shared.placements == {"one": "stock"}


def test_each_lone_scenario_is_a_part_with_its_node_and_its_gates() -> None:
    lone, without_rules = PLAN.apart()
    assert lone.nodes == (PlannedNode(name="lone", profile="stock"),)
    assert lone.feature_gates == {"JobPodFailurePolicy": True}
    assert without_rules.placements == {"lone-without-rules": "lone-without-rules"}
    assert without_rules.feature_gates == {"JobPodFailurePolicy": True, "ContainerRestartRules": False}


def test_a_cluster_that_does_not_come_up_costs_its_own_scenario_only(
    run: RunDir, record: Callable[..., list[str]]
) -> None:
    assert record() == ["lone", "lone-without-rules"]
    assert not run.history("one").exists()
    for name in ("lone", "lone-without-rules"):
        with run.history(name).open("rb") as lines:
            recorded = read_recording(lines)
        assert recorded.end is not None
        assert recorded.end.reason == "failed"
        assert recorded.end.detail is not None
        assert recorded.end.detail.startswith("provider 'nowhere': unknown")
        assert recorded.begin is not None
        assert recorded.begin.feature_gates == PLAN.gates_for(PLAN.scenario(name))


def test_a_broken_life_line_begins_no_further_cluster(run: RunDir, record: Callable[..., list[str]]) -> None:
    assert record(broken=True) == []
    assert list(run.history_dir.iterdir()) == []
