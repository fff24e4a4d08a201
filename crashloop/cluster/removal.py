"""Removes clusters of any provider: by name, all, or those whose owner is gone.

A state folder holds everything a removal needs, so removal uses the provider's teardown function, never the provider.
"""

import logging
from collections.abc import Callable
from pathlib import Path

from crashloop.cluster.kind import teardown as kind
from crashloop.cluster.local import teardown as local
from crashloop.cluster.ownership import ClusterStore, OutOfReach, StateFolder
from crashloop.errors import UsageError

log = logging.getLogger(__name__)

TEARDOWNS: dict[str, Callable[[Path], None]] = {"local": local.remove_cluster, "kind": kind.remove_what_is_left}
"""Provider's name in cluster.json -> removal of everything but the state folder."""


def reap(store: ClusterStore | None = None) -> tuple[str, ...]:
    """Remove the clusters whose owner is gone, unless they are kept; their names."""
    store = store or ClusterStore()
    with store.locked():
        orphans = [state for state in store.folders() if not state.kept and state.take()]
    removed = []
    for state in orphans:
        try:
            _remove(state, store)
        except OutOfReach as error:
            log.warning("%s", error)
            state.release()
        else:
            removed.append(state.path.name)
    return tuple(removed)


def remove(name: str, store: ClusterStore | None = None, *, force: bool = False) -> None:
    """Remove a cluster, kept or not. Raises UsageError if it is unknown or, without `force`, in use."""
    store = store or ClusterStore()
    state = store.find(name)
    if not state.take() and not force:
        facts = state.facts()
        owner = f" by process {facts.owner_pid}" if facts else ""
        raise UsageError(f"cluster {name!r}: it is in use{owner}.\nEnd that run first, or add --force.")
    _remove(state, store)


def remove_all(store: ClusterStore | None = None, *, force: bool = False) -> tuple[str, ...]:
    """Remove every cluster; their names. Raises UsageError before anything is removed if one is in use, without `force`."""
    store = store or ClusterStore()
    in_use = [state.path.name for state in store.folders() if state.owned_elsewhere]
    if in_use and not force:
        raise UsageError(f"clusters in use: {', '.join(in_use)}.\nEnd those runs first, or add --force.")
    names = tuple(state.path.name for state in store.folders())
    for name in names:
        remove(name, store, force=force)
    return names


def _remove(state: StateFolder, store: ClusterStore) -> None:
    facts = state.facts()
    if facts is not None:
        TEARDOWNS[facts.provider](state.path)
    store.delete(state)
