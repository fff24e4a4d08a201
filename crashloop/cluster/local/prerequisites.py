"""What a host and a request must be like for the provider `local`: everything that stands in the way, said at once."""

import re
from collections.abc import Iterator
from pathlib import Path

from crashloop.cluster import runner
from crashloop.cluster.host_settings import RAISED
from crashloop.cluster.local.addresses import MOST_NODES
from crashloop.cluster.local.host import TOOLS, HostFacts
from crashloop.cluster.local.layout import LONGEST_SOCKET_PATH, ClusterLayout
from crashloop.cluster.provider import ClusterRequest, Progress
from crashloop.errors import PrerequisiteError, UsageError

MIB = 1 << 20
CONTROL_PLANE_MEMORY = 600 * MIB
NODE_MEMORY = 190 * MIB
"""Measured: kubelet 130 MB, containerd 56 MB; etcd, API server, controller manager and scheduler 570 MB."""
FREE_DISK = 1024 * MIB
CONTROL_PLANE_INOTIFY = 4
NODE_INOTIFY = 8
NEEDED_CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_SYS_PTRACE": 19, "CAP_MKNOD": 27}
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_INSTALL_S = 300.0


def check_host(facts: HostFacts, *, nodes: int) -> None:
    """Raise one PrerequisiteError that lists everything there is to do."""
    found = list(problems(facts, nodes=nodes))
    if found:
        rows = "\n".join(f"- {problem}" for problem in found)
        raise PrerequisiteError(
            f"provider local: this host cannot run {nodes} nodes.\n{rows}\n"
            "Without root on Linux there is --provider kind, which needs Docker."
        )


def problems(facts: HostFacts, *, nodes: int) -> Iterator[str]:
    """What stands in the way, one sentence with its remedy each. Pure."""
    if facts.system != "linux":
        yield f"The system is {facts.system}; nodes need Linux: use a virtual machine."
        return
    yield from _rights(facts)
    missing = () if facts.can_install else facts.missing_tools
    if missing:
        packages = ", ".join(dict.fromkeys(TOOLS[tool] for tool in missing))
        yield f"Not on PATH: {', '.join(missing)}. Install {packages} (Debian's package names)."
    if "overlay" not in facts.filesystems:
        yield "The kernel has no overlay file system: run `modprobe overlay`."
    if facts.state_filesystem == "overlay":
        yield (
            "The state folder lies on an overlay file system, on which containers cannot be stacked: "
            "set CRASHLOOP_STATE_DIR to a folder on a real disk or a volume."
        )
    yield from _cgroups(facts)
    if not facts.kernel_messages:
        yield "/dev/kmsg is missing, and no kubelet starts without it: start the container with --device /dev/kmsg."
    yield from _sizes(facts, nodes)


def _rights(facts: HostFacts) -> Iterator[str]:
    if not facts.root:
        yield "This user is not root: run the same command with sudo."
        return
    lacking = [name for name, bit in _CAPABILITIES.items() if not facts.capabilities >> bit & 1]
    if lacking:
        yield f"Root lacks {', '.join(lacking)}: start the container with --privileged."


def _cgroups(facts: HostFacts) -> Iterator[str]:
    missing = [name for name in NEEDED_CONTROLLERS if name not in facts.controllers]
    if not facts.cgroups.mounts:
        yield "No cgroups are mounted: mount them at /sys/fs/cgroup."
    elif missing:
        yield f"cgroup v{facts.cgroups.version} has no controller {', '.join(missing)}: enable it on the kernel's command line."


def _sizes(facts: HostFacts, nodes: int) -> Iterator[str]:
    memory = CONTROL_PLANE_MEMORY + nodes * NODE_MEMORY
    if facts.memory_available < memory:
        yield f"Memory available is {facts.memory_available // MIB} MiB; {memory // MIB} MiB are needed: end other programs."
    if facts.state_free < FREE_DISK:
        yield f"Free disk space is {facts.state_free // MIB} MiB; {FREE_DISK // MIB} MiB are needed for the state folder."
    limit = facts.inotify_instances
    if facts.inotify_writable and facts.root:
        limit = max(limit, *RAISED.values())
    needed = facts.inotify_used + CONTROL_PLANE_INOTIFY + nodes * NODE_INOTIFY
    if limit < needed:
        yield f"fs.inotify.max_user_instances is {limit}; {needed} are needed: `sysctl fs.inotify.max_user_instances=1024`."


def install_missing_tools(facts: HostFacts, progress: Progress) -> None:
    """Install plain tools with apt-get where that is the way; never anything that starts a service."""
    if facts.missing_tools and facts.can_install:
        packages = list(dict.fromkeys(TOOLS[tool] for tool in facts.missing_tools))
        with progress.step(f"apt-get install {' '.join(packages)}"):
            command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
            runner.run(command, describe="apt-get", timeout_s=_INSTALL_S, env={"DEBIAN_FRONTEND": "noninteractive"})


def check_request(request: ClusterRequest, *, state_folder: Path) -> None:
    """Raise UsageError if the names or the number of nodes asked for make no cluster."""
    subject = f"cluster {request.name!r}"
    if not _NAME.fullmatch(request.name):
        raise UsageError(f"{subject}: a name has lower-case letters, digits and dashes, at most 63.")
    names = [node.name for node in request.nodes]
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{subject}: node {name!r}: a name has lower-case letters, digits and dashes, at most 63.")
        if names.count(name) > 1:
            raise UsageError(f"{subject}: node {name!r} is asked for twice.")
    if len(names) > MOST_NODES:
        raise UsageError(f"{subject}: {len(names)} nodes are asked for, at most {MOST_NODES} fit.")
    socket = str(ClusterLayout(state_folder).node("any", MOST_NODES).longest_socket())
    if len(socket) > LONGEST_SOCKET_PATH:
        raise UsageError(
            f"{subject}: the path of a kubelet's socket would have {len(socket)} bytes ({socket}), "
            f"at most {LONGEST_SOCKET_PATH} fit.\nChoose a shorter name, or a shorter folder with CRASHLOOP_STATE_DIR."
        )
