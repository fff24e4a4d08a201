"""`restarts.of` and `crash`: a workload of somebody else, back in time or not, and what a failed test shows of it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crashloop.errors import UsageError
from crashloop.model.config import Curve
from crashloop.pytest_plugin.access import Access, access_of
from crashloop.pytest_plugin.faults import Fault, fault_of, helper_of
from crashloop.pytest_plugin.restarts import Restarts
from crashloop.pytest_plugin.watches import CrashPod
from suites.selftest.kit.cluster_peer import ClusterPeer, node, pod, serving
from suites.selftest.kit.their_pytest import session

MAX_2S = Curve(2.0, 2.0)
NOW_S = time.time()


@pytest.fixture
def peer() -> ClusterPeer:
    """A node with a pod that ran before, and was restarted three times."""
    return ClusterPeer([[node("worker")]], [pod("cart", 3, NOW_S - 500, 2)])


@pytest.fixture
def watched(peer: ClusterPeer, tmp_path: Path) -> Iterator[Restarts]:
    with serving(peer, tmp_path) as kubeconfig:
        restarts = Restarts(Access(kubeconfig, None), "shop")
        restarts.start()
        yield restarts
        restarts.close()


def test_a_container_that_is_back_as_its_curve_has_it_passes(peer: ClusterPeer, watched: Restarts) -> None:
    cart = watched.of("cart")
    peer.append(pod("cart", 4, NOW_S, 3))
    cart.assert_back_within(MAX_2S)
    cart.assert_back_within(3)
    cart.assert_restarts(1, within_s=0)


def test_a_container_that_is_back_too_late_fails_by_its_numbers(peer: ClusterPeer, watched: Restarts) -> None:
    cart = watched.of("cart")
    peer.append(pod("cart", 4, NOW_S, 40))
    with pytest.raises(AssertionError) as caught:
        cart.assert_back_within(MAX_2S)
    assert str(caught.value) == (
        "shop/cart app: it was back 40 s after its exit; restart 4 is due after 2 s, and comes within 10 s."
    )
    with pytest.raises(AssertionError, match="it was back 40 s after its exit; 39 s were allowed"):
        cart.assert_back_within(39)


def test_a_container_that_is_not_back_at_all_fails(peer: ClusterPeer, watched: Restarts) -> None:
    cart = watched.of("cart")
    held = pod("cart", 3, NOW_S - 100, 0)
    status = held["status"]["containerStatuses"][0]
    status["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
    peer.append(held)
    with pytest.raises(AssertionError, match=r"s after its exit it waits .CrashLoopBackOff.; 30 s were allowed"):
        cart.assert_back_within(30)


def test_nothing_is_asserted_of_a_container_that_never_ended(watched: Restarts) -> None:
    with pytest.raises(AssertionError, match=r"cart: no container of it has ended since restarts.of"):
        watched.of("cart").assert_back_within(MAX_2S)


def test_a_pod_that_was_replaced_is_not_back(peer: ClusterPeer, watched: Restarts) -> None:
    cart = watched.of("cart")
    other = pod("cart", 0, NOW_S, 2)
    other["metadata"]["uid"] = "another"
    peer.append(other)
    with pytest.raises(AssertionError, match="pod shop/cart: it is gone, so it cannot be back"):
        cart.assert_back_within(MAX_2S)


def test_a_subject_that_is_not_there_is_refused(watched: Restarts) -> None:
    for subject in ("nothing", "job/cart", "No_Name"):
        with pytest.raises(UsageError):
            watched.of(subject)


def test_a_failed_test_shows_the_pods_that_it_asked_about(tmp_path: Path, peer: ClusterPeer) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    tests = """\
        def test_the_cart(restarts):
            restarts.of("cart", namespace="shop").assert_back_within(3)
    """
    with serving(peer, tmp_path) as kubeconfig:
        status, output = session(theirs, tests, kubeconfig=kubeconfig)
    assert status == 1
    for title in ("describe pod shop/cart", "previous log of shop/cart app", "timeline of shop/cart"):
        assert f"crashloop: {title}" in output
    assert "app: restart 3, running: startedAt" in output


def test_no_cluster_is_made_without_being_asked_for(tmp_path: Path, peer: ClusterPeer) -> None:
    """pytest-kubernetes would make one for its fixture `k8s`; $KUBECONFIG is what kubectl uses."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    tests = 'def test_the_cart(restarts):\n    assert restarts.of("cart", namespace="shop").pods == ("cart",)\n'
    with serving(peer, tmp_path) as kubeconfig:
        status, output = session(theirs, tests, kubeconfig=kubeconfig)
    assert status == 0, output


@pytest.mark.parametrize("attribute", ["kubeconfig", "kubeconfig_path"])
def test_objects_of_other_plugins_are_taken(attribute: str, tmp_path: Path) -> None:
    """pytest-kubernetes' managers have the one, pytest-kind's cluster the other."""
    request: Any = None
    (tmp_path / "config").write_text(
        "current-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: h}}]\n"
    )
    theirs: Any = SimpleNamespace(name="demo", **{attribute: tmp_path / "config"})
    assert access_of(request, theirs, None) == Access(str(tmp_path / "config"), None)
    absent: Any = SimpleNamespace(name="demo", **{attribute: tmp_path / "none"})
    with pytest.raises(UsageError, match="'demo': it has no cluster yet"):
        access_of(request, absent, None)
    with pytest.raises(UsageError, match="a cluster is given as SimpleNamespace, which has no kubeconfig"):
        access_of(request, SimpleNamespace(), None)


def test_a_fault_is_one_of_three() -> None:
    assert fault_of(exit=0, signal=None, oom=False) == Fault("exit", 0)
    assert (
        fault_of(exit=None, signal="kill", oom=False) == fault_of(exit=None, signal=9, oom=False) == Fault("signal", 9)
    )
    assert fault_of(exit=None, signal=None, oom=True) == Fault("oom")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"exit": 256},
        {"exit": -1},
        {"exit": True},
        {"exit": 1, "oom": True},
        {"signal": "SIGNONE"},
        {"signal": 99},
    ],
    ids=str,
)
def test_what_no_process_can_end_with_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="crash: "):
        fault_of(**({"exit": None, "signal": None, "oom": False} | given))


def test_the_helper_runs_on_the_node_of_the_pod() -> None:
    made = helper_of(pod("cart", 3, NOW_S, 2), "abc", Fault("exit", 7), "busybox")["spec"]
    assert (made["nodeName"], made["hostPID"], made["restartPolicy"]) == ("worker", True, "Never")
    assert made["containers"][0]["command"][-3:] == ["abc", "exit", "7"]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda restarts: restarts.assert_restarts("cart", 0), "at_least is 0; expected a whole number of at least 1"),
        (lambda restarts: restarts.assert_restarts("cart", True), "at_least is True; expected a whole number"),
        (lambda restarts: restarts.assert_restarts("cart", 1.5), "at_least is 1.5; expected a whole number"),
        (lambda restarts: restarts.assert_restarts("cart", 1, within_s=-1), "within_s is -1; expected seconds, 0 or more"),
        (lambda restarts: restarts.of("cart").assert_restarts(0), "at_least is 0; expected a whole number"),
        (lambda restarts: restarts.of("cart").assert_back_within(True), "the limit is True; expected seconds, 0 or more"),
        (lambda restarts: restarts.of("cart").assert_back_within("10s"), "curve is '10s'; expected a curve"),
        (lambda restarts: restarts.assert_follows("10s"), "assert_follows: curve is '10s'; expected a curve"),
        (lambda restarts: restarts.assert_follows(MAX_2S, waits=2.5), "waits is 2.5; expected a whole number"),
        (lambda it: it.assert_restarts("deploy/cart", 1), "pod is 'deploy/cart'; expected the name of a pod"),
        (lambda it: it.assert_restarts(None, 1), "pod is None; expected the name of a pod"),
        (lambda it: it.assert_restarts("cart", 1, container="ap"), "shop/cart has no container 'ap'; it has app"),
        (lambda it: it.assert_follows(MAX_2S, pod=5), "pod is 5; expected the name of a pod"),
        (lambda it: it.assert_no_early_restart(10), "assert_no_early_restart: curve is 10; expected a curve"),
        (lambda it: it.of(None), "None: expected a pod, a workload such as deploy/web, or a selector"),
    ],
)  # fmt: skip
def test_an_argument_that_no_pod_or_every_pod_would_keep_is_refused(
    watched: Restarts, ask: Callable[[Any], None], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        ask(watched)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"exit_code": 256}, "exit=256; expected 0 to 255"),
        ({"after_s": float("nan")}, "after_s is nan; expected seconds"),
        ({"times": 0}, "times is 0; expected a whole number of at least 1"),
        ({"restart_policy": "always"}, "restart_policy is 'always'; expected Always, OnFailure, Never"),
        ({"name": "A b"}, "name is 'A b'; expected the name of a pod"),
        ({"namespace": None}, "namespace is None; expected 1 to 63"),
    ],
    ids=str,
)
def test_a_crashing_pod_that_no_cluster_can_have_is_refused_before_it_is_asked_for(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        CrashPod(Access("/nowhere", None), **{"namespace": "shop", "name": "loop", **given})


@pytest.mark.parametrize("missing", ["finishedAt", "startedAt"])
def test_a_status_without_a_time_is_not_waited_for_for_ever(
    peer: ClusterPeer, watched: Restarts, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setattr("crashloop.pytest_plugin.workload.SEEN_WITHIN_S", 0.0)
    cart, again = watched.of("cart"), pod("cart", 4, NOW_S, 3)
    status = again["status"]["containerStatuses"][0]
    (status["lastState"]["terminated"] if missing == "finishedAt" else status["state"]["running"])[missing] = None
    peer.append(again)
    with pytest.raises(AssertionError, match="shop/cart app: its status does not say when it ended, or started again"):
        cart.assert_back_within(2)
