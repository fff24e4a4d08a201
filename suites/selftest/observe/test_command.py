"""`crashloop observe` from the first list to its two files, against a server that answers from data."""

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.errors import UsageError
from crashloop.inference.judging import Agreement, Observation
from crashloop.observe.run import ObservationRequest, look
from crashloop.observe.watch import LoopWatch
from crashloop.progress import SilentProgress
from crashloop.verdict import ExitCode
from crashloop.waiting import wait_until
from suites.selftest.kit.cluster_peer import ClusterPeer, looping, node, pod, serving
from suites.selftest.kit.existing_peer import ExistingPeer
from suites.selftest.kit.existing_peer import node as ready_node
from suites.selftest.kit.existing_peer import serving as serving_existing
from suites.selftest.kit.kube_peer import status
from tools.schemas import schemas

Json = dict[str, Any]


WATCH, NODES = "GET /api/v1/pods watch", "GET /api/v1/nodes"
_wait = LoopWatch.wait


def observed(
    peer: ClusterPeer, folder: Path, *arguments: str, meanwhile: Callable[[LoopWatch], None] = lambda _: None
) -> tuple[int, str, Observation]:
    """Exit code, output and observe.json of a look whose time begins when all changes were taken and `meanwhile` has happened."""

    def wait(watch: LoopWatch, for_s: float) -> None:
        followed(peer)
        meanwhile(watch)
        _wait(watch, for_s)

    with serving(peer, folder) as kubeconfig, pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoopWatch, "wait", wait)
        given = ["observe", "--kubeconfig", kubeconfig, "--run-dir", str(folder / "out"), *arguments]
        done = CliRunner().invoke(app, [*given, *(() if "--for" in given else ("--for", "100ms"))])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    seen = msgspec.json.decode((folder / "out" / "observe.json").read_bytes(), type=Observation)
    return done.exit_code, done.output, seen


def followed(peer: ClusterPeer) -> None:
    wait_until("all changes to be taken", lambda: peer.is_followed, timeout_s=60, every_s=0.01)


def test_a_node_that_follows_its_curve_agrees(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker"), node("idle")]], [pod("old", 40, 1_700_000_000, 14)])
    looping(peer, 11, 13, 15, 12)
    code, output, seen = observed(peer, tmp_path, "--expect", "worker=max-10s")
    assert code == ExitCode.OK
    assert seen.agreement is Agreement.AGREES
    (finding,) = seen.nodes
    assert (finding.node, finding.loops, finding.waits, finding.used) == ("worker", 2, 5, 5)
    assert "agrees: 1 node followed the curve configured for them." in output
    assert [(loop.name, len(loop.waits)) for loop in seen.loops] == [("shop/cart app", 4), ("shop/old app", 1)]


def test_a_node_that_does_not_is_reported_with_the_waits_that_contradict(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [])
    looping(peer, *[2, 3] * 6)
    code, output, seen = observed(peer, tmp_path, "--expect", "*=max-10s")
    assert code == ExitCode.FAIL
    assert seen.nodes[0].objections[0] == "shop/cart app: restart 12 came 2 s after the exit; at least 10 s was due."
    assert "worker: shop/cart app: restart 12 came 2 s after the exit" in output
    page = (tmp_path / "out" / "observe.html").read_text()
    assert "contradicts" in page
    assert "<svg" in page


def test_without_an_expectation_the_curve_is_inferred_and_nothing_is_compared(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [])
    looping(peer, *[3, 4, 3, 2] * 3)
    code, output, seen = observed(peer, tmp_path)
    assert code == ExitCode.INCONCLUSIVE
    assert seen.nodes[0].agreement is Agreement.NOT_COMPARED
    assert seen.nodes[0].likely is not None
    assert seen.nodes[0].likely.maximum_s == 2
    assert "neither read (--read-configz) nor declared (--expect)" in output


def test_a_node_that_was_booted_meanwhile_is_not_judged(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")], [node("worker", boot_id="boot-2")]], [])
    looping(peer, *[2, 3] * 6)
    code, output, seen = observed(peer, tmp_path, "--expect", "worker=max-10s")
    assert code == ExitCode.INCONCLUSIVE
    assert seen.nodes[0].note == "the node was booted during the observation, so its counters were lost"
    assert "worker: the node was booted during the observation" in output


def test_a_release_that_the_model_does_not_know_is_reported(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker", version="v1.31.4")]], [])
    looping(peer, 11, 12, 13)
    code, output, _ = observed(peer, tmp_path, "--expect", "worker=max-10s")
    assert code == ExitCode.INCONCLUSIVE
    assert "worker: its release is older than the model covers." in output
    assert "nor declared" not in output


def test_an_expected_node_without_a_crash_loop_is_reported(tmp_path: Path) -> None:
    code, _, seen = observed(ClusterPeer([[node("worker")]], []), tmp_path, "--expect", "worker=max-10s")
    assert code == ExitCode.INCONCLUSIVE
    assert [(each.node, each.agreement) for each in seen.nodes] == [("worker", Agreement.TOO_LITTLE)]


def test_containers_that_probes_restart_are_counted_and_not_used(tmp_path: Path) -> None:
    probed = pod("probed", 9, time.time() + 1000, 0, probe={"exec": {}, "periodSeconds": 1, "failureThreshold": 1})
    _, output, seen = observed(ClusterPeer([[node("worker")]], [probed]), tmp_path)
    assert (seen.left_out, seen.nodes) == (1, ())
    assert "1 restarting container in all namespaces" in output
    assert "1 left out: perhaps killed by a probe" in output
    assert "No wait of 1 restarting container could be used" in output


def backing_off(name: str, restarts: int, message: str, *, on: str = "worker") -> Json:
    found = pod(name, restarts, 1_700_000_000, 0, on=on)
    found["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    return found


def test_containers_that_wait_are_counted_with_what_the_kubelet_states_of_them(tmp_path: Path) -> None:
    said = {"a": (9, "back-off 5m0s"), "b": (40, "back-off 2s"), "c": (6, "")}
    pods = [
        backing_off(name, restarts, f"{text} restarting failed container=app" if text else "", on=f"node-{name}")
        for name, (restarts, text) in said.items()
    ]
    peer = ClusterPeer(
        [[node(f"node-{name}") for name in said]], [*pods, pod("d", 40, 1_700_000_000, 310, on="node-a")]
    )
    code, output, seen = observed(peer, tmp_path, "--expect", "*=stock")
    assert code == ExitCode.FAIL
    assert {each.node: each.agreement for each in seen.nodes} == {
        "node-a": Agreement.TOO_LITTLE,
        "node-b": Agreement.CONTRADICTS,
    }
    words = " ".join(output.split())
    assert "4 restarting containers in all namespaces" in words
    assert "3 wait now; delays that the kubelets state: 2, 300 s; 1 gave a wait" in words
    assert "the kubelet states a back-off of 2 s before restart 41" in words


def test_containers_that_only_wait_are_not_said_not_to_restart(tmp_path: Path) -> None:
    pods = [backing_off(f"pod-{restarts}", restarts, "") for restarts in (6, 40, 9)]
    code, output, seen = observed(ClusterPeer([[node("worker")]], pods), tmp_path)
    assert (code, seen.restarting, seen.waiting) == (ExitCode.INCONCLUSIVE, 3, 3)
    assert "No wait of 3 restarting containers could be used" in output


def test_more_pods_than_fit_into_one_answer_are_all_listed(tmp_path: Path) -> None:
    pods = [pod(f"pod-{number}", 40, 1_700_000_000, 14) for number in range(1100)]
    peer = ClusterPeer([[node("worker")]], pods)
    _, _, seen = observed(peer, tmp_path)
    assert len(seen.loops) == 1100
    assert peer.requests.count("GET /api/v1/pods") == 3


def test_nothing_is_asked_for_but_lists_watches_and_permissions(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [])
    looping(peer, 11, 12, 13)
    observed(peer, tmp_path, "--expect", "worker=max-10s")
    assert set(peer.requests) == {
        "GET /version",
        "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "GET /api/v1/nodes",
        "GET /api/v1/pods",
        "GET /api/v1/pods watch",
    }


def test_the_document_is_as_its_schema_says(tmp_path: Path) -> None:
    import jsonschema

    peer = ClusterPeer([[node("worker")]], [])
    looping(peer, 11, 12, 13)
    observed(peer, tmp_path, "--expect", "worker=max-10s")
    document = msgspec.json.decode((tmp_path / "out" / "observe.json").read_bytes())
    jsonschema.validate(document, schemas()["observation"])


@pytest.mark.parametrize("wait_s", [0, 2, 60, 120])
def test_pods_at_restart_50_with_waits_of_another_curve_do_not_agree(tmp_path: Path, wait_s: int) -> None:
    pods = [pod(f"pod-{number}", 50, 1_700_000_000 + 20 * number, wait_s) for number in range(6)]
    code, _, seen = observed(ClusterPeer([[node("worker")]], pods), tmp_path, "--expect", "*=stock")
    assert code != ExitCode.OK
    assert seen.nodes[0].agreement is not Agreement.AGREES


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--for", "soon"), "--for 'soon'"),
        (("--for", "0s"), "expected a time above zero"),
        (("--expect", "worker"), "--expect 'worker': expected NODE=PROFILE"),
        (("--expect", "worker=max-10"), 'kubelet profile "max-10": unknown'),
        (("--expect", "other=max-10s"), "--expect other=...: the cluster has no node 'other'; its nodes: worker."),
        (("--expect", "*=max-301s"), "--expect worker=max-301s: kubelet v1.37.1 does not start with that profile."),
        (("--context", "y"), "it has no context 'y'; its contexts: x."),
    ],
    ids=["duration", "no-time", "expectation", "profile", "node", "refused-profile", "context"],
)
def test_wrong_usage_is_said_before_the_time_is_spent(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    with serving(ClusterPeer([[node("worker")]], []), tmp_path) as kubeconfig:
        given = ["observe", "--kubeconfig", kubeconfig, "--run-dir", str(tmp_path / "out"), *arguments]
        done = CliRunner().invoke(app, given)
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_permission_that_is_missing_is_named_with_the_manifest_that_grants_it(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [], forbidden=frozenset({"watch pods", "list nodes"}))
    with serving(peer, tmp_path) as kubeconfig:
        done = CliRunner().invoke(app, ["observe", "--kubeconfig", kubeconfig, "--for", "1s"])
    assert str(done.exception) == (
        f"kubeconfig {kubeconfig}: its user lacks permissions for `crashloop observe`.\n"
        "Forbidden: watch pods, list nodes.\nApply manifests/rbac/observe.yaml with sufficient permissions."
    )


def test_an_observation_is_never_overwritten(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [])
    observed(peer, tmp_path)
    done = CliRunner().invoke(app, ["observe", "--kubeconfig", "unused", "--run-dir", str(tmp_path / "out")])
    assert isinstance(done.exception, UsageError)
    assert "it already holds an observation" in str(done.exception)


def test_changes_that_come_during_the_look_count(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [])

    def change(_: LoopWatch) -> None:
        looping(peer, 11, 12, 13)
        followed(peer)

    _, _, seen = observed(peer, tmp_path, meanwhile=change)
    assert sum(len(loop.waits) for loop in seen.loops) == 3


def failing(peer: ClusterPeer, code: int, reason: str, *requests: str) -> None:
    """From now on these requests are refused."""
    peer.refusal = lambda request: status(code, reason) if request in requests else None


NOT_ASKED = "whether it was booted or not Ready could not be read at the end"


def test_credentials_that_expire_end_the_look_early_with_what_was_seen(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [])
    looping(peer, 11, 12, 13, 14, 11)

    def expire(_: LoopWatch) -> None:
        failing(peer, 401, "Unauthorized", WATCH, NODES, "GET /api/v1/pods")

    code, output, seen = observed(peer, tmp_path, "--expect", "worker=max-10s", "--for", "1h", meanwhile=expire)
    assert code == ExitCode.INCONCLUSIVE
    assert seen.finished - seen.started < timedelta(minutes=10)
    assert (seen.nodes[0].waits, seen.nodes[0].agreement, seen.nodes[0].note) == (5, Agreement.TOO_LITTLE, NOT_ASKED)
    assert seen.unheard is not None
    assert seen.unheard.since < seen.finished
    why = "the API server does not accept the credentials (401 Unauthorized); they may have expired."
    assert why in seen.unheard.why
    assert f"The watch was lost after {seen.unheard.since:%H:%M:%S} UTC: kubeconfig " in output.replace("\n", " ")


def test_nodes_that_cannot_be_read_at_the_end_are_judged_by_nothing_that_a_reboot_explains(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [])
    looping(peer, *[2, 3] * 6)

    def lose_nodes(_: LoopWatch) -> None:
        failing(peer, 503, "ServiceUnavailable", NODES)

    code, output, seen = observed(peer, tmp_path, "--expect", "*=max-10s", meanwhile=lose_nodes)
    assert code == ExitCode.INCONCLUSIVE
    assert (seen.nodes[0].waits, seen.nodes[0].note) == (12, NOT_ASKED)
    assert seen.unheard is None
    assert f"worker: {NOT_ASKED}." in output


def broken(peer: ClusterPeer, watch: LoopWatch) -> None:
    failing(peer, 503, "ServiceUnavailable", WATCH)
    wait_until("the watch to be broken", lambda: watch.broken_since() is not None, timeout_s=60, every_s=0.01)


def test_a_watch_that_is_broken_at_the_end_is_reported(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [])
    looping(peer, 11, 12, 13)

    code, output, seen = observed(
        peer, tmp_path, "--expect", "worker=max-10s", meanwhile=lambda watch: broken(peer, watch)
    )
    assert code == ExitCode.OK
    assert seen.gaps == 0
    assert seen.unheard is not None
    assert seen.unheard.why == "watch pods: the API server answered 503 ServiceUnavailable."
    assert "The watch was lost after" in output
    assert "The watch was lost after" in (tmp_path / "out" / "observe.html").read_text()


def test_an_outage_is_met_with_few_requests(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [])
    began_s = 0.0

    def fail(watch: LoopWatch) -> None:
        nonlocal began_s
        began_s = time.monotonic()
        peer.requests.clear()
        broken(peer, watch)

    observed(peer, tmp_path, "--for", "3s", meanwhile=fail)
    lasted_s = time.monotonic() - began_s
    assert peer.requests.count(WATCH) <= 1 + lasted_s, "at least a second between them"


def test_a_folder_that_cannot_be_made_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    peer = ClusterPeer([[node("worker")]], [])
    with serving(peer, tmp_path) as kubeconfig:
        given = ["observe", "--kubeconfig", kubeconfig, "--for", "1s", "--run-dir", str(tmp_path / "file" / "out")]
        done = CliRunner().invoke(app, given)
    assert str(done.exception) == (
        f"--run-dir {tmp_path / 'file' / 'out'}: it cannot be made (Not a directory).\nName another folder."
    )
    assert isinstance(done.exception, UsageError)
    assert peer.requests == []


def test_a_kubelet_that_tells_nothing_does_not_keep_from_looking_at_the_others(tmp_path: Path) -> None:
    peer = ExistingPeer(ready_node("down", ready=False), ready_node("silent"), ready_node("telling"))
    peer.configz = {"telling": {}}
    with serving_existing(peer, tmp_path) as kubeconfig:
        seen = look(ObservationRequest(kubeconfig=kubeconfig, for_s=0.1, read_configz=True), SilentProgress())
        assert seen.agreement is Agreement.TOO_LITTLE
        peer.configz = {}
        with pytest.raises(UsageError, match="--read-configz: node silent: its kubelet's configuration cannot be read"):
            look(ObservationRequest(kubeconfig=kubeconfig, for_s=0.1, read_configz=True), SilentProgress())
