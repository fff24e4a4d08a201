"""Providers by name."""

from typing import Protocol

from crashloop.cluster.ownership import ClusterStore, StateFolder
from crashloop.cluster.provider import Cluster, Provider
from crashloop.errors import UsageError


class OwningProvider(Provider, Protocol):
    """A provider that makes clusters on this host, as opposed to one that lends what exists."""

    def attach(self, name: str) -> Cluster:
        """A handle on a cluster that is up and that nobody owns; its owner from now on. Raises UsageError."""

    def remove_parts(self, state: StateFolder) -> None:
        """Remove everything that a cluster has put on the host, its state folder apart. Its owner may be gone."""


def provider(name: str) -> Provider:
    """The provider of that name. Raises UsageError naming those that there are."""
    if name == "local":
        from crashloop.cluster.local.provider import LocalProvider

        return LocalProvider()
    raise UsageError(f"provider {name!r}: there is none of that name; there are: {', '.join(PROVIDERS)}.")


def owning_provider(name: str, store: ClusterStore | None = None) -> OwningProvider:
    """The provider that made a cluster on this host."""
    if name == "local":
        from crashloop.cluster.local.provider import LocalProvider

        return LocalProvider(store=store)
    raise UsageError(f"provider {name!r}: it owns no clusters on this host.")


PROVIDERS = ("local",)
