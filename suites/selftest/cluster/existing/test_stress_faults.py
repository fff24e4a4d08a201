"""What a person reads of a stress run whose credentials expire in the middle, and what is left there."""

from pathlib import Path

from crashloop.stress.folder import StressDir
from crashloop.stress.publishing import published_stress
from crashloop.verdict import ExitCode, Outcome
from suites.selftest.kit.existing_kit import crashloop
from suites.selftest.kit.existing_peer import NAMESPACE, PODS, ExistingPeer, node, serving
from suites.selftest.kit.kube_peer import Json, status

STORM = """\
# Three pods crash, for longer than the credentials last.
nodes: [{name: storm, profile: max-1s}]
loads: {crashers: {kind: crash, node: storm}}
stages: [{name: storm, duration_s: 600, users: {crashers: 3}}]
slos: {files: [official], without: [pod-startup-latency-by-kubelet], report: ["*"]}
"""


def test_credentials_that_expire_end_the_load_and_what_was_recorded_is_judged(tmp_path: Path) -> None:
    peer = ExistingPeer(node("worker"))

    def before(request: str) -> Json | None:
        if sum(name.startswith("crashers") for name in peer.names(PODS)) < 3:
            return None
        peer.ended.set()
        return status(401, "Unauthorized", "Unauthorized")

    peer.before = before
    profile = tmp_path / "storm.yaml"
    profile.write_text(STORM, encoding="utf-8")
    with serving(peer, tmp_path) as kubeconfig:
        where = ("--provider", "existing", "--kubeconfig", kubeconfig, "--namespace", NAMESPACE)
        how = ("--node-profile", "worker=max-1s", "--run-dir", str(tmp_path / "run"))
        code, output = crashloop(tmp_path, "stress", str(profile), *where, *how)
    assert code == ExitCode.ERROR, output
    assert "Traceback" not in output, output
    run = StressDir.open(tmp_path / "run")
    expired = (
        f"kubeconfig {kubeconfig}: the API server does not accept the credentials (401 Unauthorized); "
        "they may have expired."
    )
    verdicts = {each.slo: each for each in published_stress(run).verdicts}
    assert verdicts["load-as-planned"].outcome is Outcome.INCONCLUSIVE
    assert expired in verdicts["load-as-planned"].sentence
    assert verdicts["nothing-left"].outcome is Outcome.ERROR
    assert expired in output
    assert f"(remove them by: kubectl delete pods --namespace {NAMESPACE} --selector crashloop.dev/run=" in output
    assert f"To remove them at once: kubectl delete pods,leases --namespace {NAMESPACE} --selector" in output
