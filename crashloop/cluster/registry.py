"""An image registry of the cluster's own: what it offers, and what it was asked for."""

from typing import Protocol

import msgspec


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What the registry answers about a repository."""

    version: int | None = None
    """The image that its only tag names, one of crashloop.spec.dependency.VERSIONS; None: every request is an error."""
    password: str | None = None
    """What it demands; None: nothing."""
    answers_after_s: float = 0.0
    """How long it takes for each answer."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the registry has answered."""

    t_ns: int
    """When it came, UTC nanoseconds of the host."""
    method: str
    what: str
    """manifests or blobs."""
    reference: str
    """Tag or digest."""
    status: int
    """Of the answer; HTTP."""
    password: str | None = None
    """What it was sent with."""
    answered_ns: int | None = None
    """When its answer began, by the same clock."""


class Registry(Protocol):
    """An image registry that the cluster's nodes pull from. Every method may raise ClusterError."""

    @property
    def address(self) -> str:
        """Host and port, as images name it."""

    def offer(self, repository: str, offer: Offer) -> None:
        """From now on answer so about a repository."""

    def requests(self, repository: str) -> tuple[Request, ...]:
        """All requests about it so far, in their order."""

    def forget(self, repository: str) -> None:
        """Drop it with its requests."""
