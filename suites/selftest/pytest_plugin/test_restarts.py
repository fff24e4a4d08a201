"""Assertions about the restarts in a namespace, against a server that answers from data."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crashloop.errors import UsageError
from crashloop.model.config import Curve
from crashloop.pytest_plugin.access import Access
from crashloop.pytest_plugin.restarts import Restarts
from crashloop.waiting import wait_until
from suites.selftest.kit.cluster_peer import ClusterPeer, looping, node, pod, serving, waiting
from suites.selftest.kit.existing_peer import ExistingPeer
from suites.selftest.kit.existing_peer import node as ready_node
from suites.selftest.kit.existing_peer import serving as serving_existing
from suites.selftest.kit.kube_peer import Json, status

NEVER_S = 86400.0
"""A wait for longer than any test may take."""
MAX_10S, MAX_2S = Curve(10.0, 10.0), Curve(2.0, 2.0)


@pytest.fixture
def peer() -> ClusterPeer:
    return ClusterPeer([[node("worker")]], [])


@contextmanager
def watched(peer: ClusterPeer, folder: Path) -> Iterator[Restarts]:
    with serving(peer, folder) as kubeconfig:
        restarts = Restarts(Access(kubeconfig, None), "shop")
        restarts.start()
        yield restarts
        restarts.close()


def test_pods_that_follow_the_curve_pass(peer: ClusterPeer, tmp_path: Path) -> None:
    with watched(peer, tmp_path) as restarts:
        looping(peer, 11, 12, 11)
        restarts.assert_follows(MAX_10S, within_s=60)
        restarts.assert_no_early_restart(MAX_10S)
    assert "GET /api/v1/namespaces/shop/pods watch" in peer.requests


def test_pods_that_follow_another_curve_fail_with_their_waits(peer: ClusterPeer, tmp_path: Path) -> None:
    with watched(peer, tmp_path) as restarts:
        looping(peer, *[2, 3] * 6)
        with pytest.raises(AssertionError) as caught:
            restarts.assert_follows(MAX_10S, within_s=60)
        assert str(caught.value).splitlines()[:2] == [
            "node worker does not follow the curve from 10 s to 10 s.",
            "shop/cart app: restart 12 came 2 s after the exit; at least 10 s was due.",
        ]
        with pytest.raises(AssertionError, match="restart 12 came 2 s after the exit; at least 10 s was due"):
            restarts.assert_no_early_restart(MAX_10S)


def test_without_a_restart_no_assertion_holds(peer: ClusterPeer, tmp_path: Path) -> None:
    with watched(peer, tmp_path) as restarts:
        with pytest.raises(AssertionError, match="no restart with a due delay was seen"):
            restarts.assert_follows(MAX_10S, within_s=0)
        with pytest.raises(AssertionError, match="no restart with a due delay was seen"):
            restarts.assert_no_early_restart(MAX_10S)
        with pytest.raises(AssertionError, match=r"waited 0 s for: pod shop/cart to restart a container 1 times\.$"):
            restarts.assert_restarts("cart", 1, within_s=0)


def test_the_cause_is_named_where_a_probe_keeps_all_from_being_judged(tmp_path: Path) -> None:
    probed = pod("probed", 19, 1_700_000_000, 0, probe={"exec": {}, "periodSeconds": 1, "failureThreshold": 1})
    with watched(ClusterPeer([[node("worker")]], [probed]), tmp_path) as restarts:
        said = failure(lambda: restarts.assert_follows(MAX_10S, pod="probed", within_s=0))
    assert said.splitlines()[1] == "Restarted containers left out, perhaps killed by a probe: 1."


def test_one_pod_can_be_judged_among_others(peer: ClusterPeer, tmp_path: Path) -> None:
    with watched(peer, tmp_path) as restarts:
        looping(peer, 11, 12, 11, name="slow")
        looping(peer, *[2, 3] * 6, name="fast")
        restarts.assert_follows(MAX_10S, pod="slow", within_s=60)
        restarts.assert_follows(MAX_2S, pod="fast", waits=12, within_s=60)
        with pytest.raises(AssertionError, match="node worker does not follow"):
            restarts.assert_follows(MAX_10S, within_s=60)


def test_restarts_are_counted_from_now(peer: ClusterPeer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod at restart 12 that then reaches restart 14 has restarted twice, and one that crashed yesterday not at all."""
    with watched(peer, tmp_path) as restarts:
        looping(peer, 11)
        with pytest.raises(AssertionError, match="to restart app 1 times") as caught:
            restarts.assert_restarts("cart", 1, container="app", within_s=0)
        assert str(caught.value).endswith("Last seen: app restarted 0 times")
        read, reads = restarts._status, iter([False, True])

        def status_of(pod: str) -> Json:
            if next(reads, False):
                looping(peer, 11, 12, 11)
            return read(pod)

        monkeypatch.setattr(restarts, "_status", status_of)
        restarts.assert_restarts("cart", 2, container="app", within_s=60)
        with pytest.raises(UsageError, match="shop/cart has no container 'sidecar'; it has app"):
            restarts.assert_restarts("cart", 1, container="sidecar", within_s=0)


WITHOUT_IMAGE = (
    "pod shop/cart: app cannot have the image nowhere/none:1 (ImagePullBackOff).\n"
    'Back-off pulling image "nowhere/none:1": not found\n'
    "Name one that its node has or can pull; for crash_pod, with --crashloop-image."
)


def held(name: str = "cart") -> Json:
    return waiting(name, "ImagePullBackOff", 'Back-off pulling image "nowhere/none:1":\nnot found')


def failure(assertion: Callable[[], None]) -> str:
    with pytest.raises(AssertionError) as caught:
        assertion()
    return str(caught.value)


def test_a_pod_whose_image_does_not_come_fails_at_once(peer: ClusterPeer, tmp_path: Path) -> None:
    with watched(peer, tmp_path) as restarts:
        peer.append(held())
        failures = [
            failure(lambda: restarts.assert_restarts("cart", 1, within_s=NEVER_S)),
            failure(lambda: restarts.assert_restarts("cart", 1, container="app", within_s=NEVER_S)),
            failure(lambda: restarts.assert_follows(MAX_10S, within_s=NEVER_S)),
            failure(lambda: restarts.assert_follows(MAX_10S, pod="cart", within_s=NEVER_S)),
        ]
    assert set(failures) == {WITHOUT_IMAGE}


def test_beside_a_pod_that_restarts_a_missing_image_ends_no_wait(peer: ClusterPeer, tmp_path: Path) -> None:
    with watched(peer, tmp_path) as restarts:
        peer.append(held())
        looping(peer, 11, 12, 11, name="slow")
        restarts.assert_follows(MAX_10S, within_s=60)
        with pytest.raises(AssertionError, match="pod shop/cart: app cannot have the image"):
            restarts.assert_follows(MAX_10S, pod="cart", within_s=NEVER_S)


def test_while_a_pod_can_still_run_or_be_pulled_restarts_are_waited_for(peer: ClusterPeer, tmp_path: Path) -> None:
    with watched(peer, tmp_path) as restarts:
        peer.append(held())
        peer.append(waiting("other", "ErrImagePull"))
        with pytest.raises(AssertionError, match="no restart with a due delay was seen"):
            restarts.assert_follows(MAX_10S, within_s=0)
        with pytest.raises(AssertionError, match="waited 0 s for: pod shop/other"):
            restarts.assert_restarts("other", 1, within_s=0)


def test_a_node_that_was_booted_meanwhile_is_not_shown_to_follow(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")], [node("worker", boot_id="boot-2")]], [])
    with watched(peer, tmp_path) as restarts:
        looping(peer, 11, 12, 11)
        with pytest.raises(AssertionError, match="node worker: the node was booted during the observation"):
            restarts.assert_follows(MAX_10S, within_s=60)


def test_a_watch_that_is_lost_is_reported_with_what_is_missing(peer: ClusterPeer, tmp_path: Path) -> None:
    with watched(peer, tmp_path) as restarts:
        lost = status(503, "ServiceUnavailable")
        peer.refusal = lambda request: lost if request.endswith("watch") else None
        wait_until("the watch to be lost", lambda: restarts._watch.broken_since() is not None, timeout_s=60)
        with pytest.raises(AssertionError, match=r"The watch of pods was lost: .* answered 503 ServiceUnavailable"):
            restarts.assert_follows(MAX_10S, within_s=0)


def test_without_a_watch_no_restart_is_shown_to_be_in_time(peer: ClusterPeer, tmp_path: Path) -> None:
    with watched(peer, tmp_path) as restarts:
        looping(peer, 11, 12, 11)
        restarts.assert_follows(MAX_10S, within_s=60)
        restarts.assert_no_early_restart(MAX_10S)
        lost = status(503, "ServiceUnavailable")
        peer.refusal = lambda request: lost if request.endswith("watch") else None
        wait_until("the watch to be lost", lambda: restarts._watch.broken_since() is not None, timeout_s=60)
        with pytest.raises(AssertionError, match=r"^The watch of pods was lost: .* answered 503 ServiceUnavailable"):
            restarts.assert_no_early_restart(MAX_10S)


def test_changes_that_are_gone_may_have_shown_an_early_restart(peer: ClusterPeer, tmp_path: Path) -> None:
    with watched(peer, tmp_path) as restarts:
        gone = iter([status(410, "Expired")])
        peer.refusal = lambda request: next(gone, None) if request.endswith("watch") else None
        wait_until("changes to be gone", lambda: restarts._watch.gaps > 0, timeout_s=60)
        looping(peer, 11, 12, 11)
        restarts.assert_follows(MAX_10S, within_s=60)
        with pytest.raises(AssertionError, match=r"^The watch of pods was lost and its changes are gone, times: 1\.$"):
            restarts.assert_no_early_restart(MAX_10S)


def test_fewer_waits_than_any_judgement_needs_are_refused(peer: ClusterPeer, tmp_path: Path) -> None:
    with (
        watched(peer, tmp_path) as restarts,
        pytest.raises(UsageError, match="waits is 2; expected a whole number of at least 3"),
    ):
        restarts.assert_follows(MAX_10S, waits=2)


def test_a_missing_permission_is_named(tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [], forbidden=frozenset({"watch pods"}))
    with serving(peer, tmp_path) as kubeconfig, pytest.raises(UsageError, match="Forbidden: watch pods"):
        Restarts(Access(kubeconfig, None), "shop")


def test_without_a_curve_the_kubelets_own_configuration_is_read(tmp_path: Path) -> None:
    peer = ExistingPeer(ready_node("worker"))
    peer.configz = {"worker": {"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}}}
    with serving_existing(peer, tmp_path) as kubeconfig:
        restarts = Restarts(Access(kubeconfig, None), "shop")
        assert {name: each.curve for name, each in restarts._configured(None).items()} == {"worker": MAX_2S}
