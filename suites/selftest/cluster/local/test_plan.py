"""The plan of a local cluster, word for word: `pytest --snapshot-update` writes the golden files anew."""

from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from crashloop.cluster.binaries.components import BinarySet
from crashloop.cluster.kubelets import KubeletProgram
from crashloop.cluster.local.bring_up import Machinery
from crashloop.cluster.local.control_plane import control_plane_plan
from crashloop.cluster.local.node import node_plan, own_place
from crashloop.cluster.local.plan import ClusterLayout, LinkPlan
from crashloop.cluster.local.provider import describe_control_plane, describe_node, programs_of
from crashloop.profiles import load_profile
from suites.selftest.kit.local_kit import BLUEPRINT, plan_of


class TextFile(SingleFileSnapshotExtension):
    """One .txt file a plan."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextFile)


def test_the_plan_of_a_control_plane(golden: SnapshotAssertion) -> None:
    plan = control_plane_plan(msgspec.structs.replace(BLUEPRINT, feature_gates={"ContainerRestartRules": False}))
    assert describe_control_plane(plan) == golden


@pytest.mark.parametrize(
    ("gates", "serves_all"), [({"AllAlpha": True}, True), ({"AllBeta": True}, True), ({"AllBeta": False}, False)]
)
def test_an_api_server_with_all_gates_of_a_stage_serves_the_groups_of_that_stage(
    gates: dict[str, bool], serves_all: bool
) -> None:
    plan = control_plane_plan(msgspec.structs.replace(BLUEPRINT, feature_gates=gates))
    serving = [each.role for each in (*plan.first, *plan.once_ready) if "--runtime-config=api/all=true" in each.argv]
    assert serving == ["kube-apiserver"] * serves_all


def test_without_shortcuts_etcd_waits_for_its_disk_and_controllers_ask_no_more_often_than_by_default() -> None:
    plan = control_plane_plan(msgspec.structs.replace(BLUEPRINT, shortcuts=False))
    usual = control_plane_plan(BLUEPRINT)
    arguments, all_of_them = (
        {argument for each in (*of.first, *of.once_ready) for argument in each.argv} for of in (plan, usual)
    )
    assert arguments < all_of_them
    assert all_of_them - arguments == {"--unsafe-no-fsync", "--kube-api-qps=500", "--kube-api-burst=500"}


@pytest.mark.parametrize("profile", ["stock", "max-2s"])
def test_the_plan_of_a_node(profile: str, golden: SnapshotAssertion) -> None:
    assert describe_node(plan_of(load_profile(profile), index=3)) == golden


def test_a_node_of_a_profile_with_drop_in_files_has_a_directory_of_them() -> None:
    plan = plan_of(load_profile("max-11s"))
    (directory,) = [each.partition("=")[2] for each in plan.kubelet.argv if each.startswith("--config-dir=")]
    texts = {each.path: each.text for each in plan.files}
    assert "maxContainerRestartPeriod: 11s" in texts[f"{directory}/00.conf"]
    (config,) = [each.partition("=")[2] for each in plan.kubelet.argv if each.startswith("--config=")]
    assert "maxContainerRestartPeriod: 60s" in texts[config]
    assert directory in plan.folders


def test_a_kubelet_with_another_name_runs_under_the_name_that_its_cpu_is_measured_by(tmp_path: Path) -> None:
    place = own_place(BLUEPRINT, "patched", 3)
    patched = KubeletProgram(path="/builds/kubelet-patched", version=BLUEPRINT.kubelet_version)
    plan = node_plan(BLUEPRINT, place, profile=load_profile("stock"), kubelet=patched)
    program = plan.kubelet.argv[0]
    assert program.endswith("/patched/kubelet")
    assert f"## link {program} to /builds/kubelet-patched" in describe_node(plan)

    link = tmp_path / "kubelet"
    machinery = Machinery(ClusterLayout(tmp_path))
    for target in ("/builds/kubelet-patched", "/builds/kubelet-other"):
        machinery.write((), (), (LinkPlan(path=str(link), target=target),))
        assert str(link.readlink()) == target


def test_controllers_can_be_those_of_another_version() -> None:
    fields = {each: Path(f"/new/{each}") for each in BinarySet.__struct_fields__ if each not in ("versions", "source")}
    new = BinarySet(**fields, versions={}, source={})
    old = msgspec.structs.replace(new, **{each: Path(f"/old/{each}") for each in fields})
    programs = msgspec.structs.asdict(programs_of(new, old))
    assert {name for name, path in programs.items() if str(path).startswith("/old/")} == {
        "kube_controller_manager",
        "kube_scheduler",
    }
