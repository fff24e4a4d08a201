"""A profile with the version of its kubelet, such as `max-2s@1.36.4`: a node beside the others, or refused early."""

from pathlib import Path

import pytest

from crashloop.cluster.local.provider import LocalProvider
from crashloop.errors import UsageError
from crashloop.model.gates import effective_gates
from crashloop.pods.manifest import pod_manifest
from crashloop.profiles import check_releases, load_profile, validate_for_node
from crashloop.run.planning import Declared, build_plan
from crashloop.spec.plan import Budgets, Plan
from crashloop.spec.profile import RESTART_RULES_GATE, KubeletProfile, node_name
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion
from suites.conformance.scenarios import crashing

VERSION = "1.37.1"
SETTINGS = {"provider": "local", "scope": "full", "kubernetes_version": VERSION}


def on(profile: str, *, by_scheduler: bool = False) -> PodScenario:
    scenario = crashing("max-2s", restarts=4)
    return PodScenario(
        name=f"crashing-{node_name(profile)}",
        profile=profile,
        pod=scenario.pod,
        until=scenario.until,
        by_scheduler=by_scheduler,
    )


def planned(*declared: Declared) -> Plan:
    plan = build_plan(declared, SETTINGS, LocalProvider.capabilities, Budgets())
    assert plan is not None
    return plan


def refusal_of(profile: str) -> str:
    with pytest.raises(UsageError) as refused:
        planned(Declared("BACKOFF-2", on(profile)))
    return str(refused.value)


def test_it_is_the_same_configuration_under_a_name_of_its_own() -> None:
    own, old = load_profile("max-2s"), load_profile("max-2s@1.36.4")
    assert (old.name, old.kubernetes_version) == ("max-2s@1.36.4", "1.36.4")
    assert (old.config, old.description) == (own.config, own.description)
    assert own.kubernetes_version is None


def test_a_version_follows_the_path_of_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "m@il.yaml"
    file.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n", encoding="utf-8")
    assert load_profile(file).name == "m@il"
    assert load_profile(f"{file}@1.36.4").name == "m@il@1.36.4"


def test_its_node_and_its_label_are_named_as_kubernetes_names_things() -> None:
    assert node_name("max-2s@1.36.4") == "max-2s-v1-36-4"
    assert node_name("max-2s") == "max-2s"
    pod = pod_manifest(on("max-2s@1.36.4", by_scheduler=True), node="max-2s-v1-36-4", image="i", run="r")
    assert "max-2s-v1-36-4" in pod["spec"]["nodeSelector"].values()


def test_both_kubelets_have_a_node_in_one_cluster() -> None:
    plan = planned(Declared("BACKOFF-2", on("max-2s@1.36.4")), Declared("BACKOFF-2", on("max-2s")))
    assert {node.name: node.profile for node in plan.nodes} == {
        "max-2s-v1-36-4": "max-2s@1.36.4",
        "max-2s": "max-2s",
    }
    assert plan.placements == {"crashing-max-2s-v1-36-4": "max-2s-v1-36-4", "crashing-max-2s": "max-2s"}
    assert plan.profile("max-2s@1.36.4").kubernetes_version == "1.36.4"


def test_a_requirement_holds_from_the_release_of_the_kubelet_on() -> None:
    plan = planned(Declared("SKEW-5", on("stock@1.34.4")), Declared("SKEW-5", on("stock@1.36.4")))
    assert [(each.profile, each.reason) for each in plan.skipped] == [
        ("stock@1.34.4", "needs Kubernetes 1.35 or newer; this kubelet is v1.34.4.")
    ]
    assert [each.scenario for each in plan.judgements] == ["crashing-stock-v1-36-4"]


def test_its_gates_are_those_of_its_release() -> None:
    old = effective_gates(load_profile("stock@1.34.4"), KubernetesVersion.parse(VERSION))
    assert not old[RESTART_RULES_GATE]


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (
            "stock@1.33.13",
            'kubelet profile "stock@1.33.13": version 1.33.13 is 4 minor versions older than the API server',
        ),
        ("stock@1.37.9", None),
        ("stock@1.32.9", "Kubernetes 1.32.9: the model begins with release 1.33."),
        ("stock@1.39.0", 'kubelet profile "stock@1.39.0": version 1.39.0 is newer than the API server'),
        ("stock@1.36", "kubelet profile \"stock@1.36\": '1.36' is no version of a kubelet; expected stock@1.36.4"),
        ("stock@", "kubelet profile \"stock@\": '' is no version of a kubelet"),
        ("stock@newest", "kubelet profile \"stock@newest\": 'newest' is no version of a kubelet"),
        ("nothing@1.36.4", 'kubelet profile "nothing": unknown; expected one of'),
        (
            "restart-all-off@1.34.4",
            'kubelet profile "restart-all-off@1.34.4": kubelet v1.34.4 refuses to start with it',
        ),
    ],
)
def test_what_cannot_be_a_node_there_is_refused_while_tests_are_collected(profile: str, message: str | None) -> None:
    if message is None:
        assert planned(Declared("BACKOFF-2", on(profile))).profile(profile).kubernetes_version == "1.37.9"
    else:
        assert refusal_of(profile).startswith(message)


def test_a_newer_kubelet_than_the_api_server_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r'kubelet profile "stock@1\.37\.1": version 1\.37\.1 is newer than the API server'
    ):
        check_releases([load_profile("stock@1.37.1")], KubernetesVersion.parse("1.36.4"))


def test_a_gate_that_the_kubelet_does_not_know_is_named() -> None:
    with pytest.raises(UsageError, match="unrecognized feature gate: ContainerRestartRules"):
        validate_for_node(load_profile("rules-off@1.33.13"), KubernetesVersion.parse("1.36.4"))


def test_two_profiles_cannot_share_the_name_of_a_node() -> None:
    both = [load_profile("max-2s@1.36.4"), KubeletProfile(name="max-2s-v1-36-4")]
    with pytest.raises(UsageError, match="their nodes would have one name, max-2s-v1-36-4"):
        check_releases(both, KubernetesVersion.parse(VERSION))
