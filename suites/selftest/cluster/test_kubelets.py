"""A kubelet: its configuration, with the profile on top, and the output of one that ended, as far as it is kept."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from crashloop.cluster.kubelets import LAST_LINES_OF_A_CANDIDATE, KubeletProgram, last_words
from crashloop.cluster.local.node import candidate_place, node_plan
from crashloop.cluster.local.plan import NodePlan
from crashloop.profiles import load_profile
from crashloop.spec.profile import KubeletProfile, merged
from suites.selftest.kit.local_kit import BLUEPRINT, plan_of

STOCK = KubeletProfile(name="stock")


def config_of(plan: NodePlan) -> dict[str, Any]:
    (text,) = [file.text for file in plan.files if file.path.endswith("/kubelet.yaml")]
    config: dict[str, Any] = yaml.safe_load(text)
    return config


def test_the_profile_wins_over_what_the_provider_sets() -> None:
    profile = KubeletProfile(
        name="own", config={"evictionHard": {"memory.available": "1Gi"}, "failSwapOn": True, "port": 12345}
    )
    config = config_of(plan_of(profile))
    assert config["evictionHard"]["memory.available"] == "1Gi"
    assert config["evictionHard"]["nodefs.available"] == "1%"
    assert config["failSwapOn"] is True
    assert plan_of(profile).kubelet_port == 12345


def test_null_in_a_profile_takes_a_setting_back() -> None:
    profile = KubeletProfile(name="own", config={"crashLoopBackOff": {"maxContainerRestartPeriod": None}})
    assert config_of(plan_of(profile))["crashLoopBackOff"] == {"maxContainerRestartPeriod": None}


def test_mappings_are_merged_and_lists_replaced() -> None:
    below = {"a": {"x": 1, "y": [1]}, "b": [1, 2], "c": 3}
    above = {"a": {"y": [2], "z": 0}, "b": [3], "c": {"d": 4}}
    assert merged(below, above) == {"a": {"x": 1, "y": [2], "z": 0}, "b": [3], "c": {"d": 4}}
    assert below == {"a": {"x": 1, "y": [1]}, "b": [1, 2], "c": 3}


@pytest.mark.parametrize(
    ("cgroup_version", "kubelet", "expected"),
    [(1, "1.37.1", False), (1, "1.35.0", False), (1, "1.34.4", None), (1, "1.33.13", None), (2, "1.37.1", None)],
    ids=["v1-newest", "v1-first-that-refuses", "v1-last-that-starts", "v1-oldest", "v2"],
)
def test_cgroup_v1_is_allowed_where_it_would_be_refused(
    cgroup_version: int, kubelet: str, expected: bool | None
) -> None:
    blueprint = msgspec.structs.replace(BLUEPRINT, cgroup_version=cgroup_version, kubelet_version=kubelet)
    assert config_of(plan_of(STOCK, blueprint=blueprint)).get("failCgroupV1") is expected


def test_a_candidate_shares_nothing_with_its_node_but_the_namespace() -> None:
    node = plan_of(STOCK, index=3)
    program = KubeletProgram(path="<BIN>/kubelet", version="1.37.1")
    candidate = node_plan(BLUEPRINT, candidate_place(node, 7), profile=STOCK, kubelet=program)
    assert candidate.kubelet.namespace == candidate.runtime.namespace == node.name
    assert candidate.name == "candidate-7"
    assert (candidate.kubelet_port, config_of(candidate)["healthzPort"]) == (20007, 21007)
    assert config_of(candidate)["registerNode"] is False
    own = {candidate.cgroup, candidate.runtime_socket, candidate.kubelet.log, *candidate.folders}
    assert own.isdisjoint({node.cgroup, node.runtime_socket, node.kubelet.log, *node.folders})


def test_a_profiles_drop_in_files_are_in_the_folder_that_its_kubelet_reads() -> None:
    node = plan_of(load_profile("drop-ins-60s-20s"))
    (argument,) = (each for each in node.kubelet.argv if each.startswith("--config-dir="))
    folder = argument.partition("=")[2]
    assert folder in node.folders
    files = {each.path: each.text for each in node.files}
    drop_ins = [yaml.safe_load(files[f"{folder}/{name}"]) for name in ("00.conf", "01.conf")]
    assert [each["crashLoopBackOff"]["maxContainerRestartPeriod"] for each in drop_ins] == ["60s", "20s"]
    assert drop_ins[0]["kind"] == "KubeletConfiguration"


def test_a_profile_without_drop_in_files_has_no_folder_for_them() -> None:
    assert not any(each.startswith("--config-dir") for each in plan_of(STOCK).kubelet.argv)


PANIC = "panic: runtime error: invalid memory address or nil pointer dereference"
TRACE = [f"goroutine {number} [running]:" for number in range(100)]


def written(folder: Path, *lines: str) -> Path:
    log = folder / "kubelet.log"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return log


def test_the_last_lines_hold_a_refusal(tmp_path: Path) -> None:
    log = written(tmp_path, *(f"I1122 line {number}" for number in range(100)), "invalid configuration")
    kept = last_words(log).splitlines()
    assert (len(kept), kept[-1]) == (LAST_LINES_OF_A_CANDIDATE, "invalid configuration")


def test_the_message_of_a_panic_is_kept_however_long_its_trace(tmp_path: Path) -> None:
    kept = last_words(written(tmp_path, "I1122 starting", PANIC, *TRACE)).splitlines()
    assert kept == [PANIC, "...", *TRACE[-LAST_LINES_OF_A_CANDIDATE:]]


def test_a_panic_among_the_last_lines_is_reported_once(tmp_path: Path) -> None:
    assert last_words(written(tmp_path, PANIC, "main.main()")).splitlines() == [PANIC, "main.main()"]


def test_a_log_that_is_missing_is_named(tmp_path: Path) -> None:
    assert last_words(tmp_path / "kubelet.log") == "(no kubelet.log: No such file or directory)"
