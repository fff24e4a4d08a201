"""Logs and configurations of a cluster's nodes, copied into one folder per node."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from crashloop.cluster.kind.bring_up import kind_of
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.init_system import DIALECTS, KUBELET, RUNTIME
from crashloop.cluster.kind.plan import CONTROL_PLANE, Blueprint, Init, NodePlan
from crashloop.cluster.runner import CommandFailed

_FILES = {
    "kubelet.yaml": "/var/lib/kubelet/config.yaml",
    "kubelet-arguments.env": "/var/lib/kubelet/kubeadm-flags.env",
    "containerd.toml": "/etc/containerd/config.toml",
}
_COPY_S = 120.0
_AT_ONCE = 4

log = logging.getLogger(__name__)


def collect_logs(blueprint: Blueprint, destination: Path) -> None:
    """Copy all logs, readable for every user; unreadable ones are logged and left out."""
    docker = Docker(blueprint.docker)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda node: _collect(blueprint, docker, node, destination), blueprint.nodes))
    pods = destination / CONTROL_PLANE / "pods"
    container = blueprint.control_plane.container
    try:
        docker.run(
            "cp", f"{container}:/var/log/pods", str(pods), describe="logs of the control plane", timeout_s=_COPY_S
        )
        if blueprint.image.init is Init.SYSTEMD:
            kind_of(blueprint).export_logs(destination / "kind")
    except CommandFailed as error:
        log.warning("%s", error)
    make_readable(destination)


def make_readable(folder: Path) -> None:
    """Make a folder and its contents readable for every user (`chmod -R a+rX`): Docker copies modes, and pod logs have 0640."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if path.is_dir() or mode & 0o111 else 0o444))


def _collect(blueprint: Blueprint, docker: Docker, node: NodePlan, destination: Path) -> None:
    dialect = DIALECTS[blueprint.image.init]
    commands = {f"{service}.log": dialect.argv(dialect.log, service) for service in (KUBELET, RUNTIME)}
    commands |= {name: ("cat", path) for name, path in _FILES.items()}
    folder = destination / (CONTROL_PLANE if node.profile is None else node.name)
    folder.mkdir(parents=True, exist_ok=True)
    for name, command in commands.items():
        try:
            text = docker.execute(node.container, *command, describe=f"{name} of {node.name}", timeout_s=_COPY_S)
        except CommandFailed as error:
            log.warning("%s", error)
        else:
            (folder / name).write_text(text)
