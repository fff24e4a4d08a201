"""Prerequisites of the provider `local`, of host and request; everything missing is reported at once."""

from collections.abc import Iterator
from pathlib import Path

from crashloop.cluster import inotify, runner
from crashloop.cluster.local.addresses import MOST_NODES
from crashloop.cluster.local.certificates import LONGEST_COMMON_NAME
from crashloop.cluster.local.host import TOOLS, HostFacts
from crashloop.cluster.local.kernel_modules import Support
from crashloop.cluster.local.layout import LONGEST_SOCKET_PATH, ClusterLayout
from crashloop.cluster.local.node import NODE_USER
from crashloop.cluster.names import check_names
from crashloop.cluster.prerequisites import MIB, Problem, memory_problems, require_none
from crashloop.cluster.provider import ClusterRequest, Progress
from crashloop.errors import UsageError

FREE_DISK = 1024 * MIB
NEEDED_CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_SYS_PTRACE": 19, "CAP_MKNOD": 27}
_INSTALL_S = 300.0


def check_host(facts: HostFacts, *, nodes: int) -> None:
    """Raise one PrerequisiteError that lists every problem with its remedy."""
    require_none(
        problems(facts, nodes=nodes),
        failure=f"provider local: this host cannot run {nodes} nodes.",
        alternative="Other providers: --provider kind needs Docker, --provider existing needs a kubeconfig.",
    )


def problems(facts: HostFacts, *, nodes: int) -> Iterator[Problem]:
    """Every problem of the host. Pure."""
    if facts.system != "linux":
        yield Problem("system", f"{facts.system}; nodes need Linux: use a virtual machine.")
        return
    yield from _rights(facts)
    missing = () if facts.can_install else facts.missing_tools
    if missing:
        packages = ", ".join(dict.fromkeys(TOOLS[tool] for tool in missing))
        yield Problem("tools", f"not on PATH: {', '.join(missing)}: install {packages} (Debian's package names).")
    yield from _file_systems(facts)
    yield from _cgroups(facts)
    if not facts.kernel_messages:
        yield Problem(
            "/dev/kmsg", "missing, and no kubelet starts without it: start the container with --device /dev/kmsg."
        )
    yield from _sizes(facts, nodes)


def _rights(facts: HostFacts) -> Iterator[Problem]:
    if not facts.root:
        yield Problem("rights", "this user is not root: run the same command with sudo.")
        return
    lacking = [name for name, bit in _CAPABILITIES.items() if not facts.capabilities >> bit & 1]
    if lacking:
        yield Problem("rights", f"root lacks {', '.join(lacking)}: start the container with --privileged.")


def _file_systems(facts: HostFacts) -> Iterator[Problem]:
    if facts.overlay is Support.FORBIDDEN:
        yield Problem(
            "overlay",
            "a rule of modprobe.d keeps its module from being loaded: remove it, or run `modprobe --ignore-install overlay`.",
        )
    elif facts.overlay is Support.NONE:
        yield Problem(
            "overlay",
            f"the kernel has no overlay file system, and no module of it lies in /lib/modules/{facts.release}: "
            "run `modprobe overlay`, on a container's host if this is one.",
        )
    if facts.state_filesystem == "overlay":
        yield Problem(
            "state folder",
            "lies on an overlay file system, on which containers' overlay file systems cannot be stacked: "
            "set CRASHLOOP_STATE_DIR to a folder on a disk or a volume.",
        )


def _cgroups(facts: HostFacts) -> Iterator[Problem]:
    missing = [name for name in NEEDED_CONTROLLERS if name not in facts.controllers]
    if not facts.cgroups.mounts:
        yield Problem("cgroups", "none are mounted: mount them at /sys/fs/cgroup.")
    elif missing:
        version = facts.cgroups.version
        yield Problem(
            "cgroups", f"v{version} without controller {', '.join(missing)}: enable it on the kernel's command line."
        )


def _sizes(facts: HostFacts, nodes: int) -> Iterator[Problem]:
    yield from memory_problems(facts.memory_available, nodes=nodes)
    if facts.state_free < FREE_DISK:
        free = facts.state_free // MIB
        yield Problem("disk", f"{free} MiB are free, {FREE_DISK // MIB} MiB are needed: see CRASHLOOP_STATE_DIR.")
    yield from inotify.inotify_problems(facts.inotify, needed=inotify.CONTROL_PLANE + nodes * inotify.NODE)


def install_missing_tools(facts: HostFacts, progress: Progress) -> None:
    """Install plain tools with apt-get on Debian and Ubuntu; never a package that starts a service."""
    if facts.missing_tools and facts.can_install:
        packages = list(dict.fromkeys(TOOLS[tool] for tool in facts.missing_tools))
        with progress.step(f"apt-get install {' '.join(packages)}"):
            command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
            runner.run(command, describe="apt-get", timeout_s=_INSTALL_S, env={"DEBIAN_FRONTEND": "noninteractive"})


def check_request(request: ClusterRequest, *, state_folder: Path) -> None:
    """Raise UsageError for invalid names or too many nodes."""
    check_names(request, most_nodes=MOST_NODES)
    longest = LONGEST_COMMON_NAME - len(NODE_USER)
    for node in request.nodes:
        if len(node.name) > longest:
            raise UsageError(
                f"cluster {request.name!r}: node {node.name!r}: a name has at most {longest} characters, "
                "which fit into a certificate."
            )
    socket = str(ClusterLayout(state_folder).node("any", MOST_NODES).longest_socket())
    if len(socket) > LONGEST_SOCKET_PATH:
        raise UsageError(
            f"cluster {request.name!r}: the path of a kubelet's socket would have {len(socket)} bytes ({socket}), "
            f"at most {LONGEST_SOCKET_PATH} fit.\nChoose a shorter name, or a shorter folder with CRASHLOOP_STATE_DIR."
        )
