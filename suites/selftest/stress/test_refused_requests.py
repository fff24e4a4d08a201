"""What becomes of a stress run whose requests the API server refuses from some moment on.

Locust and the connection to the API server are real. Nothing is recorded: there is no cluster.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from crashloop.kube.answers import about_credentials, refusal
from crashloop.slo.measurements import SloVerdict
from crashloop.stress import recorder, testbed
from crashloop.stress.assignment import Order
from crashloop.stress.folder import Cause, StressDir
from crashloop.stress.judging import judge_run
from crashloop.stress.plan import StressPlan
from crashloop.stress.recorder import order_of
from crashloop.stress.testbed import Site
from crashloop.verdict import Outcome
from suites.selftest.kit.load_peer import EXCEEDED, PODS, Accepting, accepting
from suites.selftest.kit.stress_kit import Folder, plan
from suites.selftest.stress.test_recorder import SHORT, Unrecorded, incidents, recorded


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Accepting]:
    """Refusals are repeated for a second."""

    def impatient(plan: StressPlan, site: Site, run: StressDir) -> Order:
        return msgspec.structs.replace(order_of(plan, site, run), refused_within_s=1)

    monkeypatch.setattr(recorder, "order_of", impatient)
    monkeypatch.setattr(testbed, "ASK_EVERY_S", 0.1)
    with accepting(tmp_path) as peer:
        yield peer


def verdict(folder: Folder, name: str) -> SloVerdict:
    (found,) = (each for each in judge_run(folder.run).verdicts if each.slo == name)
    return found


def test_a_quota_that_refuses_the_other_pods_leaves_the_load_open_with_its_own_words(
    peer: Accepting, tmp_path: Path
) -> None:
    peer.quota = 1
    folder = recorded(tmp_path, plan(stages=(SHORT,)), Unrecorded())
    ((cause, sentence),) = incidents(folder)
    assert cause is Cause.LOAD
    assert sentence in [
        f"load crashers: objects not created in time: 2. The first of them: {pod} was not created within 1 s: "
        f"the API server answered 403 ({EXCEEDED})."
        for pod in PODS
    ]
    assert sorted(set(peer.paths("DELETE"))) == PODS
    planned = verdict(folder, "load-as-planned")
    assert planned.outcome is Outcome.INCONCLUSIVE
    assert sentence in planned.sentence
    assert verdict(folder, "nothing-left").outcome is Outcome.PASS


def test_credentials_that_expire_in_mid_run_end_it_with_what_remains_and_how_to_remove_it(
    peer: Accepting, tmp_path: Path
) -> None:
    expired = about_credentials(refusal("watch pods", 401, "Unauthorized", b""), str(tmp_path / "kubeconfig"))

    def expire() -> None:
        if len(peer.paths("POST")) >= len(PODS):
            peer.expired, evidence.crash = True, expired

    evidence = Unrecorded(expire)
    longer = msgspec.structs.replace(SHORT, duration_s=600)
    folder = recorded(tmp_path, plan(stages=(longer,)), evidence, lent="ns")
    cluster, lingered, not_removed = incidents(folder)
    assert cluster == (Cause.CLUSTER, str(expired))
    assert lingered[0] is Cause.LINGERED
    assert lingered[1] in [
        f"load crashers: objects not deleted in time: 3. The first of them: {pod} was not deleted within 1 s: "
        "the API server answered 401 (Unauthorized)."
        for pod in PODS
    ]
    assert not_removed == (
        Cause.NOT_REMOVED,
        "The remains of the load could not be removed (remove them by: kubectl delete pods --namespace ns "
        f"--selector crashloop.dev/run=r,crashloop.dev/load): {expired}",
    )
    planned = verdict(folder, "load-as-planned")
    assert planned.outcome is Outcome.INCONCLUSIVE
    assert str(expired) in planned.sentence
    assert verdict(folder, "nothing-left").outcome is Outcome.ERROR
