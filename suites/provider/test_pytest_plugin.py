"""The examples of docs/pytest-plugin.md are tests: they pass on real clusters, and fail where the expectation is wrong."""

import re
from pathlib import Path

import pytest

from crashloop.cluster.provider import Capability
from suites.selftest.kit.their_pytest import session

from .conftest import Kit, node

PAGE = Path(__file__).parents[2] / "docs" / "pytest-plugin.md"
_, WITH_PROFILES, ON_A_CLUSTER = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
NAME = "kit-plugin"
LONG_S = 280
"""Time for a cluster and its pods."""


@pytest.fixture(autouse=True)
def _needs_nodes_of_our_own(kit: Kit) -> None:
    kit.needs(Capability.KUBELET_PROFILES)


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
