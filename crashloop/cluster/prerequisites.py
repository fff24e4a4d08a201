"""What every provider on this host needs, and how it reports what is missing."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from crashloop.errors import PrerequisiteError

MIB = 1 << 20
CONTROL_PLANE_MEMORY = 600 * MIB
NODE_MEMORY = 190 * MIB
"""Measured: kubelet 130 MB, containerd 56 MB; etcd, API server, controller manager and scheduler 570 MB."""
SYSTEMD_MEMORY = 30 * MIB
"""Measured: systemd, journald and a follower of the journal, in a node that has them."""


class Problem(NamedTuple):
    """A missing prerequisite and its remedy."""

    subject: str
    text: str


def memory_problems(available: int, *, nodes: int, of_each: int = NODE_MEMORY) -> Iterator[Problem]:
    """A problem if a control plane and so many nodes need more than the `available` bytes. Pure."""
    needed = CONTROL_PLANE_MEMORY + nodes * of_each
    if available < needed:
        text = f"{available // MIB} MiB are available, {needed // MIB} MiB are needed: end other programs."
        yield Problem("memory", text)


def require_none(problems: Iterable[Problem], *, failure: str, alternative: str) -> None:
    """Raise one PrerequisiteError that lists every problem, between the failure and what else could be used."""
    rows = "\n".join(f"- {problem.subject}: {problem.text}" for problem in problems)
    if rows:
        raise PrerequisiteError(f"{failure}\n{rows}\n{alternative}")
