"""What a cluster could leave on a host, as plain lines that can be compared before and after."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import psutil
from pyroute2 import IPRoute

from crashloop.cluster.host_settings import HOST_FOLDERS, KUBELET_WRITES, RAISED
from crashloop.cluster.ownership import ClusterStore

WELL_KNOWN = (*HOST_FOLDERS, "/run/containerd", "/run/netns", "/run/flannel", "/opt/containerd", "/opt/cni", "/etc/cni")
"""Folders that a kubelet, a container runtime or a CNI plugin makes where nobody tells it otherwise."""


def traces(*, of: str) -> set[str]:
    """Processes, mounts, links, routes, cgroups, folders and sysctls of this host, those of other clusters left out.

    `of` names the cluster that is looked for. Other clusters may come and go meanwhile, and while there are any,
    what all clusters have in common does not count.
    """
    store = ClusterStore()
    names = tuple(state.path.name for state in store.folders() if state.path.name != of)
    others = tuple(str(store.root / name) for name in names)
    cgroups = tuple(f"/crashloop/{name}" for name in names)
    found = {*_processes(others, cgroups), *_mounts(), *_links(others), *_folders(store, names)}
    found |= {line for line in _cgroups() if not any(f"{name}/" in f"{line}/" for name in cgroups)}
    if names:
        return {line for line in found if not line.endswith("/crashloop")}
    return found | set(_sysctls())


def _processes(others: tuple[str, ...], cgroups: tuple[str, ...]) -> Iterator[str]:
    """Processes in a network namespace that is not ours, in a cgroup of ours, or with our mark."""
    own_network = Path("/proc/self/ns/net").stat().st_ino
    for process in psutil.process_iter():
        try:
            environment = Path(f"/proc/{process.pid}/environ").read_text(errors="replace")
            cgroup = Path(f"/proc/{process.pid}/cgroup").read_text()
            elsewhere = Path(f"/proc/{process.pid}/ns/net").stat().st_ino != own_network
        except OSError:
            continue
        if any(f"CRASHLOOP_STATE={other}\0" in environment for other in others) or any(
            each in cgroup for each in cgroups
        ):
            continue
        if elsewhere or "CRASHLOOP_STATE=" in environment or "/crashloop/" in cgroup:
            yield f"process {process.pid} {process.name()}"


def _mounts() -> Iterator[str]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        yield "mount " + re.sub(r"^\S+ \S+ \S+ ", "", line)


def _links(others: tuple[str, ...]) -> Iterator[str]:
    with IPRoute() as host:
        names = {link["index"]: link for link in host.get_links()}
        theirs = {index for index, link in names.items() if link.get_attr("IFLA_IFALIAS") in others}
        yield from (f"link {link.get_attr('IFLA_IFNAME')}" for index, link in names.items() if index not in theirs)
        for route in host.get_routes(family=2):
            if route.get_attr("RTA_OIF") not in theirs:
                yield f"route {route.get_attr('RTA_DST')}/{route['dst_len']} via {route.get_attr('RTA_GATEWAY')}"


def _cgroups() -> Iterator[str]:
    for folder, _, _ in os.walk("/sys/fs/cgroup"):
        yield f"cgroup {folder}"


def _folders(store: ClusterStore, others: tuple[str, ...]) -> Iterator[str]:
    yield from (f"state {state.path}" for state in store.folders() if state.path.name not in others)
    for top in WELL_KNOWN:
        yield from (f"folder {folder}" for folder, _, _ in os.walk(top))
        yield from (f"file {folder}/{name}" for folder, _, names in os.walk(top) for name in names)
    yield from (f"file {path}" for path in Path("/var/log/containers").glob("*"))


def _sysctls() -> Iterator[str]:
    for name in (*KUBELET_WRITES, *RAISED, "net/ipv4/ip_forward"):
        path = Path("/proc/sys", name)
        if path.exists():
            yield f"sysctl {name} {path.read_text().strip()}"
