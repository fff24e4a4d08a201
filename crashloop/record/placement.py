"""Assigns nodes of the cluster to nodes of the plan. Pure."""

from collections.abc import Iterable

from crashloop.cluster.provider import Node
from crashloop.errors import ClusterError
from crashloop.spec.plan import PlannedNode


def match(planned: Iterable[PlannedNode], nodes: Iterable[Node]) -> dict[str, Node]:
    """A node for as many planned ones as possible: that of the same name, else one of the same profile that nobody has.

    A provider may be unable to choose the names of its nodes, and the nodes of a kept cluster have theirs.
    """
    wanted, present = list(planned), list(nodes)
    by_name = {node.name: node for node in present}
    placed = {each.name: by_name[each.name] for each in wanted if each.name in by_name}
    taken = {node.name for node in placed.values()}
    spare = [node for node in present if node.name not in taken]
    for each in wanted:
        fitting = next((node for node in spare if node.profile == each.profile), None)
        if each.name not in placed and fitting is not None:
            spare.remove(fitting)
            placed[each.name] = fitting
    return placed


def place(planned: Iterable[PlannedNode], nodes: Iterable[Node]) -> dict[str, Node]:
    """A node for every planned one. Raises ClusterError if one has none."""
    wanted, present = list(planned), list(nodes)
    placed = match(wanted, present)
    for each in wanted:
        if each.name not in placed:
            have = ", ".join(f"{node.name} ({node.profile})" for node in present) or "none"
            raise ClusterError(
                f"cluster: no node with profile {each.profile!r} is left for {each.name!r} of the plan.\n"
                f"Its nodes: {have}."
            )
    return placed
