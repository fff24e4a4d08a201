"""Removes a local cluster from the host. It reads the cluster's ledger, so it works after the owner has ended.

The order matters: processes first, since they hold everything else. Namespaces with their mounts, virtual links and
routes disappear with the last process in them.
"""

from pathlib import Path

from crashloop.cluster.local import cgroups
from crashloop.cluster.local.ledger import Cgroup, HostLink, Ledger, Process
from crashloop.cluster.local.namespaces import remove_host_link
from crashloop.cluster.local.node import CGROUP_PARENT
from crashloop.cluster.local.plan import NodePlan
from crashloop.cluster.mounts import unmount_below
from crashloop.cluster.processes import is_alive, kill_until_gone, marked_processes


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
    cgroups.remove_if_empty(host, f"{CGROUP_PARENT}/{state.name}")
    cgroups.remove_if_empty(host, CGROUP_PARENT)
    unmount_below(state)


def remove_node(state: Path, plan: NodePlan) -> None:
    """Remove all processes of one node, its namespaces with them, and its cgroups."""
    host = cgroups.cgroup_host()

    def of_node() -> set[int]:
        return marked_processes(state, plan.name) | cgroups.processes(host, plan.cgroup)

    kill_until_gone(of_node, describe=f"processes of node {plan.name} to end")
    cgroups.remove(host, plan.cgroup)
