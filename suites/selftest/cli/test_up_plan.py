"""`crashloop up --plan` prints what `up` would do, and starts nothing."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.cluster.binaries.ensure import PROGRAMS
from crashloop.errors import UsageError
from suites.selftest.kit.binaries_kit import write_programs


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short path: the sockets of nodes lie below it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        monkeypatch.setenv("CRASHLOOP_STATE_DIR", str(folder / "state"))
        monkeypatch.setenv("CRASHLOOP_CACHE_DIR", str(folder / "cache"))
        yield folder


def test_the_plan_of_a_local_cluster_is_printed_and_nothing_is_made(folder: Path) -> None:
    own = write_programs(folder / "own", *PROGRAMS)
    printed = CliRunner().invoke(app, ["up", "--plan", "--profile", "max-2s", "--bin-dir", str(own)]).output
    assert "# Control plane\n" in printed
    assert "# Node max-2s, profile max-2s\n" in printed
    assert f"{own}/kubelet \\\n" in printed
    assert not (folder / "state" / "clusters").exists()


def test_a_provider_that_makes_no_clusters_has_no_plan() -> None:
    raised = CliRunner().invoke(app, ["up", "--plan", "--provider", "existing"]).exception
    assert isinstance(raised, UsageError)
    assert str(raised) == "provider 'existing': it makes no clusters; only local, kind do."


def test_a_gate_that_a_file_for_kind_names_is_no_fault_of_a_profile(folder: Path) -> None:
    file = folder / "kind.yaml"
    file.write_text("kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nfeatureGates: {Nope: true}\n", encoding="utf-8")
    options = ["--provider", "kind", "--kind-config", str(file), "--kubernetes-version", "1.37.1"]
    raised = CliRunner().invoke(app, ["up", "--plan", *options]).exception
    assert isinstance(raised, UsageError)
    assert str(raised).startswith("--feature-gate Nope=true: Kubernetes 1.37.1 does not have that gate.")
