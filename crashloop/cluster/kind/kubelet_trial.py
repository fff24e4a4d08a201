"""Tries a kubelet configuration inside a node's container; see crashloop.cluster.kubelets."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import yaml

from crashloop.cluster.images import SANDBOX_IMAGE
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.plan import SHARED, Blueprint, NodePlan, mounted
from crashloop.cluster.kubelets import (
    KubeletProgram,
    KubeletSetting,
    as_yaml,
    candidate_event,
    drop_in_files,
    kubelet_config,
    watch_candidate,
)
from crashloop.cluster.node_files import NodeLayout, containerd_toml
from crashloop.cluster.processes import CommandFailed, Starter, is_alive, slowness, wait_gone
from crashloop.errors import ClusterError
from crashloop.history.event import Event, Kind
from crashloop.spec.profile import KubeletProfile
from crashloop.waiting import wait_until

SCRIPT = Path(__file__).parent / "candidate.sh"
_KUBECONFIG = "/etc/kubernetes/kubelet.conf"
"""The node's own: sufficient to check who may access the kubelet."""
_CLIENT_CA = "/etc/kubernetes/pki/ca.crt"
_DROP_INS = "kubelet.conf.d"
_STARTS_S = 30.0
_ASK_EVERY_S = 0.3
"""Every request starts two processes."""


class CandidatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A second kubelet in a node."""

    index: int
    container: str
    folder: str
    """Folder of its configuration, as the node sees it."""
    root: str
    """Folder in the node for everything of it and its runtime."""
    cgroup: str
    port: int
    files: dict[str, str]
    """Name in the folder -> text."""
    runtime_socket: str
    program: str | None
    """Path on this host of a kubelet that the node lacks; it is copied into the folder."""
    argv: tuple[str, ...]


def candidate_plan(
    blueprint: Blueprint, node: NodePlan, index: int, profile: KubeletProfile, *, kubelet: KubeletProgram
) -> CandidatePlan:
    """A kubelet with the candidate's configuration, on other ports than the node's, which does not register. Pure."""
    brought = None if mounted(kubelet) == node.kubelet else kubelet.path
    root = Path(f"/run/crashloop/{index}")
    layout = NodeLayout(root, root, index)
    folder, cgroup, port = f"{SHARED}/candidates/{index}", f"crashloop-candidate-{index}", 20000 + index
    setting = KubeletSetting(
        layout=layout,
        client_ca=_CLIENT_CA,
        cgroup_root=f"/{cgroup}",
        cgroup_version=blueprint.cgroup_version,
        kubernetes_version=kubelet.version,
        register=False,
        port=port,
        healthz_port=21000 + index,
    )
    config = kubelet_config(setting, profile.config)
    for name in ("tlsCertFile", "tlsPrivateKeyFile"):  # it makes a certificate of its own
        del config[name]
    return CandidatePlan(
        index=index,
        container=node.container,
        folder=folder,
        root=str(root),
        cgroup=cgroup,
        port=config["port"],
        files={
            "kubelet.yaml": as_yaml(config),
            "containerd.toml": containerd_toml(
                layout, sandbox_image=SANDBOX_IMAGE, runc="runc", cni_plugins="/opt/cni/bin"
            ),
            "candidate.sh": SCRIPT.read_text(),
            **{f"{_DROP_INS}/{name}": text for name, text in drop_in_files(profile).items()},
        },
        runtime_socket=str(layout.runtime_socket),
        program=brought,
        argv=(
            "kubelet" if brought is None else f"{folder}/kubelet",
            f"--config={folder}/kubelet.yaml",
            *((f"--config-dir={folder}/{_DROP_INS}",) if profile.drop_ins else ()),
            f"--kubeconfig={_KUBECONFIG}",
            f"--root-dir={layout.kubelet_root}",
            f"--cert-dir={layout.certificates}",
            f"--hostname-override=candidate-{index}",
            "--v=2",
            *profile.arguments,
        ),
    )


def try_candidate(
    plan: CandidatePlan, *, blueprint: Blueprint, node: NodePlan, docker: Docker, at_most_s: float
) -> tuple[Event, ...]:
    """Start the candidate, watch it and end it; its PROCESS_* events."""
    folder = blueprint.layout.node(node.name) / "candidates" / str(plan.index)
    folder.mkdir(parents=True)
    for name, text in plan.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    if plan.program is not None:
        _bring_program(Path(plan.program), folder / "kubelet")
    kubeconfig = _kubelet_kubeconfig(blueprint.layout.kubeconfig, plan.port)
    script = ("sh", f"{plan.folder}/candidate.sh")
    argv = (*script, "run", plan.root, plan.cgroup, f"{plan.folder}/containerd.toml", plan.runtime_socket, *plan.argv)
    log = folder / "kubelet.log"

    def ask(path: str) -> str:
        words = ("kubectl", "--kubeconfig=/dev/stdin", "get", "--raw", path)
        return docker.execute(plan.container, *words, describe=f"candidate {plan.index}", input=kubeconfig)

    def configz() -> object:
        try:
            return json.loads(ask("/configz")).get("kubeletconfig")
        except CommandFailed:
            return None

    def process_id() -> int:
        try:
            return int(docker.execute(plan.container, *script, "pid", plan.root, describe="candidate's process id"))
        except (CommandFailed, ValueError):
            if not is_alive(client):
                raise ClusterError(f"candidate in node {node.name}: did not start.\n{log.read_text()}") from None
            raise

    client = Starter(blueprint.layout.root).start(
        docker.command("exec", plan.container, *argv), node=node.name, log=log
    )
    try:
        not_yet = (CommandFailed, ValueError)
        pid = wait_until("the candidate's process id", process_id, timeout_s=_STARTS_S * slowness(), not_yet=not_yet)
        started = candidate_event(node.name, Kind.PROCESS_STARTED, pid=pid, argv=list(plan.argv))
        return started, *watch_candidate(
            node.name,
            client,
            log,
            healthy=lambda: ask("/healthz") == "ok",
            configz=configz,
            not_yet=CommandFailed,
            at_most_s=at_most_s,
            every_s=_ASK_EVERY_S,
        )
    finally:
        docker.execute(plan.container, *script, "end", plan.root, plan.cgroup, describe="end of a candidate")
        wait_gone(client, describe="docker exec of a candidate")
        (folder / "kubelet").unlink(missing_ok=True)


def _bring_program(program: Path, to: Path) -> None:
    try:
        os.link(program.resolve(), to)
    except OSError:
        shutil.copy(program.resolve(), to)


def _kubelet_kubeconfig(admins: Path, port: int) -> str:
    """The administrator's kubeconfig, with the address of a kubelet inside its node."""
    config: dict[str, Any] = yaml.safe_load(admins.read_text())
    for entry in config["clusters"]:
        entry["cluster"] = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    return yaml.safe_dump(config)
