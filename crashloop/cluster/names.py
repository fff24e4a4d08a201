"""Allowed names of clusters and nodes, for every provider. Pure."""

import re

from crashloop.cluster.provider import ClusterRequest
from crashloop.errors import UsageError

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A label of RFC 1123."""


def check_names(request: ClusterRequest, *, most_nodes: int) -> None:
    """Raise UsageError for invalid names or too many nodes."""
    subject = f"cluster {request.name!r}"
    if not _NAME.fullmatch(request.name):
        raise UsageError(f"{subject}: a name has lower-case letters, digits and dashes, at most 63.")
    names = [node.name for node in request.nodes]
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{subject}: node {name!r}: a name has lower-case letters, digits and dashes, at most 63.")
        if names.count(name) > 1:
            raise UsageError(f"{subject}: node {name!r} is requested twice.")
    if len(names) > most_nodes:
        raise UsageError(f"{subject}: {len(names)} nodes are requested, at most {most_nodes} fit.")
