"""environment.json: the machine of a run, and the versions that its nodes report."""

import platform
import sys
from pathlib import Path
from typing import Any

import msgspec
import psutil

from crashloop import __version__
from crashloop.kube.client import Json
from crashloop.processors import available_processors

ENVIRONMENT_FORMAT = "crashloop.environment/1"


class RecorderHost(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of the recorder."""

    kernel: str
    machine: str
    cpu_model: str = ""
    """As the kernel names it; empty where it does not."""
    cpus: int
    memory_bytes: int
    cgroup_version: int
    has_cpu_pressure: bool
    """Whether the kernel counts CPU stalls (/proc/pressure/cpu)."""
    python: str


class NodeVersions(msgspec.Struct, frozen=True, kw_only=True):
    """`status.nodeInfo` of a node, as far as it names versions."""

    name: str
    kubelet: str
    container_runtime: str
    kernel: str
    os_image: str


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """environment.json."""

    format: str = ENVIRONMENT_FORMAT
    crashloop_version: str = __version__
    host: RecorderHost
    node_image: str | None = None
    """Image that the nodes were made from, where nodes are containers."""
    nodes: tuple[NodeVersions, ...]


def read_environment(nodes: list[Json], *, node_image: str | None = None) -> Environment:
    """The facts of this host and of the Node objects given."""
    host = RecorderHost(
        kernel=platform.release(),
        machine=platform.machine(),
        cpu_model=_cpu_model(),
        cpus=available_processors(),
        memory_bytes=psutil.virtual_memory().total,
        cgroup_version=2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1,
        has_cpu_pressure=Path("/proc/pressure/cpu").exists(),
        python=sys.version.split()[0],
    )
    return Environment(host=host, node_image=node_image, nodes=tuple(_node_versions(node) for node in nodes))


def _cpu_model() -> str:
    """`model name` of the first CPU; ARM kernels do not have it."""
    lines = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == "model name"), "")


def _node_versions(node: dict[str, Any]) -> NodeVersions:
    info = node["status"]["nodeInfo"]
    return NodeVersions(
        name=node["metadata"]["name"],
        kubelet=info["kubeletVersion"],
        container_runtime=info["containerRuntimeVersion"],
        kernel=info["kernelVersion"],
        os_image=info["osImage"],
    )
