"""The plan of a second kubelet in a node's container."""

import msgspec
import yaml

from crashloop.cluster.kind.kubelet_trial import CandidatePlan, candidate_plan
from crashloop.cluster.kind.plan import IMAGES_OWN
from crashloop.cluster.kubelets import KubeletProgram
from crashloop.profiles import load_profile
from suites.selftest.kit.kind_kit import blueprint

OWN = KubeletProgram(path=IMAGES_OWN, version="1.37.1")


def plan(kubelet: KubeletProgram = OWN, *, index: int = 3) -> CandidatePlan:
    made_from = blueprint("max-2s")
    return candidate_plan(made_from, made_from.workers[0], index, load_profile("max-301s"), kubelet=kubelet)


def test_it_shares_nothing_with_the_nodes_kubelet() -> None:
    config = yaml.safe_load(plan().files["kubelet.yaml"])
    assert config["containerRuntimeEndpoint"] == "unix:///run/crashloop/3/3.sock"
    assert (config["port"], config["healthzPort"], config["registerNode"]) == (20003, 21003, False)
    assert config["cgroupRoot"] == "/crashloop-candidate-3"
    assert config["staticPodPath"] == "/run/crashloop/3/static-pods"
    assert 'state = "/run/crashloop/3/containerd-state"' in plan().files["containerd.toml"]


def test_it_runs_with_the_candidates_configuration_and_not_with_the_nodes() -> None:
    config = yaml.safe_load(plan().files["kubelet.yaml"])
    assert config["crashLoopBackOff"] == {"maxContainerRestartPeriod": "301s"}


def test_it_asks_who_may_speak_to_it_with_the_nodes_credentials() -> None:
    assert "--kubeconfig=/etc/kubernetes/kubelet.conf" in plan().argv
    assert "--hostname-override=candidate-3" in plan().argv
    assert yaml.safe_load(plan().files["kubelet.yaml"])["authentication"]["x509"] == {
        "clientCAFile": "/etc/kubernetes/pki/ca.crt"
    }


def test_a_kubelet_that_the_node_does_not_have_is_put_into_its_folder() -> None:
    assert (plan().program, plan().argv[0]) == (None, "kubelet")
    other = plan(KubeletProgram(path="/cache/kubelet", version="1.36.3"))
    assert (other.program, other.argv[0]) == ("/cache/kubelet", "/crashloop/candidates/3/kubelet")


def test_a_kubelet_that_is_the_nodes_too_is_there_already() -> None:
    made_from = blueprint("max-2s")
    node = msgspec.structs.replace(made_from.workers[0], kubelet="/home/me/kubelet")
    own = KubeletProgram(path="/home/me/kubelet", version="1.37.1")
    found = candidate_plan(made_from, node, 1, load_profile("stock"), kubelet=own)
    assert (found.program, found.argv[0]) == (None, "kubelet")


def test_drop_in_files_and_further_arguments_are_the_candidates_own() -> None:
    made_from = blueprint("max-2s")
    profile = msgspec.structs.replace(load_profile("drop-in-20s"), arguments=("--no-such-flag",))
    found = candidate_plan(made_from, made_from.workers[0], 3, profile, kubelet=OWN)
    assert f"--config-dir={found.folder}/kubelet.conf.d" in found.argv
    assert found.argv[-1] == "--no-such-flag"
    text = found.files["kubelet.conf.d/00.conf"]
    assert yaml.safe_load(text)["crashLoopBackOff"] == {"maxContainerRestartPeriod": "20s"}
