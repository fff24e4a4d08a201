"""Binaries of a cluster: the user's own, the cache's, official releases, Go builds."""

from crashloop.cluster.binaries.binary_set import BinarySet
from crashloop.cluster.binaries.components import Source
from crashloop.cluster.binaries.ensure import (
    check_kubelet,
    ensure_binaries,
    ensure_busybox,
    ensure_kind,
    ensure_kubelet,
)

__all__ = ["BinarySet", "Source", "check_kubelet", "ensure_binaries", "ensure_busybox", "ensure_kind", "ensure_kubelet"]
