"""A control plane that one scenario has for itself, and the components of it that can be stopped."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec


class Component(StrEnum):
    """A process of the control plane without which the API does not answer."""

    API_SERVER = "kube-apiserver"
    ETCD = "etcd"


class ControlPlane(msgspec.Struct, frozen=True, kw_only=True):
    """A control plane for one scenario, with its own node if the scenario needs one."""

    feature_gates: dict[str, bool] = {}
    """Gates that it is started with, beside those of the run."""
    controllers_version: str | None = None
    """Version of controller manager and scheduler, where they are older than the API server (version skew)."""


def controllers_of(control_planes: Iterable[ControlPlane | None]) -> tuple[str, ...]:
    """The versions of controllers that differ from their API server's, each once."""
    return tuple(sorted({each.controllers_version for each in control_planes if each and each.controllers_version}))
