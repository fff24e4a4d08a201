"""Providers by name."""

from collections.abc import Callable, Iterable
from typing import Protocol

from crashloop.cluster.provider import Cluster, ClusterRequest, ExistingOptions, Progress, Provider, Survey
from crashloop.errors import UsageError


class OwningProvider(Provider, Protocol):
    """A provider that makes clusters on this host, as opposed to one that lends what exists."""

    def attach(self, name: str) -> Cluster:
        """A handle on a running cluster without an owner; this process owns it from now on. Raises UsageError."""

    def describe_plan(self, request: ClusterRequest, progress: Progress) -> str:
        """The plan of `up` as a text for people: files, arguments, addresses. Starts nothing."""


class LendingProvider(Provider, Protocol):
    """A provider that makes no clusters, and lends the unchanged nodes of an existing one."""

    def survey(self, options: ExistingOptions, loads: Iterable[str] = ()) -> Survey:
        """What the cluster has to offer; `loads` are the kinds of object that a stress run makes.

        Raises UsageError and PrerequisiteError, listing what stands in the way.
        """


def provider(name: str) -> Provider:
    """The provider of that name. Raises UsageError that lists the known names."""
    if name in _OWNING:
        return _OWNING[name]()
    if name in LENDING:
        return lending_provider(name)
    raise _unknown(name)


def owning_provider(name: str) -> OwningProvider:
    """The provider of that name if it makes clusters on this host. Raises UsageError otherwise."""
    if name in _OWNING:
        return _OWNING[name]()
    if name in LENDING:
        raise UsageError(f"provider {name!r}: it makes no clusters; only {', '.join(_OWNING)} do.")
    raise _unknown(name)


def lending_provider(name: str) -> LendingProvider:
    """The provider of that name if it lends an existing cluster. Raises UsageError if it makes clusters."""
    if name in LENDING:
        from crashloop.cluster.existing.provider import ExistingProvider

        return ExistingProvider()
    raise UsageError(f"provider {name!r}: it makes clusters; only {', '.join(LENDING)} uses one that exists.")


def _unknown(name: str) -> UsageError:
    return UsageError(f"provider {name!r}: unknown; known are {', '.join(PROVIDERS)}.")


def _local() -> OwningProvider:
    from crashloop.cluster.local.provider import LocalProvider

    return LocalProvider()


def _kind() -> OwningProvider:
    from crashloop.cluster.kind.provider import KindProvider

    return KindProvider()


_OWNING: dict[str, Callable[[], OwningProvider]] = {"local": _local, "kind": _kind}
LENDING = ("existing",)
PROVIDERS = (*_OWNING, *LENDING)
