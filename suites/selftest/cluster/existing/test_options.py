"""What a person reads who starts a run on an existing cluster in a way that cannot work."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.cluster.providers import lending_provider
from crashloop.errors import UsageError
from crashloop.profiles import KUBELET_MANIFESTS
from crashloop.run.existing import existing_options
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


@pytest.fixture(autouse=True)
def no_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user of the run has none but the file that a test names."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)


def options(folder: Path, *arguments: str) -> list[str]:
    """KUBECONFIG in an argument stands for a file that is one."""
    return [argument.replace("KUBECONFIG", str(folder / "kubeconfig")) for argument in arguments]


def refusal(folder: Path, *arguments: str) -> str:
    """Why `crashloop run` refuses these options, before pytest starts."""
    done = CliRunner().invoke(app, ["run", *options(folder, *arguments)])
    assert isinstance(done.exception, UsageError), done.output
    return str(done.exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--kubeconfig", "KUBECONFIG"), "--kubeconfig: only for --provider existing, not local."),
        (("--provider", "existing", "--kubeconfig", "KUBECONFIG", "--keep"), "--keep: only for --provider local, kind"),
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
    ids=["other-provider", "keep", "declaration", "profile", "profile-file"],
)
def test_wrong_usage_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr(pytest, "main", lambda *_, **__: pytest.fail("pytest was started"))
    assert said in refusal(tmp_path, *arguments)


def surveyed(kubeconfig: Path | None, context: str | None = None) -> None:
    given = existing_options(
        kubeconfig=None if kubeconfig is None else str(kubeconfig), node_profile=(), context=context
    )
    lending_provider("existing").survey(given)


def test_a_user_without_a_kubeconfig_has_no_cluster() -> None:
    with pytest.raises(UsageError, match=r"\.kube/config: there is no such file"):
        surveyed(None)


def test_a_context_that_the_kubeconfig_lacks_is_named_with_those_that_it_has(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"it has no context 'red'; its contexts: blue, green\."):
        surveyed(tmp_path / "kubeconfig", "red")


def test_an_api_server_that_does_not_answer_is_no_fault_of_the_usage(tmp_path: Path) -> None:
    """A child process, as people start it."""
    code, output = crashloop_run(tmp_path, *options(tmp_path, "--provider", "existing", "--kubeconfig", "KUBECONFIG"))
    assert code == ExitCode.ERROR, output
    assert "the API server at https://127.0.0.1:1 does not answer" in output
    assert "secret-token" not in output
    assert "Traceback" not in output
    assert not (tmp_path / "runs").exists()
