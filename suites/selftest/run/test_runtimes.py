"""A profile with the container runtime of its node, `max-2s+containerd-1.7`: other programs, the same kubelet and curve."""

from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.local.node import with_runtime
from crashloop.cluster.local.plan import Blueprint, NodePlan
from crashloop.cluster.provider import Capability
from crashloop.errors import UsageError
from crashloop.model.config import effective_curve
from crashloop.profiles import load_profile
from crashloop.progress import SilentProgress
from crashloop.run.planning import build_plan
from crashloop.settings import Paths, Settings
from crashloop.spec.plan import Budgets
from crashloop.spec.profile import RUNTIMES, node_name
from crashloop.spec.version import KubernetesVersion
from fixtures.requirements import declared_in
from suites import conformance
from suites.selftest.kit.local_kit import BLUEPRINT, plan_of

NEWEST = KubernetesVersion.parse("1.37.1")


def config_of(plan: NodePlan) -> str:
    (text,) = [each.text for each in plan.files if each.path.endswith("containerd.toml")]
    return text


def blueprint_with(**programs: str | int) -> Blueprint:
    return msgspec.structs.replace(BLUEPRINT, programs=msgspec.structs.replace(BLUEPRINT.programs, **programs))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_runtime_changes_neither_configuration_nor_curve(runtime: str) -> None:
    own, other = load_profile("max-2s"), load_profile(f"max-2s+{runtime}")
    assert (other.name, other.runtime) == (f"max-2s+{runtime}", runtime)
    assert other.config == own.config
    assert effective_curve(other, NEWEST) == effective_curve(own, NEWEST)


def test_a_runtime_and_a_version_can_both_be_named() -> None:
    profile = load_profile("max-2s+containerd-1.7@1.36.4")
    assert (profile.runtime, profile.kubernetes_version) == ("containerd-1.7", "1.36.4")
    assert profile.name == "max-2s+containerd-1.7@1.36.4"
    assert node_name(profile.name) == "max-2s-on-containerd-1-7-v1-36-4"


def test_an_unknown_runtime_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match=r"'cri-o' is no container runtime; expected containerd-1\.7\."):
        load_profile("max-2s+cri-o")


def test_a_path_may_have_the_sign_of_a_runtime_in_it(tmp_path: Path) -> None:
    file = tmp_path / "own+fast.yaml"
    file.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n", encoding="utf-8")
    assert load_profile(file).runtime is None
    assert load_profile(f"{file}+containerd-1.7").runtime == "containerd-1.7"


def test_a_node_on_an_older_containerd_has_its_programs_and_its_kind_of_configuration() -> None:
    older = blueprint_with(containerd="<OLD>/containerd", ctr="<OLD>/ctr", shim_dir="<OLD>", containerd_config=2)
    plan = plan_of(load_profile("max-2s"), blueprint=older)
    assert plan.runtime.argv[0] == "<OLD>/containerd"
    assert plan.runtime.search_path == ("<OLD>",)
    assert plan.import_images[0] == "<OLD>/ctr"
    assert config_of(plan).startswith("version = 2\n")
    assert 'plugins."io.containerd.grpc.v1.cri"' in config_of(plan)
    assert "io.containerd.cri.v1" not in config_of(plan)


def test_a_profile_without_a_runtime_has_that_of_the_cluster(tmp_path: Path) -> None:
    settings = Settings(paths=Paths(cache_dir=tmp_path, state_dir=tmp_path))
    assert with_runtime(BLUEPRINT, load_profile("max-2s"), settings, SilentProgress()) == BLUEPRINT


def test_a_provider_with_one_runtime_skips_what_needs_another() -> None:
    settings = {"provider": "kind", "kubernetes_version": str(NEWEST), "scope": "versions"}
    judged = [each for each in declared_in(conformance) if each.requirement == "SKEW-3"]
    plan = build_plan(judged, settings, frozenset(Capability) - {Capability.RUNTIME_CHOICE}, Budgets())
    assert plan is not None
    assert {each.reason for each in plan.skipped} == {"the provider lacks the capability runtime-choice"}
    assert plan.nodes == ()
