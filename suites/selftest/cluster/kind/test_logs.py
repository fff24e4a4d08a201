"""Logs of nodes, as they lie in a run directory."""

from pathlib import Path

import pytest

from crashloop.cluster.kind.logs import collect_logs
from suites.selftest.kit.kind_kit import blueprint, fake_docker


def test_everybody_may_read_what_was_copied_out_of_a_node_with_its_modes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "logs"
    pods = logs / "control-plane" / "pods"
    fake_docker(
        tmp_path,
        monkeypatch,
        f"""'cp crashloop-demo-control-plane:/var/log/pods {pods}')
mkdir -m 700 {pods} {pods}/etcd; install -m 640 /dev/null {pods}/etcd/0.log; install -m 700 /dev/null {pods}/etcd/run
ln -s /nowhere {pods}/away ;;
exec*) echo text ;;""",
    )
    collect_logs(blueprint("stock"), logs)
    assert {str(path.relative_to(pods)): f"{path.lstat().st_mode & 0o777:o}" for path in pods.rglob("*")} == {
        "away": "777",
        "etcd": "755",
        "etcd/0.log": "644",
        "etcd/run": "755",
    }
    assert f"{pods.stat().st_mode & 0o777:o}" == "755"
    assert (logs / "stock" / "kubelet.log").read_text() == "text\n"
