"""`crashloop observe` on the kit's cluster, with nothing but the permissions of its manifest."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crashloop.cluster.provider import Capability, Cluster
from crashloop.errors import UsageError
from crashloop.inference.judging import Agreement
from crashloop.kube.client import KubeApi
from crashloop.observe.run import ObservationRequest, look
from crashloop.pods.manifest import pod_manifest
from crashloop.profiles import load_profile
from crashloop.progress import SilentProgress
from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until
from crashloop.waiting import wait_until

from .access import apply, kubeconfig_of, manifest, remove, without
from .conftest import Kit

NAMESPACE = "default"
NODE = "node-max-2s"
LOOPS = 3


@pytest.fixture(autouse=True)
def _needs_nodes_of_our_own(kit: Kit) -> None:
    kit.needs(Capability.KUBELET_PROFILES)


@pytest.fixture
def looping(api: KubeApi, cluster: Cluster) -> Iterator[None]:
    """Containers that have restarted a few times on the node, and go on."""
    names = [f"looping-{number}" for number in range(LOOPS)]
    for number, name in enumerate(names):
        program = exits_with(1, after_s=1.0 + number / 2, times=500)
        pod = Pod(containers=(Container(program=program),))
        scenario = PodScenario(name=name, profile="max-2s", pod=pod, until=Until())
        api.create_pod(NAMESPACE, pod_manifest(scenario, node=NODE, image=cluster.info.image, run="observed"))

    def restarted(name: str) -> bool:
        statuses = api.get_pod(NAMESPACE, name)["status"].get("containerStatuses", ())
        return any(each["restartCount"] >= 2 for each in statuses)

    wait_until("the loops to have begun", lambda: all(map(restarted, names)), timeout_s=120, every_s=0.5)
    yield
    for name in names:
        api.delete_pod(NAMESPACE, name, grace_s=0)


@pytest.mark.parametrize(
    ("profile", "agreement"),
    [("max-2s", Agreement.AGREES), ("max-20s", Agreement.CONTRADICTS)],
    ids=["as-configured", "other-than-configured"],
)
def test_a_node_is_seen_to_follow_its_curve_and_no_other(
    cluster: Cluster, api: KubeApi, tmp_path: Path, looping: None, profile: str, agreement: Agreement
) -> None:
    objects = manifest("observe")
    apply(api, objects)
    try:
        kubeconfig = kubeconfig_of(api, cluster.info.kubeconfig, "crashloop-observe", tmp_path)
        expected = {NODE: load_profile(profile)}
        seen = look(ObservationRequest(kubeconfig=kubeconfig, for_s=30, expected=expected), SilentProgress())
    finally:
        remove(api, (each for each in objects if each["kind"].startswith("ClusterRole")))
    finding = next(each for each in seen.nodes if each.node == NODE)
    assert finding.agreement is agreement, finding
    assert finding.loops == LOOPS
    assert finding.likely is not None
    assert finding.likely.maximum_s <= 4


def test_the_configuration_is_compared_where_it_may_be_read(cluster: Cluster, looping: None) -> None:
    request = ObservationRequest(kubeconfig=cluster.info.kubeconfig, for_s=15, read_configz=True, namespace=NAMESPACE)
    seen = look(request, SilentProgress())
    finding = next(each for each in seen.nodes if each.node == NODE)
    assert finding.configured is not None
    assert (finding.configured.maximum_s, finding.configured_by) == (2.0, "configz")
    assert finding.agreement is Agreement.AGREES


def test_a_verb_that_is_forbidden_is_named_with_the_manifest_that_grants_it(
    cluster: Cluster, api: KubeApi, tmp_path: Path
) -> None:
    objects = without(manifest("observe"), "crashloop-observe", "pods", "watch")
    apply(api, objects)
    try:
        kubeconfig = kubeconfig_of(api, cluster.info.kubeconfig, "crashloop-observe", tmp_path)
        with pytest.raises(UsageError) as caught:
            look(ObservationRequest(kubeconfig=kubeconfig, for_s=1), SilentProgress())
    finally:
        remove(api, (each for each in objects if each["kind"].startswith("ClusterRole")))
    assert "Forbidden: watch pods." in str(caught.value)
    assert "manifests/rbac/observe.yaml" in str(caught.value)
