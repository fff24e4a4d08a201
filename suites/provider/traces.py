"""What a cluster could leave on a host, as plain lines that can be compared before and after."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import psutil
from pyroute2 import IPRoute

from crashloop.cluster.host_settings import HOST_FOLDERS, KUBELET_WRITES, MADE_BY_DOCKER, RAISED
from crashloop.cluster.local.plan import LINK_PREFIX
from crashloop.cluster.ownership import ClusterStore

from .docker_traces import docker_traces

WELL_KNOWN = (*HOST_FOLDERS, "/run/containerd", "/run/netns", "/run/flannel", "/opt/containerd", "/opt/cni", "/etc/cni")
"""Folders that a kubelet, a container runtime or a CNI plugin makes by default."""

OF_A_CLUSTER = {
    "local": {"process", "link", "route", "cgroup", "state"},
    "kind": {"container", "network", "state"},
}
"""Provider -> kinds of traces that there must be of a cluster that is up, or nothing is proved by their absence."""

SHARED = re.compile(rf"^sysctl |/crashloop$|^folder ({'|'.join((*HOST_FOLDERS, *MADE_BY_DOCKER))})$")
"""Traces that all clusters have in common: the last one to go takes them away."""


def traces(*, of: str) -> set[str]:
    """Processes, mounts, links, routes, cgroups, folders and sysctls of this host, those of other clusters left out.

    `of` names the cluster that is looked for. Other clusters, and whatever else a developer runs, may come and go
    meanwhile; while there are other clusters, what all of them have in common does not count.
    """
    store = ClusterStore()
    others = _others(store, of)
    found = {*_processes(), *_mounts(store), *_links(), *_folders(store), *_cgroups(), *_sysctls(), *docker_traces()}
    others |= _others(store, of)
    theirs = re.compile("|".join(f"/(clusters|crashloop)/{re.escape(name)}(/|$| )" for name in others) or "(?!)")
    return {line for line in found if not theirs.search(line) and not (others and SHARED.search(line))}


def left_since(before: set[str], *, of: str) -> set[str]:
    """Traces that were not there before. What all clusters have in common counts if it did before."""
    left = traces(of=of) - before
    alone = any(line.startswith("sysctl") for line in before)
    return left if alone else {line for line in left if not SHARED.search(line)}


def _others(store: ClusterStore, of: str) -> set[str]:
    return {state.path.name for state in store.folders()} - {of}


def _processes() -> Iterator[str]:
    """Processes with our mark, in a cgroup of ours, or in this process's cgroup but not in its network namespace.

    Of the last, those that another program of this host has started, and still waits for, are not ours.
    """
    own_network = Path("/proc/self/ns/net").stat().st_ino
    own_cgroup = Path("/proc/self/cgroup").read_text()
    for process in psutil.process_iter():
        try:
            mark = re.search(
                r"CRASHLOOP_STATE=[^\0]*", Path(f"/proc/{process.pid}/environ").read_text(errors="replace")
            )
            cgroups = Path(f"/proc/{process.pid}/cgroup").read_text()
            elsewhere = Path(f"/proc/{process.pid}/ns/net").stat().st_ino != own_network
            parents = [parent.pid for parent in process.parents()]
        except (OSError, psutil.NoSuchProcess):
            continue
        cgroup = re.search(r"/crashloop/\S*", cgroups)
        ours = parents[:1] == [1] or os.getpid() in parents
        if mark or cgroup or (elsewhere and cgroups == own_cgroup and ours):
            yield f"process {process.pid} {process.name()} {mark and mark[0]} {cgroup and cgroup[0]}"


def _mounts(store: ClusterStore) -> Iterator[str]:
    places = (str(store.root.parent), *WELL_KNOWN)
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        point = Path(line.split()[4])
        if any(point.is_relative_to(place) for place in places) or " crashloop " in line:
            yield "mount " + re.sub(r"^\S+ \S+ \S+ ", "", line)


def _links() -> Iterator[str]:
    with IPRoute() as host:
        aliases = {}
        for link in host.get_links():
            name, alias = link.get_attr("IFLA_IFNAME"), link.get_attr("IFLA_IFALIAS")
            if name.startswith(LINK_PREFIX):
                aliases[link["index"]] = alias
                yield f"link {name} {alias}"
        for route in host.get_routes(family=2):
            where, via = f"{route.get_attr('RTA_DST')}/{route['dst_len']}", route.get_attr("RTA_GATEWAY")
            if route.get_attr("RTA_OIF") in aliases:
                yield f"route {where} via {via} {aliases[route.get_attr('RTA_OIF')]}"


def _cgroups() -> Iterator[str]:
    for folder, _, _ in os.walk("/sys/fs/cgroup"):
        if "/crashloop" in folder:
            yield f"cgroup {folder}"


def _folders(store: ClusterStore) -> Iterator[str]:
    yield from (f"state {state.path}" for state in store.folders())
    for top in (*WELL_KNOWN, "/var/log/containers"):
        for folder, _, names in os.walk(top):
            yield f"folder {folder}"
            yield from (f"file {folder}/{name}" for name in names)


def _sysctls() -> Iterator[str]:
    for name in (*KUBELET_WRITES, *RAISED, "net/ipv4/ip_forward"):
        path = Path("/proc/sys", name)
        if path.exists():
            yield f"sysctl {name} {path.read_text().strip()}"
