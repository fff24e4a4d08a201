"""What a person reads who starts a run on an existing cluster in a way that cannot work."""

from pathlib import Path

import pytest

from crashloop.profiles import KUBELET_MANIFESTS
from crashloop.verdict import ExitCode
from suites.selftest.kit.existing_kit import crashloop_run

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: secret-token}}]
contexts: [{name: blue, context: {cluster: c, user: u}}, {name: green, context: {cluster: c, user: u}}]
current-context: blue
"""
OWN = str(KUBELET_MANIFESTS / "max-10s.yaml")
"""A file, though one that is a profile."""


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a run; KUBECONFIG in an argument stands for a file that is one."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    return crashloop_run(folder, *(argument.replace("KUBECONFIG", str(kubeconfig)) for argument in arguments))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--provider", "existing"), ".kube/config: there is no such file"),
        (("--kubeconfig", "KUBECONFIG"), "--kubeconfig: only for --provider existing, not local."),
        (("--provider", "existing", "--kubeconfig", "KUBECONFIG", "--keep"), "--keep: only for --provider local, kind"),
        (
            ("--provider", "existing", "--kubeconfig", "KUBECONFIG", "--context", "red"),
            "it has no context 'red'; its contexts: blue, green.",
        ),
        (
            ("--provider", "existing", "--kubeconfig", "KUBECONFIG", "--node-profile", "stock"),
            "--node-profile 'stock': expected NODE=PROFILE, such as worker-1=max-10s.",
        ),
        (
            ("--provider", "existing", "--kubeconfig", "KUBECONFIG", "--node-profile", "worker=max-10"),
            'kubelet profile "max-10": unknown',
        ),
        (
            ("--provider", "existing", "--kubeconfig", "KUBECONFIG", "--node-profile", f"worker={OWN}"),
            f"--node-profile 'worker={OWN}': expected the name of a profile of manifests/kubelet, "
            "since scenarios name those.",
        ),
    ],
    ids=["no-kubeconfig", "other-provider", "keep", "context", "declaration", "profile", "profile-file"],
)
def test_wrong_usage_is_said_before_anything_starts(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    code, output = run(tmp_path, *arguments)
    assert code == ExitCode.USAGE, output
    assert said in output
    assert "Traceback" not in output
    assert not (tmp_path / "runs").exists()


def test_an_api_server_that_does_not_answer_is_no_fault_of_the_usage(tmp_path: Path) -> None:
    code, output = run(tmp_path, "--provider", "existing", "--kubeconfig", "KUBECONFIG")
    assert code == ExitCode.ERROR, output
    assert "the API server at https://127.0.0.1:1 does not answer" in output
    assert "secret-token" not in output
    assert "Traceback" not in output
