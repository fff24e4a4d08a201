"""What a person reads whose cluster exists, but cannot be used as it is, or no longer; and what is left there."""

from pathlib import Path

import msgspec

from crashloop.report.results import Results
from crashloop.verdict import ExitCode, Outcome
from suites.selftest.kit.existing_kit import crashloop_run
from suites.selftest.kit.existing_peer import LEASES, NAMESPACE, PODS, ExistingPeer, node, serving
from suites.selftest.kit.kube_peer import Json, status

SUITE = ("suites/conformance/test_backoff.py", "-k", "test_no_restart_comes_before_its_delay_has_passed")
MISSING = {"reason": "ErrImagePull", "message": "failed to pull:\nnowhere.example/none:1: not found"}


def run(peer: ExistingPeer, folder: Path, *arguments: str, user: Json | None = None) -> tuple[int, str]:
    """Exit code and output of a run in the peer's namespace."""
    with serving(peer, folder, user) as kubeconfig:
        given = ("--provider", "existing", "--kubeconfig", kubeconfig, *arguments)
        code, output = crashloop_run(folder, *given, "--run-dir", str(folder / "run"), *SUITE)
    assert "Traceback" not in output, output
    return code, output


def there(peer: ExistingPeer, folder: Path, *arguments: str, user: Json | None = None) -> tuple[int, str]:
    return run(peer, folder, "--namespace", NAMESPACE, *arguments, user=user)


def test_an_image_that_a_node_cannot_have_ends_the_run_at_once(tmp_path: Path) -> None:
    peer = ExistingPeer(node("worker"))
    peer.container = {"waiting": MISSING}
    peer.before = lambda request: status(400, "BadRequest") if request == "GET open" else None
    code, output = there(peer, tmp_path, "--image", "nowhere.example/none:1")
    assert code == ExitCode.USAGE, output
    assert (
        "node worker: it cannot have the image nowhere.example/none:1 (ErrImagePull).\n"
        "failed to pull: nowhere.example/none:1: not found\n"
        "Name an image with --image that the node has or can pull."
    ) in output
    assert peer.names(PODS) == peer.names(LEASES) == []


def test_a_cluster_whose_nodes_are_all_not_ready_is_not_used(tmp_path: Path) -> None:
    peer = ExistingPeer(node("one", ready=False), node("other", ready=False))
    code, output = there(peer, tmp_path)
    assert code == ExitCode.ERROR, output
    assert (
        "none of its nodes can be used.\nnode one: not Ready (KubeletNotReady).\nnode other: not Ready (KubeletNotReady)."
    ) in output
    assert peer.names(LEASES) == []
    assert not (tmp_path / "run").exists()


def test_nodes_that_are_not_ready_any_more_when_they_are_needed_fail_the_run(tmp_path: Path) -> None:
    peer = ExistingPeer(node("worker"))

    def before(request: str) -> Json | None:
        if request == f"POST {LEASES}":
            peer.objects["/api/v1/nodes/worker"] = node("worker", ready=False)
        return None

    peer.before = before
    code, output = there(peer, tmp_path)
    assert code == ExitCode.ERROR, output
    assert "node worker: not Ready (KubeletNotReady), and the run needs it." in output
    assert peer.names(PODS) == peer.names(LEASES) == []


def test_credentials_that_expire_during_a_run_end_it_with_what_was_judged_until_then(tmp_path: Path) -> None:
    peer = ExistingPeer(node("worker"))

    def before(request: str) -> Json | None:
        if any(name.startswith("crashing") for name in peer.names(PODS)):
            return status(401, "Unauthorized")
        if request == f"POST {PODS}" and peer.names(PODS):
            peer.ended.set()
        return None

    peer.before = before
    code, output = there(peer, tmp_path)
    assert code == ExitCode.USAGE, output
    assert (
        f"crashloop: kubeconfig {tmp_path / 'kubeconfig'}: the API server does not accept the credentials "
        "(401 Unauthorized); they may have expired.\n"
        "Log in to the cluster again, or name another kubeconfig with --kubeconfig."
    ) in output
    assert f"namespace {NAMESPACE}: the objects of this run stay behind" in output
    assert (
        f"To remove them at once: kubectl delete pods,jobs,leases --namespace {NAMESPACE} --selector crashloop.dev/run="
        in output
    )
    results = msgspec.json.decode((tmp_path / "run" / "results.json").read_bytes(), type=Results)
    assert {each.outcome for each in results.verdicts} <= {Outcome.INCONCLUSIVE, Outcome.SKIPPED}


def test_a_plugin_of_the_kubeconfig_that_fails_is_named(tmp_path: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "false", "interactiveMode": "Never"}
    peer = ExistingPeer(node("worker"))
    code, output = there(peer, tmp_path, user={"exec": plugin})
    assert code == ExitCode.USAGE, output
    assert output.count("its credential plug-in 'false' ended with exit code 1; its own message stands above.") == 1
    assert not (tmp_path / "run").exists()


def test_a_namespace_in_which_another_run_works_is_not_used(tmp_path: Path) -> None:
    peer = ExistingPeer(node("worker"))
    peer.before = lambda request: status(409, "AlreadyExists") if request == f"POST {LEASES}" else None
    code, output = there(peer, tmp_path)
    assert code == ExitCode.USAGE, output
    assert f"namespace {NAMESPACE}: another run works in it.\nWait until it ends" in output
    assert peer.names(PODS) == []


def test_a_run_that_may_not_see_kubelets_restart_does_not_begin(tmp_path: Path) -> None:
    peer = ExistingPeer(node("worker"))
    peer.forbidden = frozenset({"list events"})
    code, output = there(peer, tmp_path)
    assert code == ExitCode.USAGE, output
    assert (
        f"its user lacks permissions for a run in namespace {NAMESPACE}.\n"
        "Forbidden: list events, list events in namespace default.\n"
        "Apply manifests/rbac/existing-namespace.yaml with sufficient permissions."
    ) in output
    assert peer.names(LEASES) == []


def test_who_may_not_work_in_every_namespace_reads_of_the_way_that_needs_less(tmp_path: Path) -> None:
    peer = ExistingPeer(node("worker"))
    peer.forbidden = frozenset({"create namespaces", "create pods"})
    code, output = run(peer, tmp_path)
    assert code == ExitCode.USAGE, output
    assert (
        "its user lacks permissions for a run in a namespace of its own.\n"
        "Forbidden: create pods, create namespaces.\n"
        "Apply manifests/rbac/existing.yaml with sufficient permissions.\n"
        "Or name a namespace with --namespace, which needs the far fewer permissions of manifests/rbac/existing-namespace.yaml."
    ) in output
