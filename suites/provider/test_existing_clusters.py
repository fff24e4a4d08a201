"""The provider `existing`, on the cluster that the kit has brought up: what it may do, what it says, what it leaves."""

import base64
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from crashloop.cluster.existing.leased_namespace import LASTS_S, borrow, make, remove_orphans
from crashloop.cluster.existing.provider import ExistingProvider
from crashloop.cluster.existing.survey import survey
from crashloop.cluster.provider import Capability, Cluster, ClusterRequest, ExistingOptions, NodeRequest
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.kube.access import NAME, lease_of, renew_lease, take_lease
from crashloop.kube.answers import ApiRefusal
from crashloop.kube.client import KubeApi
from crashloop.kube.credentials import client_tls
from crashloop.pods.manifest import RUN_LABEL
from crashloop.profiles import load_profile
from crashloop.progress import SilentProgress
from crashloop.report.results import Results
from crashloop.run.existing import Offer
from crashloop.verdict import Outcome
from crashloop.waiting import wait_until

from .access import apply, kubeconfig_of, manifest, remove, without, write_kubeconfig
from .conftest import Kit

ROOT = Path(__file__).parents[2]
NAMESPACE = "crashloop"
NODE = "node-max-2s"

Json = dict[str, Any]
Options = Callable[..., ExistingOptions]


@pytest.fixture(autouse=True)
def _needs_nodes_of_our_own(kit: Kit) -> None:
    kit.needs(Capability.KUBELET_PROFILES)


@pytest.fixture
def grant(api: KubeApi, cluster: Cluster, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Applies manifests; the kubeconfig of the ServiceAccount that they are for."""
    applied: list[Json] = []

    def granted(*names: str, objects: list[Json] | None = None, account: str = "crashloop") -> str:
        wanted = [each for name in names for each in manifest(name)] if objects is None else objects
        apply(api, wanted)
        applied.extend(wanted)
        return kubeconfig_of(api, cluster.info.kubeconfig, account, tmp_path)

    yield granted
    remove(api, (each for each in reversed(applied) if each["kind"] != "Namespace"))


@pytest.fixture
def options(cluster: Cluster) -> Options:
    """Options with the image that the cluster's nodes have."""

    def made(kubeconfig: str, **more: Any) -> ExistingOptions:
        return ExistingOptions(kubeconfig=kubeconfig, image=cluster.info.image, **more)

    return made


def namespaces(api: KubeApi) -> set[str]:
    """Those that are not going."""
    found = api.call("list namespaces", "GET", "/api/v1/namespaces")["items"]
    return {each["metadata"]["name"] for each in found if "deletionTimestamp" not in each["metadata"]}


def pods_of_runs(api: KubeApi, namespace: str) -> list[str]:
    found = msgspec.json.decode(api.list_pods(namespace, label_selector=RUN_LABEL))["items"]
    return [each["metadata"]["name"] for each in found if "deletionTimestamp" not in each["metadata"]]


def request(name: str, options: ExistingOptions, *nodes: str) -> ClusterRequest:
    wanted = tuple(NodeRequest(name=each, profile=load_profile("max-2s")) for each in nodes)
    return ClusterRequest(name=name, kubernetes_version="", nodes=wanted, existing=options)


def run_suite(options: ExistingOptions, run_dir: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """A run of the conformance suite on the cluster, as a process of its own."""
    given = ["--kubeconfig", options.kubeconfig, "--image", options.image, "--node-profile", f"{NODE}=max-2s"]
    if options.namespace:
        given += ["--namespace", options.namespace]
    command = [sys.executable, "-m", "pytest", f"--rootdir={ROOT}", "-q", "--provider", "existing", *given]
    with (run_dir.parent / "suite.log").open("wb") as log:
        return subprocess.Popen([*command, "--run-dir", str(run_dir), *arguments], cwd=ROOT, stdout=log, stderr=log)


def test_a_run_needs_no_more_than_the_role_for_one_namespace(
    grant: Callable[..., str], options: Options, api: KubeApi, tmp_path: Path
) -> None:
    chosen = options(grant("existing-namespace"), namespace=NAMESPACE)
    run = run_suite(chosen, tmp_path / "run", "suites/conformance/test_cap.py", "suites/conformance/test_faults.py")
    assert run.wait(120) == 0, (tmp_path / "suite.log").read_text()
    results = msgspec.json.decode((tmp_path / "run" / "results.json").read_bytes(), type=Results)
    judged = {(each.requirement, each.scenario): each.outcome for each in results.verdicts}
    assert judged["CAP-3", "crashing-max-2s"] is Outcome.PASS
    assert judged["CAP-7", "crashing-stock"] is Outcome.SKIPPED
    assert pods_of_runs(api, NAMESPACE) == []
    assert lease_of(api, NAMESPACE, label=RUN_LABEL) is None


def test_without_a_namespace_a_run_has_one_of_its_own_that_lets_in_restricted_pods_only(
    grant: Callable[..., str], options: Options, api: KubeApi
) -> None:
    before = namespaces(api)
    cluster = ExistingProvider().up(request("own", options(grant("existing")), NODE), SilentProgress())
    (made,) = namespaces(api) - before
    assert cluster.info.namespace == made
    labels = api.call("read it", "GET", f"/api/v1/namespaces/{made}")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    assert labels[RUN_LABEL] == "own"
    cluster.down()
    cluster.down()
    assert namespaces(api) == before


@pytest.mark.parametrize(
    ("role", "resource", "verb", "said"),
    [
        ("crashloop", "pods", "create", "create pods"),
        ("crashloop", "pods/log", "get", "get pods/log"),
        ("crashloop", "leases", "patch", "patch leases.coordination.k8s.io"),
        ("crashloop-nodes", "nodes", "list", "list nodes"),
        ("crashloop-node-events", "events", "list", "list events in namespace default"),
    ],
    ids=["pods", "logs", "leases", "nodes", "events"],
)
def test_a_verb_that_is_forbidden_is_named_with_the_manifest_that_grants_it(
    grant: Callable[..., str], options: Options, role: str, resource: str, verb: str, said: str
) -> None:
    objects = without(manifest("existing-namespace"), role, resource, verb)
    chosen = options(grant(objects=objects), namespace=NAMESPACE)
    with pytest.raises(UsageError) as caught:
        survey(chosen)
    assert str(caught.value) == (
        f"kubeconfig {chosen.kubeconfig}: its user lacks permissions for a run in namespace crashloop.\n"
        f"Forbidden: {said}.\n"
        "Apply manifests/rbac/existing-namespace.yaml with sufficient permissions."
    )


def test_credentials_that_are_not_accepted_are_said_to_have_expired_perhaps(
    cluster: Cluster, options: Options, tmp_path: Path
) -> None:
    (known,) = yaml.safe_load(Path(cluster.info.kubeconfig).read_text())["clusters"]
    kubeconfig = write_kubeconfig(tmp_path / "stale", known["cluster"], {"token": "stale"})
    with pytest.raises(
        UsageError, match=r"does not accept the credentials \(401 Unauthorized\); they may have expired"
    ):
        survey(options(kubeconfig))


def test_an_api_server_that_does_not_answer_is_a_missing_prerequisite(options: Options, tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "nobody", {"server": "https://127.0.0.1:1"}, {"token": "x"})
    with pytest.raises(PrerequisiteError, match=r"the API server at https://127\.0\.0\.1:1 does not answer"):
        survey(options(kubeconfig))


def test_a_namespace_that_is_not_there_is_named(grant: Callable[..., str], options: Options) -> None:
    chosen = options(grant("existing"), namespace="nowhere")
    with pytest.raises(UsageError, match="namespace nowhere: the cluster has no such namespace"):
        ExistingProvider().up(request("lost", chosen), SilentProgress())


@pytest.fixture
def _kubelets_that_the_cluster_vouches_for(cluster: Cluster, api: KubeApi) -> None:
    """Whoever asks a kubelet directly wants its certificate to be signed by the cluster; kubeadm's kubelets sign their own."""
    (address,) = (each["address"] for each in api.node(NODE)["status"]["addresses"] if each["type"] == "InternalIP")
    (known,) = yaml.safe_load(Path(cluster.info.kubeconfig).read_text())["clusters"]
    authority = base64.b64decode(known["cluster"]["certificate-authority-data"]).decode()
    trusting = client_tls(authority)
    try:
        with socket.create_connection((address, 10250), timeout=60) as raw:
            trusting.wrap_socket(raw, server_hostname=address).close()
    except ssl.SSLCertVerificationError:
        pytest.skip("the certificates of this cluster's kubelets are not signed by its authority")


@pytest.mark.usefixtures("_kubelets_that_the_cluster_vouches_for")
def test_the_configuration_is_read_with_a_permission_for_just_that(grant: Callable[..., str], options: Options) -> None:
    found = survey(options(grant("existing-namespace", "configz"), namespace=NAMESPACE, read_configz=True))
    offer = Offer(found)
    assert offer.node_for(load_profile("max-2s")) == NODE
    assert offer.node_for(load_profile("stock")) == "node-stock"
    assert offer.node_for(load_profile("max-300s")) == "node-stock"
    assert offer.node_for(load_profile("max-10s")) is None


def test_the_configuration_is_read_through_the_api_server_where_that_is_permitted(
    grant: Callable[..., str], options: Options
) -> None:
    chosen = options(grant("existing-namespace", "configz-through-proxy"), namespace=NAMESPACE, read_configz=True)
    assert Offer(survey(chosen)).node_for(load_profile("max-2s")) == NODE


@pytest.mark.usefixtures("_kubelets_that_the_cluster_vouches_for")
def test_a_configuration_that_may_not_be_read_is_said_with_both_ways_and_the_risk_of_one(
    grant: Callable[..., str], options: Options
) -> None:
    with pytest.raises(UsageError) as caught:
        survey(options(grant("existing-namespace"), namespace=NAMESPACE, read_configz=True))
    said = str(caught.value).splitlines()
    assert said[0] == f"--read-configz: node {NODE}: its kubelet's configuration cannot be read."
    assert said[1].startswith("directly (permission nodes/configz): query https://")
    assert "403 Forbidden" in said[1]
    assert said[2].startswith("through the API server (permission nodes/proxy): read the configuration of node")
    assert "403 Forbidden" in said[2]
    assert "permits running commands in every container" in said[4]


def test_a_declaration_that_the_configuration_contradicts_is_refused(cluster: Cluster, options: Options) -> None:
    chosen = options(cluster.info.kubeconfig, read_configz=True, node_profiles={NODE: "max-10s"})
    with pytest.raises(UsageError, match=f'node {NODE}: declared to have the kubelet profile "max-10s"'):
        Offer(survey(chosen), [load_profile("max-10s")])


def test_only_nodes_with_the_chosen_labels_are_used(cluster: Cluster, options: Options) -> None:
    chosen = options(cluster.info.kubeconfig, node_selector=f"kubernetes.io/hostname in ({NODE})")
    assert [each.name for each in survey(chosen).nodes] == [NODE]


@pytest.mark.parametrize(
    ("selector", "reason"),
    [
        ("pool=none", "--node-selector 'pool=none': no node of the cluster has these labels."),
        ("pool=a b", "--node-selector 'pool=a b': list nodes: the API server answered 400 BadRequest"),
    ],
    ids=["of-no-node", "that-is-none"],
)
def test_a_node_selector_that_chooses_nothing_is_refused(
    cluster: Cluster, options: Options, selector: str, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        survey(options(cluster.info.kubeconfig, node_selector=selector))


def test_a_quota_limits_the_pods_of_a_wave_and_one_that_is_used_up_is_named(
    cluster: Cluster, options: Options, api: KubeApi
) -> None:
    apply(api, manifest("existing-namespace")[:1])
    quota: Json = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": NAMESPACE},
        "spec": {"hard": {"pods": "3"}},
    }
    chosen = options(cluster.info.kubeconfig, namespace=NAMESPACE)
    try:
        for pods in (3, 1):
            quota["spec"]["hard"]["pods"] = str(pods)
            apply(api, [quota])
            path = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas/few"
            wait_until(
                "the quota to be counted",
                lambda path=path, pods=pods: api.call("read", "GET", path)["status"].get("hard") == {"pods": str(pods)},  # type: ignore[misc]
                timeout_s=120,
            )
            if pods == 3:
                assert survey(chosen).max_pods == 3
        with pytest.raises(UsageError, match="namespace crashloop: its ResourceQuota few admits 1 more pods"):
            survey(chosen)
    finally:
        remove(api, [quota])


def renewed(api: KubeApi, namespace: str, at: datetime) -> None:
    """As if the lease had been renewed then."""
    body = {"spec": {"renewTime": at.isoformat(timespec="microseconds").replace("+00:00", "Z")}}
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{NAME}"
    api.call("renew a lease", "PATCH", path, body=body, content_type="application/merge-patch+json")


def test_only_namespaces_that_killed_runs_have_left_are_removed(api: KubeApi) -> None:
    now = api.now()
    later = now + timedelta(seconds=LASTS_S + 60)
    unleased = api.create_namespace(prefix="crashloop-", labels={RUN_LABEL: "unleased"})
    alive, killed = make(api, "alive"), make(api, "killed")
    try:
        assert remove_orphans(api, now=now) == ()
        renewed(api, alive.namespace, later)
        assert remove_orphans(api, now=later) == (killed.namespace,)
        assert {alive.namespace, unleased} <= namespaces(api)
        assert killed.namespace not in namespaces(api)
    finally:
        alive.leave()
        killed.leave()
        api.delete_namespace(unleased)


def test_pods_that_a_killed_run_has_left_in_a_borrowed_namespace_are_removed(cluster: Cluster, api: KubeApi) -> None:
    apply(api, manifest("existing-namespace")[:1])
    take_lease(api, NAMESPACE, "killed", labels={RUN_LABEL: "killed"}, lasts_s=LASTS_S)
    from crashloop.pods.manifest import heartbeat_manifest

    for run in ("killed", "other"):
        pod = heartbeat_manifest(node=NODE, image=cluster.info.image, run=run)
        pod["metadata"]["name"] = f"left-by-{run}"
        api.create_pod(NAMESPACE, pod)
    with pytest.raises(UsageError, match="namespace crashloop: run killed works in it"):
        borrow(api, NAMESPACE, "next")
    renewed(api, NAMESPACE, datetime(2026, 1, 1, tzinfo=UTC))
    place = borrow(api, NAMESPACE, "next")
    assert pods_of_runs(api, NAMESPACE) == ["left-by-other"]
    assert holder(api) == "next"
    place.leave()
    api.delete_pod(NAMESPACE, "left-by-other", grace_s=0)
    assert holder(api) is None


def holder(api: KubeApi) -> str | None:
    lease = lease_of(api, NAMESPACE, label=RUN_LABEL)
    return None if lease is None else lease.holder


def test_a_run_whose_lease_was_taken_over_neither_renews_nor_removes_the_other_s(
    cluster: Cluster, api: KubeApi
) -> None:
    apply(api, manifest("existing-namespace")[:1])
    asleep = borrow(api, NAMESPACE, "asleep")
    theirs = lease_of(api, NAMESPACE, label=RUN_LABEL)
    assert theirs is not None
    renewed(api, NAMESPACE, datetime(2026, 1, 1, tzinfo=UTC))
    successor = borrow(api, NAMESPACE, "successor")
    with pytest.raises(ApiRefusal):
        renew_lease(api, NAMESPACE, theirs)
    asleep.leave()
    assert holder(api) == "successor"
    successor.leave()
    assert holder(api) is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_an_interrupted_run_leaves_nothing_in_the_cluster(
    cluster: Cluster, options: Options, api: KubeApi, tmp_path: Path, number: signal.Signals
) -> None:
    before = namespaces(api)
    run = run_suite(options(cluster.info.kubeconfig), tmp_path / "run", "suites/conformance/test_cap.py")

    def launched() -> bool:
        made = namespaces(api) - before
        return any("crashing-max-2s" in pods_of_runs(api, name) for name in made)

    wait_until("the scenario to be launched", launched, timeout_s=120, last_seen=(tmp_path / "suite.log").read_text)
    os.kill(run.pid, number)
    run.wait(120)
    wait_until("the namespace to go", lambda: namespaces(api) == before, timeout_s=120)


def test_a_kubelet_that_restarts_meanwhile_leaves_the_verdict_open(
    cluster: Cluster, options: Options, api: KubeApi, tmp_path: Path
) -> None:
    before = namespaces(api)
    run = run_suite(
        options(cluster.info.kubeconfig), tmp_path / "run", "suites/conformance/test_cap.py", "-k", "lowers"
    )

    def crashing() -> bool:
        for name in namespaces(api) - before:
            try:
                status = api.get_pod(name, "crashing-max-2s")["status"]
            except ApiRefusal:
                return False
            return any(each["restartCount"] >= 3 for each in status.get("containerStatuses", ()))
        return False

    wait_until("a few restarts", crashing, timeout_s=120, last_seen=(tmp_path / "suite.log").read_text)
    cluster.restart_kubelet(NODE)
    assert run.wait(120) == 3
    results = msgspec.json.decode((tmp_path / "run" / "results.json").read_bytes(), type=Results)
    (verdict,) = (each for each in results.verdicts if each.scenario == "crashing-max-2s")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "the kubelet was restarted meanwhile" in verdict.findings[0]
