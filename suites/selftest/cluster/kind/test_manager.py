"""pytest-kubernetes' manager as it is used here: what it passes to `kind`, and what it leaves alone."""

import os
from pathlib import Path

import pytest

from crashloop.cluster.kind.bring_up import KindProgram
from crashloop.cluster.processes import CommandFailed
from suites.selftest.kit.kind_kit import write_script

RECORDS = """
for word; do printf '%s\\n' "$word"; done >>{log}
echo "network=$KIND_EXPERIMENTAL_DOCKER_NETWORK" >>{log}
"""


def kind_of(tmp_path: Path, script: str) -> KindProgram:
    config = tmp_path / "kind.yaml"
    config.write_text("kind: Cluster\nname: crashloop-demo\n")
    program = write_script(tmp_path / "bin with spaces" / "kind", script)
    environment = {"KIND_EXPERIMENTAL_DOCKER_NETWORK": "ours"}
    return KindProgram(program, environment, config=config, kubeconfig=tmp_path / "kubeconfig")


def test_kind_gets_our_configuration_and_our_name(tmp_path: Path) -> None:
    log = tmp_path / "log"
    before = dict(os.environ)
    kind = kind_of(tmp_path, RECORDS.format(log=log) + f"touch {tmp_path}/kubeconfig")
    kind.create_cluster()
    kind.load_archive(Path("images $HOME.tar"))
    assert log.read_text().splitlines() == [
        *("create", "cluster", "--retain", "--config", str(tmp_path / "kind.yaml")),
        *("--kubeconfig", str(tmp_path / "kubeconfig"), "network=ours"),
        *("load", "image-archive", "images $HOME.tar", "--name", "crashloop-demo", "network=ours"),
    ]
    assert dict(os.environ) == before


def test_what_kind_said_is_in_the_error(tmp_path: Path) -> None:
    kind = kind_of(tmp_path, 'echo "ERROR: failed to create cluster: no space" >&2; exit 1')
    with pytest.raises(CommandFailed) as caught:
        kind.create_cluster()
    message = str(caught.value)
    assert message.startswith("kind cluster crashloop-demo: `")
    assert message.endswith(
        "ended with exit code 1, expected exit code 0.\nIts last lines:\n  ERROR: failed to create cluster: no space"
    )
