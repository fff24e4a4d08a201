"""Removes a local cluster from the host by its ledger, so it works after the owner has ended.

The ledger lists the cluster's objects on the host, and is written before each object is made; a clean-up reads nothing else.
The order of removal matters: processes first, since they hold everything else. Namespaces with their mounts, virtual links and
routes disappear with the last process in them.
"""

from pathlib import Path

import msgspec

from crashloop.cluster.host_settings import unmount_below
from crashloop.cluster.local import cgroups
from crashloop.cluster.local.namespaces import remove_host_link
from crashloop.cluster.local.plan import NodePlan
from crashloop.cluster.processes import Daemon, is_alive, kill_until_gone, marked_processes


class HostLink(msgspec.Struct, frozen=True, kw_only=True, tag="link"):
    """The host's end of the cable to the hub; `alias` distinguishes it from another link of the same name."""

    name: str
    alias: str


class Cgroup(msgspec.Struct, frozen=True, kw_only=True, tag="cgroup"):
    """A cgroup in every hierarchy, with everything below it."""

    path: str


class Process(msgspec.Struct, frozen=True, kw_only=True, tag="process"):
    """A process of the cluster. Its children inherit the mark of the state folder (processes.STATE_MARK)."""

    role: str
    node: str
    daemon: Daemon


Thing = HostLink | Cgroup | Process


class Ledger:
    """An append-only file of JSON lines in the cluster's state folder."""

    def __init__(self, state: Path) -> None:
        self._path = state / "ledger.jsonl"

    def add(self, thing: Thing) -> None:
        """Write a line before the object is made. A process carries its mark from the start, and gets its line right after."""
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(thing) + b"\n")

    def things(self) -> list[Thing]:
        """All entries. A last line cut short by a kill belongs to an object that was never made."""
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            return []
        whole = raw[: raw.rfind(b"\n") + 1]
        return [msgspec.json.decode(line, type=Thing) for line in whole.splitlines()]

    def daemon(self, role: str, node: str) -> Daemon | None:
        """The newest process of a role."""
        for thing in reversed(self.things()):
            if isinstance(thing, Process) and (thing.role, thing.node) == (role, node):
                return thing.daemon
        return None


def remove_cluster(state: Path) -> None:
    """Remove all processes, virtual links, cgroups and mounts of a cluster. Raises ClusterError naming what remains."""
    things = Ledger(state).things()
    daemons = [thing.daemon for thing in things if isinstance(thing, Process)]
    paths = [thing.path for thing in things if isinstance(thing, Cgroup)]
    host = cgroups.cgroup_host()

    def ours() -> set[int]:
        alive = {daemon.pid for daemon in daemons if is_alive(daemon)}
        return alive.union(marked_processes(state), *(cgroups.processes(host, path) for path in paths))

    kill_until_gone(ours, describe=f"processes of cluster {state.name} to end")
    for thing in things:
        if isinstance(thing, HostLink):
            remove_host_link(thing.name, alias=thing.alias)
    for path in paths:
        cgroups.remove(host, path)
    cgroups.remove_if_empty(host, f"{cgroups.PARENT}/{state.name}")
    cgroups.leave(host)
    unmount_below(state)


def remove_node(state: Path, plan: NodePlan) -> None:
    """Remove all processes of one node, its namespaces with them, and its cgroups."""
    host = cgroups.cgroup_host()

    def of_node() -> set[int]:
        return marked_processes(state, plan.name) | cgroups.processes(host, plan.cgroup)

    kill_until_gone(of_node, describe=f"processes of node {plan.name} to end")
    cgroups.remove(host, plan.cgroup)
