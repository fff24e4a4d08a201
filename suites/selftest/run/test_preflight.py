"""What would stop the recorder before its first node is refused before anything is kept."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from crashloop.cluster.ownership import ClusterStore, new_facts
from crashloop.errors import UsageError
from crashloop.record.run_cluster import RecorderSettings
from crashloop.run.requested import check_start
from crashloop.spec.plan import Plan


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A state folder with a short path."""
    with TemporaryDirectory() as name:
        monkeypatch.setenv("CRASHLOOP_STATE_DIR", name)
        yield


def plan(version: str = "1.37.1", provider: str = "local") -> Plan:
    return Plan(
        suite="conformance",
        provider=provider,
        kubernetes_version=version,
        scope="quick",
        profiles=(),
        scenarios=(),
        judgements=(),
    )


@pytest.mark.parametrize(
    ("asked", "settings", "message"),
    [
        (plan("1.30.0"), RecorderSettings(), "--kubernetes-version: version is 1.30.0; the oldest release"),
        (plan(), RecorderSettings(kubelet_binary="/nowhere"), "--kubelet-binary /nowhere: no such file"),
        (plan(), RecorderSettings(bin_dir="/nowhere"), "--bin-dir /nowhere: no such folder"),
        (plan(), RecorderSettings(cluster="nowhere"), "cluster 'nowhere': unknown on this host"),
        (
            plan(provider="kind"),
            RecorderSettings(kind_binary="/nowhere"),
            "--kind-binary /nowhere: no such executable file",
        ),
    ],
    ids=["version", "kubelet", "folder", "cluster", "kind"],
)
def test_a_wrong_setting_is_named(tmp_path: Path, asked: Plan, settings: RecorderSettings, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_start(tmp_path / "run", asked, settings)
    assert str(refused.value).startswith(message)


def test_a_kept_cluster_of_another_version_is_refused(tmp_path: Path) -> None:
    folder = ClusterStore().root / "kept"
    folder.mkdir(parents=True)
    facts = new_facts(name="kept", provider="local", owner_pid=1, kubernetes_version="1.36.3", nodes=())
    ClusterStore().find("kept").write_facts(facts)
    with pytest.raises(UsageError, match=r"it runs Kubernetes 1\.36\.3, the run needs 1\.37\.1"):
        check_start(tmp_path / "run", plan(), RecorderSettings(cluster="kept"))


def test_an_existing_cluster_is_surveyed_elsewhere(tmp_path: Path) -> None:
    check_start(tmp_path / "run", plan(provider="existing"), RecorderSettings(kubelet_binary="/nowhere"))
