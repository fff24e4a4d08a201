"""A stress run on a cluster that it has not made: evidence from journals and statements, and nothing left behind."""

import secrets
from collections.abc import Iterator

import pytest

from crashloop.cluster.images import PROGRAM_IMAGE
from crashloop.cluster.provider import Cluster
from crashloop.kube.client import KubeApi
from crashloop.verdict import Outcome
from suites.provider.conftest import Kit, node
from suites.stress.started import started, verdict

NODE = "worker"
NAMESPACE = "team"


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Somebody's cluster, of the provider that the options name."""
    with Kit(request.config).up(f"existing-{secrets.token_hex(3)}", node(NODE, "max-1s")) as made:
        yield made


def pods(api: KubeApi, namespace: str) -> list[str]:
    listed = api.call("list pods", "GET", f"/api/v1/namespaces/{namespace}/pods")
    return [each["metadata"]["name"] for each in listed["items"]]


def test_a_run_in_a_lent_namespace_judges_by_journals_and_leaves_it_empty(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    info = cluster.info
    api = KubeApi(info.kubeconfig, context=info.context)
    namespace = api.create_namespace(prefix=f"{NAMESPACE}-", labels={})
    api.wait_for_default_service_account(namespace)
    where = ("--provider", "existing", "--kubeconfig", info.kubeconfig, "--namespace", namespace)
    how = ("--image", PROGRAM_IMAGE, "--node-profile", f"{NODE}=max-1s")
    with started("short", tmp_path_factory.mktemp("existing"), *where, *how) as running:
        results = running.ended()
    for check in ("load-as-planned", "evidence-complete", "no-early-restart", "no-lost-restart", "nothing-left"):
        assert verdict(results, check).outcome is Outcome.PASS, verdict(results, check)
    assert verdict(results, "restarts-conserved").value == 0
    assert results.totals["restarts"] >= 6
    assert [(each.name, each.profile) for each in results.nodes] == [(NODE, "max-1s")]
    assert pods(api, namespace) == []
    api.close()
