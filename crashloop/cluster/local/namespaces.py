"""Network and mount namespaces of the hub and the nodes, and the virtual links ("cables") between them.

Theory of operation. A *holder* is a sleeping process that owns a network and a mount namespace; everything of the
hub or a node enters both with nsenter. The kernel frees namespaces, mounts, cables and routes with the last process
in them, so after any end, even SIGKILL of everything, nothing remains to be unmounted or unplugged.
The mount namespace has its own /run: systemd and D-Bus of the host are out of reach. Online CPUs are those of the holder, which
are fewer than the host's below taskset.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import TypeVar

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from crashloop.cluster import processes
from crashloop.cluster.host_settings import HOST_FOLDERS, KUBELET_WRITES
from crashloop.cluster.local.plan import Network
from crashloop.errors import ClusterError, PrerequisiteError

T = TypeVar("T")
_BRIDGE = "bridge"
_NODE_LINK = "eth0"
_UPLINK = "host"
_BRIDGE_MAC = "02:63:6c:00:00:01"
"""Fixed: by default a bridge takes the lowest address of its ports, and loses its neighbours when that port is removed."""
_CLONE_NEWNET, _CLONE_NEWNS = 0x40000000, 0x20000
_MS_REC, _MS_SLAVE = 0x4000, 0x80000
_LIBC = ctypes.CDLL(None, use_errno=True)

OWN_FOLDERS = ("/run", "/var/log", *HOST_FOLDERS)
"""Folders with a fixed path, so every holder's mount namespace has its own.

Sockets of shims, links to pod logs, the kubelet's socket for device plugins, the CNI library's cache.
"""

_ONLINE_CPUS = "/sys/devices/system/cpu/online"
_SHOW_OWN_CPUS = (
    '[ "$(nproc)" = "$(grep -c ^processor /proc/cpuinfo)" ] || '
    f"{{ taskset -cp $$ | sed 's/.*: //' >/run/cpus; mount --bind /run/cpus {_ONLINE_CPUS}; }}"
)
"""A kubelet takes the CPUs of its node from that file, and gives them to a cgroup: below one with fewer CPUs (cgroups.py) the
kernel refuses all of the host's."""

_SHOW_OWN_FILES = (
    "[ -e /etc/hosts ] && [ -e /etc/resolv.conf ] && [ -e /etc/passwd ] || { mkdir /run/etc /run/etc.work; "
    "mount -t overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/etc.work crashloop /etc; "
    "for each in /etc/hosts /etc/resolv.conf /etc/passwd; do [ -e $each ] || { rm -f $each; : >$each; }; done; }"
)
"""containerd copies the first two into every sandbox, a kubelet reads the third. A small host has none, and systemd-resolved's
file is a link to one below /run."""

_UNSHARED = (
    sys.executable,
    "-Ic",
    "import ctypes, os, sys\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    f"if libc.unshare({_CLONE_NEWNET | _CLONE_NEWNS}) or libc.mount(None, b'/', None, {_MS_REC | _MS_SLAVE}, None):\n"
    "    sys.exit(os.strerror(ctypes.get_errno()))\n"
    "os.execvp(sys.argv[1], sys.argv[1:])",
)
"""unshare(1) --net --mount --propagation=slave, by system calls: an AppArmor profile of distributions (unshare-userns-restrict)
denies mounts to what that program runs, also to root."""
HOLDER_SCRIPT = (
    f"for folder in {' '.join(OWN_FOLDERS)}; do "
    "mkdir -p $folder; mount -t tmpfs -o mode=755 crashloop $folder; done; "
    f"{_SHOW_OWN_CPUS}; {_SHOW_OWN_FILES}; "
    "echo 1 >/proc/sys/net/ipv4/ip_forward; echo ready; exec sleep infinity"
)
HOLDER = (*_UNSHARED, "sh", "-ec", HOLDER_SCRIPT)
"""Argument vector of a holder; it prints `ready` once its namespaces are made."""


_TRIAL = (
    *HOLDER[:-1],
    "mount -t tmpfs crashloop /run; "
    f"for each in {' '.join(OWN_FOLDERS)}; do "
    '[ -d $each ] || [ -w ${each%/*} ] || { echo "$each cannot be made"; exit 1; }; done; '
    f"for each in {' '.join(KUBELET_WRITES)} net/ipv4/ip_forward; do "
    '[ -w /proc/sys/$each ] || { echo "/proc/sys/$each cannot be written"; exit 1; }; done; '
    "echo 1 >/proc/sys/net/ipv4/ip_forward; nsenter --target=$$ --net --mount true",
)
"""What a holder and its node do that a host may forbid."""


def try_namespaces() -> str:
    """Make a holder's namespaces for a moment; the last line that was printed if that fails, otherwise an empty text."""
    try:
        processes.run(_TRIAL, describe="namespaces", timeout_s=10.0 * processes.slowness())
    except processes.CommandFailed as error:
        return (error.output.strip().splitlines() or ["nothing"])[-1]
    except PrerequisiteError:
        return ""  # the tool is missing, which has a row of its own
    return ""


def try_links() -> str:
    """Make a cable and a bridge in a namespace that ends at once; the error's text if that fails, otherwise an empty one."""

    def make() -> str:
        try:
            if _LIBC.unshare(_CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            with IPRoute() as netlink:
                netlink.link("add", ifname=_BRIDGE, kind="bridge")
                netlink.link("add", ifname=_NODE_LINK, kind="veth", peer=_UPLINK)
        except (OSError, NetlinkError) as error:
            return str(error)
        return ""

    return _in_thread(make)


def enter(holder: int, argv: tuple[str, ...]) -> tuple[str, ...]:
    """The argument vector that runs a program in a holder's namespaces, under the holder's own process id."""
    return ("nsenter", f"--target={holder}", "--net", "--mount", "--", *argv)


def networks_in_use() -> list[IPv4Network | IPv4Address]:
    """Networks and addresses that the host has, or has routes to (the default route apart)."""
    with IPRoute() as host:
        addresses = [
            IPv4Network(f"{each.get_attr('IFA_ADDRESS')}/{each['prefixlen']}", strict=False)
            for each in host.get_addr(family=2)
        ]
        routes = [
            IPv4Network(f"{each.get_attr('RTA_DST')}/{each['dst_len']}", strict=False)
            for each in host.get_routes(family=2)
            if each.get_attr("RTA_DST")
        ]
    return [*addresses, *routes]


def wire_hub(hub: int, network: Network, *, alias: str) -> None:
    """Make the bridge in the hub and the cable to the host. `alias` marks the host's end as ours.

    Raises ClusterError if the host does not send packets for the network through that cable.
    """
    with IPRoute() as host:
        host.link("add", ifname=network.host_link, kind="veth", peer={"ifname": _UPLINK, "net_ns_pid": hub})
        link = _index(host, network.host_link)
        host.link("set", index=link, ifalias=alias)
        _inside(hub, lambda inner: _make_bridge(inner, network))
        host.addr("add", index=link, address=network.host, prefixlen=24)
        host.link("set", index=link, state="up")
        host.route("add", dst=str(network.all), gateway=network.hub)
        (way,) = host.route("get", dst=network.hub)
        if way.get_attr("RTA_OIF") != link:
            raise ClusterError(
                f"network {network.all}: a rule of this host's routing sends its packets elsewhere, as of a VPN (`ip rule`).\n"
                f"Put another before it: ip rule add to {network.all} lookup main priority 1"
            )


def wire_node(hub: int, node: int, network: Network, index: int) -> None:
    """Lay the cable from a node to the bridge, and the way to its pods."""
    cable = f"node{index}"

    def at_hub(inner: IPRoute) -> None:
        inner.link("add", ifname=cable, kind="veth", peer={"ifname": _NODE_LINK, "net_ns_pid": node})
        inner.link("set", index=_up(inner, cable), master=_index(inner, _BRIDGE))
        inner.route("replace", dst=network.pods(index), gateway=network.node(index))

    def at_node(inner: IPRoute) -> None:
        _up(inner, "lo")
        inner.addr("add", index=_up(inner, _NODE_LINK), address=network.node(index), prefixlen=24)
        inner.route("add", dst="default", gateway=network.hub)

    _inside(hub, at_hub)
    _inside(node, at_node)


def unwire_node(hub: int, index: int) -> None:
    """Remove a node's cable from the bridge; the kernel may do so only some time after the node's last process ended."""
    _inside(hub, lambda inner: _delete(inner, f"node{index}"))


def set_cable(hub: int, index: int, state: str) -> None:
    """Plug a node's cable in (`up`) or out (`down`) at the bridge; its addresses and routes stay."""
    _inside(hub, lambda inner: inner.link("set", index=_index(inner, f"node{index}"), state=state))


def remove_host_link(name: str, *, alias: str) -> None:
    """Remove the host's end of a cable if it exists and carries our alias."""
    with IPRoute() as host:
        for link in host.get_links(ifname=name):
            if link.get_attr("IFLA_IFALIAS") == alias:
                _delete(host, name)


def _make_bridge(inner: IPRoute, network: Network) -> None:
    _up(inner, "lo")
    inner.link("add", ifname=_BRIDGE, kind="bridge", address=_BRIDGE_MAC)
    bridge = _up(inner, _BRIDGE)
    inner.addr("add", index=bridge, address=network.hub, prefixlen=24)
    inner.link("set", index=_up(inner, _UPLINK), master=bridge)


def _inside(holder: int, work: Callable[[IPRoute], None]) -> None:
    """Do netlink work in a holder's network namespace.

    A thread of its own enters the namespace and ends there. pyroute2's own way forks, and a fork of a process with
    threads may never wake up.
    """

    def enter_and_work() -> None:
        with Path(f"/proc/{holder}/ns/net").open("rb") as namespace:
            if _LIBC.setns(namespace.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        with IPRoute() as netlink:
            work(netlink)

    _in_thread(enter_and_work)


def _in_thread(work: Callable[[], T]) -> T:
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(work).result()


def _index(netlink: IPRoute, name: str) -> int:
    found: int = netlink.link_lookup(ifname=name)[0]
    return found


def _up(netlink: IPRoute, name: str) -> int:
    index = _index(netlink, name)
    netlink.link("set", index=index, state="up")
    return index


def _delete(netlink: IPRoute, name: str) -> None:
    """Delete a link if it is there; the kernel may take it between the two requests."""
    for index in netlink.link_lookup(ifname=name):
        try:
            netlink.link("del", index=index)
        except NetlinkError as error:
            if error.code != errno.ENODEV:
                raise
