"""What a person reads of a stress run whose credentials expire in the middle, what is left there, and who removes it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from crashloop.cluster.existing.leased_namespace import LASTS_S, borrow
from crashloop.errors import UsageError
from crashloop.kube.client import KubeApi
from crashloop.slo.measurements import SloVerdict
from crashloop.stress.folder import StressDir, published_stress
from crashloop.stress.plan import AFTER_S
from crashloop.verdict import ExitCode, Outcome
from suites.selftest.kit.existing_kit import crashloop
from suites.selftest.kit.existing_peer import JOBS, LEASES, NAMESPACE, PODS, ExistingPeer, node, serving
from suites.selftest.kit.kube_peer import Json, status

STORM = """\
# Three pods crash beside a Job, for longer than the credentials last.
nodes: [{name: storm, profile: max-1s}]
loads:
  crashers: {kind: crash, node: storm}
  failing: {kind: jobs, node: storm, rate_per_s: 5, in_flight: 1}
stages: [{name: storm, duration_s: 600, users: {crashers: 3, failing: 1}}]
slos: {files: [official], without: [pod-startup-latency-by-kubelet], report: ["*"]}
"""


class Expired(NamedTuple):
    """A run that is over, and the cluster on which it was."""

    run: Path
    peer: ExistingPeer
    left: dict[str, Json]
    """Objects by their paths, at the end of the run."""
    kubeconfig: str
    code: int
    output: str
    verdicts: dict[str, SloVerdict]


@pytest.fixture(scope="module")
def expired(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Expired]:
    folder = tmp_path_factory.mktemp("expired")
    peer = ExistingPeer(node("worker"))

    def before(request: str) -> Json | None:
        if sum(name.startswith("crashers") for name in peer.names(PODS)) < 3 or not peer.names(JOBS):
            return None
        peer.ended.set()
        return status(401, "Unauthorized", "Unauthorized")

    peer.before = before
    profile = folder / "storm.yaml"
    profile.write_text(STORM, encoding="utf-8")
    with serving(peer, folder) as kubeconfig:
        where = ("--provider", "existing", "--kubeconfig", kubeconfig, "--namespace", NAMESPACE)
        how = ("--node-profile", "worker=max-1s", "--run-dir", str(folder / "run"))
        code, output = crashloop(folder, "stress", str(profile), *where, *how)
        peer.before = lambda _: None
        verdicts = published_stress(StressDir.open(folder / "run")).verdicts
        judged = {each.slo: each for each in verdicts}
        yield Expired(folder / "run", peer, dict(peer.objects), kubeconfig, code, output, judged)


def test_credentials_that_expire_end_the_load_and_what_was_recorded_is_judged(expired: Expired) -> None:
    output, verdicts = expired.output, expired.verdicts
    assert expired.code == ExitCode.ERROR, output
    assert "Traceback" not in output, output
    said = (
        f"kubeconfig {expired.kubeconfig}: the API server does not accept the credentials (401 Unauthorized); "
        "they may have expired."
    )
    assert verdicts["load-as-planned"].outcome is Outcome.INCONCLUSIVE
    assert said in verdicts["load-as-planned"].sentence
    assert verdicts["nothing-left"].outcome is Outcome.ERROR
    assert said in output
    assert f"(remove them by: kubectl delete jobs,pods --namespace {NAMESPACE} --selector crashloop.dev/run=" in output
    assert f"To remove them at once: kubectl delete pods,jobs,leases --namespace {NAMESPACE} --selector" in output


def test_what_they_left_is_removed_by_the_next_run_there_once_the_lease_has_run_out(expired: Expired) -> None:
    peer = expired.peer
    with closing(KubeApi(expired.kubeconfig)) as api:
        with pytest.raises(UsageError, match=rf"works in it .*\n.*\(if it was killed: {LASTS_S} s\)"):
            borrow(api, NAMESPACE, "too-soon")
        assert len(peer.names(PODS)) == 4, "three that crash, and the node's heartbeat"
        assert len(peer.names(JOBS)) == 1
        peer.ahead_s = LASTS_S + 10
        borrow(api, NAMESPACE, "next").leave()
    assert peer.names(PODS) == peer.names(JOBS) == peer.names(LEASES) == []


def test_pods_and_jobs_that_they_left_have_a_deadline_of_their_own(expired: Expired) -> None:
    deadlines = {
        name.rpartition("/")[2]: each["spec"].get("activeDeadlineSeconds")
        for name, each in expired.left.items()
        if name.startswith((f"{PODS}/", f"{JOBS}/"))
    }
    (job,) = (name for name in deadlines if name.startswith("failing"))
    most_s = round(StressDir.open(expired.run).stress_plan().longest_s + AFTER_S)
    crashers = [f"crashers-0-{number}" for number in range(3)]
    assert deadlines == dict.fromkeys([*crashers, job], most_s) | {"heartbeat-worker": None}
