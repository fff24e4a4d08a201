"""A control plane that one scenario has for itself, and the components of it that can be stopped."""

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
