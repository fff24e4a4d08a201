"""Crashing pods of a cluster, spread over its nodes: as evenly as possible, in whole pods. Pure."""

from typing import NamedTuple

from crashloop.errors import UsageError

FULL_NODE = 110
"""Pods of a full node: maxPods of a kubelet by default."""


class Spread(NamedTuple):
    """The nodes that have crashing pods, and how many each has."""

    nodes: int
    pods: int


def spread(crashing: int, nodes: int) -> Spread:
    """`crashing` pods on that many nodes. Nodes have equal numbers, so there are up to `pods - 1` pods more than named."""
    pods = -(-crashing // nodes)
    return Spread(nodes=-(-crashing // pods), pods=pods)


def crashing_pods(nodes: int, pods: int | None, *, share: str | None, number: int | None) -> int:
    """The crashing pods of a cluster: a share of all, a number, or all. Raises UsageError where these contradict each other."""
    if share is not None and number is not None:
        raise UsageError("--crashing and --crashing-pods: both name the crashing pods; expected one of them.")
    each = FULL_NODE if pods is None else pods
    if number is None:
        return nodes * each if share is None else max(1, round(share_of(share) * nodes * each))
    if pods is not None and number > nodes * pods:
        raise UsageError(f"--crashing-pods {number}: the cluster has {nodes} x {pods} pods (--nodes, --pods).")
    return number


def share_of(text: str) -> float:
    """The share of `10%` or `0.1`. Raises UsageError for another text, and outside 0 to 1."""
    number, percent, rest = text.strip().partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = 0.0
    if rest or not 0 < share <= 1:
        raise UsageError(f"--crashing {text!r}: expected a share of the pods above 0 % and up to 100 %, such as 10%.")
    return share
