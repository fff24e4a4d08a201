"""The examples of docs/pytest-plugin.md are tests: they pass on real clusters, and fail where the expectation is wrong."""

import re
from pathlib import Path

import pytest

from crashloop.cluster.provider import Capability
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import pull_policy
from crashloop.waiting import wait_until
from suites.selftest.kit.their_pytest import session

from .conftest import Kit, node

PAGE = Path(__file__).parents[2] / "docs" / "pytest-plugin.md"
OWN_WORKLOAD, WITH_PROFILES, ON_A_CLUSTER = re.findall(
    r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
)
NAME = "kit-plugin"
LONG_S = 280
"""Time for a cluster and its pods."""


@pytest.fixture(autouse=True)
def _needs_nodes_of_our_own(kit: Kit) -> None:
    kit.needs(Capability.KUBELET_PROFILES)


def operator(api: KubeApi, image: str) -> None:
    """The Deployment of the first example, up in its namespace."""
    container = {
        "name": "operator",
        "image": image,
        "imagePullPolicy": pull_policy(image),
        "command": ["/bin/sh", "-c", "exec sleep 1000"],
    }
    labels = {"app": "operator"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "operator"}, "spec": spec}
    api.call("create the namespace", "POST", "/api/v1/namespaces", body={"metadata": {"name": "shop"}})
    place = "/apis/apps/v1/namespaces/shop/deployments"
    api.call("create the operator", "POST", place, body=deployment)
    wait_until(
        "the operator to be available",
        lambda: api.call("read the operator", "GET", f"{place}/operator")["status"].get("availableReplicas"),
        timeout_s=90,
    )


def test_the_example_of_a_workload_of_your_own_passes_and_fails_on_a_shorter_promise(kit: Kit, tmp_path: Path) -> None:
    with kit.up(NAME, node("node-max-10s", "max-10s")) as cluster:
        api = KubeApi(cluster.info.kubeconfig)
        operator(api, cluster.info.image)
        api.close()
        given = ("--crashloop-image", cluster.info.image)
        found = {
            wanted: session(
                tmp_path,
                OWN_WORKLOAD.replace('crashloop_curve(maximum="10s")', wanted),
                *given,
                kubeconfig=cluster.info.kubeconfig,
                timeout_s=LONG_S,
            )
            for wanted in ('crashloop_curve(maximum="10s")', "1.0")
        }
    (status, output), (wrong, told) = found.values()
    assert status == 0, output
    assert "1 passed" in output
    assert wrong == 1, told  # its second crash: 10 s were due
    assert "AssertionError" in told


def test_the_example_with_a_cluster_of_its_own_passes(kit: Kit, tmp_path: Path) -> None:
    status, output = session(tmp_path, WITH_PROFILES, "--crashloop-provider", kit.provider.name, timeout_s=LONG_S)
    assert status == 0, output
    assert "2 passed" in output


def test_it_fails_where_the_node_follows_another_curve_than_expected(kit: Kit, tmp_path: Path) -> None:
    first, _, _ = WITH_PROFILES.partition("def test_a_node_without")
    tests = first.replace('crashloop_curve(profile="max-2s")', 'crashloop_curve(maximum="20s")')
    status, output = session(tmp_path, tests, "--crashloop-provider", kit.provider.name, timeout_s=LONG_S)
    assert status == 1, output
    assert "AssertionError: node max-2s does not follow the curve from 10 s to 20 s." in output
    assert re.search(r"default/often app: restart \d came [23] s after the exit; at least (10|20) s was due\.", output)


def test_the_example_on_a_cluster_that_exists_passes(kit: Kit, tmp_path: Path) -> None:
    with kit.up(NAME, node("node-max-2s", "max-2s")) as cluster:
        given = ("--k8s-kubeconfig", cluster.info.kubeconfig, "--crashloop-image", cluster.info.image)
        status, output = session(tmp_path, ON_A_CLUSTER, *given, timeout_s=LONG_S)
    assert status == 0, output
    assert "1 passed" in output
