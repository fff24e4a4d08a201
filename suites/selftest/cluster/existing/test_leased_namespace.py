"""A borrowed namespace is one run's alone, by the API server's clock and by whoever was first there."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from crashloop.cluster.existing.leased_namespace import LASTS_S, LeasedNamespace, borrow, remove_orphans
from crashloop.errors import UsageError
from crashloop.kube.access import lease_of, renew_lease
from crashloop.kube.answers import ApiRefusal
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import RUN_LABEL, heartbeat_manifest
from suites.selftest.kit.existing_peer import JOBS, LEASES, NAMESPACE, PODS, ExistingPeer, serving
from suites.selftest.kit.kube_peer import Json, status

HOUR_S = 3600.0


@pytest.fixture
def peer() -> ExistingPeer:
    return ExistingPeer()


@pytest.fixture
def api(peer: ExistingPeer, tmp_path: Path) -> Iterator[KubeApi]:
    with serving(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        yield api


def pod_of(api: KubeApi, run: str) -> None:
    api.create_pod(NAMESPACE, heartbeat_manifest(node=run, image="image", run=run))


def job_of(peer: ExistingPeer, run: str) -> None:
    peer.objects[f"{JOBS}/job-of-{run}"] = {"metadata": {"name": f"job-of-{run}", "labels": {RUN_LABEL: run}}}


def holder(api: KubeApi) -> str | None:
    lease = lease_of(api, NAMESPACE, label=RUN_LABEL)
    return None if lease is None else lease.holder


def test_of_two_runs_that_ask_for_it_at_once_one_gets_it(peer: ExistingPeer, api: KubeApi) -> None:
    both_have_looked = threading.Barrier(2, timeout=60)

    def before(request: str) -> Json | None:
        if request == f"POST {LEASES}":
            both_have_looked.wait()
        return None

    def ask(run: str) -> LeasedNamespace | UsageError:
        try:
            return borrow(api, NAMESPACE, run)
        except UsageError as error:
            return error

    peer.before = before
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(ask, ("one", "other")))
    (place,) = (each for each in found if isinstance(each, LeasedNamespace))
    (error,) = (each for each in found if isinstance(each, UsageError))
    assert str(error).startswith(f"namespace {NAMESPACE}: run {holder(api)} works in it (its lease was renewed at ")
    place.leave()
    assert holder(api) is None


@pytest.mark.parametrize("ahead_s", [-HOUR_S, HOUR_S], ids=["behind", "ahead"])
def test_a_lease_is_judged_by_the_clock_that_it_was_renewed_by(
    peer: ExistingPeer, api: KubeApi, ahead_s: float
) -> None:
    peer.ahead_s = ahead_s
    place = borrow(api, NAMESPACE, "alive")
    lease = lease_of(api, NAMESPACE, label=RUN_LABEL)
    assert lease is not None
    assert abs((lease.renewed - datetime.now(UTC)).total_seconds() - ahead_s) < LASTS_S
    with pytest.raises(UsageError, match="run alive works in it"):
        borrow(api, NAMESPACE, "next")
    peer.ahead_s += LASTS_S + 10
    borrow(api, NAMESPACE, "next").leave()
    place.leave()


def test_a_namespace_of_our_own_is_an_orphan_s_by_the_same_clock(peer: ExistingPeer, api: KubeApi) -> None:
    peer.ahead_s = -HOUR_S
    api.create_namespace(prefix="crashloop-", labels={RUN_LABEL: "young", "crashloop.dev/leased": "true"})
    assert remove_orphans(api, now=api.now()) == ()
    assert len(remove_orphans(api, now=api.now() + timedelta(seconds=LASTS_S + 10))) == 1


def test_a_run_whose_lease_was_taken_over_leaves_all_to_the_other(peer: ExistingPeer, api: KubeApi) -> None:
    asleep = borrow(api, NAMESPACE, "asleep")
    theirs = lease_of(api, NAMESPACE, label=RUN_LABEL)
    assert theirs is not None
    pod_of(api, "asleep")
    peer.ahead_s = LASTS_S + 10
    successor = borrow(api, NAMESPACE, "successor")
    assert peer.names(PODS) == []
    pod_of(api, "successor")
    with pytest.raises(ApiRefusal):
        renew_lease(api, NAMESPACE, theirs)
    asleep.leave()
    assert holder(api) == "successor"
    assert peer.names(PODS) == ["heartbeat-successor"]
    successor.leave()
    assert peer.names(PODS) == peer.names(LEASES) == []


def test_who_may_not_see_jobs_takes_over_all_the_same_and_leaves_them(peer: ExistingPeer, api: KubeApi) -> None:
    killed = borrow(api, NAMESPACE, "killed")
    pod_of(api, "killed")
    job_of(peer, "killed")
    peer.ahead_s = LASTS_S + 10
    peer.before = lambda request: status(403, "Forbidden") if request == f"GET {JOBS}" else None
    successor = borrow(api, NAMESPACE, "successor")
    assert holder(api) == "successor"
    assert peer.names(PODS) == []
    assert peer.names(JOBS) == ["job-of-killed"]
    successor.leave()
    killed.leave()


def test_the_jobs_of_others_stay(peer: ExistingPeer, api: KubeApi) -> None:
    killed = borrow(api, NAMESPACE, "killed")
    job_of(peer, "killed")
    job_of(peer, "somebody-else")
    peer.ahead_s = LASTS_S + 10
    borrow(api, NAMESPACE, "successor").leave()
    assert peer.names(JOBS) == ["job-of-somebody-else"]
    killed.leave()


def test_who_did_not_get_it_removes_nothing(peer: ExistingPeer, api: KubeApi) -> None:
    place = borrow(api, NAMESPACE, "ci-run")
    pod_of(api, "ci-run")
    with pytest.raises(UsageError, match="run ci-run works in it"):
        borrow(api, NAMESPACE, "ci-run")
    assert peer.names(PODS) == ["heartbeat-ci-run"]
    assert holder(api) == "ci-run"
    place.leave()


def test_a_namespace_that_is_not_there_is_named(peer: ExistingPeer, api: KubeApi) -> None:
    del peer.objects[f"/api/v1/namespaces/{NAMESPACE}"]
    with pytest.raises(UsageError, match=f"namespace {NAMESPACE}: the cluster has no such namespace"):
        borrow(api, NAMESPACE, "lost")
