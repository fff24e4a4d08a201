"""A stress run on a cluster that it has not made: evidence from journals and statements, and nothing left behind."""

import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from crashloop.cluster.images import PROGRAM_IMAGE
from crashloop.cluster.provider import Cluster
from crashloop.kube.client import KubeApi
from crashloop.slo.measurements import Lifecycle
from crashloop.stress.assignment import read_jsonl
from crashloop.stress.folder import LIFECYCLES
from suites.provider.conftest import Kit, node
from suites.stress.started import CHECKS, require_passed, started, verdict

NODE, OTHER = "worker", "worker-2"
NAMESPACE = "team"


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Somebody's cluster of two nodes, of the provider that the options name."""
    nodes = (node(NODE, "max-1s"), node(OTHER, "max-1s"))
    with Kit(request.config).up(f"existing-{secrets.token_hex(3)}", *nodes) as made:
        yield made


def pods(api: KubeApi, namespace: str) -> list[str]:
    listed = api.call("list pods", "GET", f"/api/v1/namespaces/{namespace}/pods")
    return [each["metadata"]["name"] for each in listed["items"]]


@contextmanager
def lent(cluster: Cluster) -> Iterator[tuple[KubeApi, str]]:
    """A connection, and a namespace of somebody's."""
    with closing(KubeApi(cluster.info.kubeconfig, context=cluster.info.context)) as api:
        namespace = api.create_namespace(prefix=f"{NAMESPACE}-", labels={})
        api.wait_for_default_service_account(namespace)
        yield api, namespace


def where(cluster: Cluster, namespace: str) -> tuple[str, ...]:
    """The options of a run there."""
    at = ("--provider", "existing", "--kubeconfig", cluster.info.kubeconfig, "--namespace", namespace)
    return (*at, "--image", PROGRAM_IMAGE)


def test_a_run_in_a_lent_namespace_judges_by_journals_and_leaves_it_empty(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    how = ("--node-profile", f"{NODE}=max-1s")
    with (
        lent(cluster) as (api, namespace),
        started("short", tmp_path_factory.mktemp("existing"), *where(cluster, namespace), *how) as running,
    ):
        results = running.ended()
        assert pods(api, namespace) == []
    require_passed(results, *CHECKS)
    assert verdict(results, "restarts-conserved").value == 0
    assert results.totals["restarts"] >= 6
    assert [(each.name, each.profile) for each in results.nodes] == [(NODE, "max-1s")]


def test_a_load_that_is_spread_comes_to_both_nodes_alike(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    how = ("--node-profile", f"{NODE}=max-1s", "--node-profile", f"{OTHER}=max-1s", "--spread-over", "all")
    with (
        lent(cluster) as (api, namespace),
        started("spread", tmp_path_factory.mktemp("spread"), *where(cluster, namespace), *how) as running,
    ):
        results = running.ended()
        assert pods(api, namespace) == []
    require_passed(results, *CHECKS)
    conserved = verdict(results, "restarts-conserved")
    assert [each.value for each in conserved.results] == [0]
    assert "Judged by 1 of 2 nodes, a sample by seed 1." in conserved.sentence
    assert [set(each.stands_for) for each in results.nodes] == [{NODE, OTHER}]
    crashers = [each for each in read_jsonl(running.run.metrics_dir / LIFECYCLES, Lifecycle) if each.group == "crasher"]
    assert Counter(each.node for each in crashers) == {NODE: 3, OTHER: 3}
    assert all(each.restarts for each in crashers)
