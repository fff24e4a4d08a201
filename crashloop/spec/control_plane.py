"""The control plane that one scenario has for itself, its components that can be stopped, and requests to an API server.

API scenarios declare such requests, also without a control plane for themselves.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from crashloop.spec.profile import GATE_GROUPS


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


def component_flags(component: str, feature_gates: Mapping[str, bool]) -> dict[str, str]:
    """The flags of a component of the control plane for its gates, by name.

    An API server with all gates of a stage on also serves the API groups of that stage: its own controllers wait for them.
    """
    if not feature_gates:
        return {}
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in sorted(feature_gates.items()))
    serves_all = component == Component.API_SERVER and any(feature_gates.get(group) for group in GATE_GROUPS)
    return {"feature-gates": gates} | ({"runtime-config": "api/all=true"} if serves_all else {})


def controllers_of(control_planes: Iterable[ControlPlane | None]) -> tuple[str, ...]:
    """The versions of controllers that differ from their API server's, each once."""
    return tuple(sorted({each.controllers_version for each in control_planes if each and each.controllers_version}))


class Verb(StrEnum):
    """What a request does to an object of the API."""

    CREATE = "create"
    PATCH = "patch"
    """A strategic merge patch of the object of that name."""


class FieldValidation(StrEnum):
    """What the API server does about fields that it does not know; upstream's spelling."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


class ApiRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request to the API server about an object of the run's namespace."""

    verb: Verb = Verb.CREATE
    object: dict[str, Any]
    """The object, or what is to change in it, as it is sent: with kind and `metadata.name`."""
    subresource: str | None = None
    """Such as ephemeralcontainers."""
    field_validation: FieldValidation = FieldValidation.WARN
    """The API server's own default is Warn."""
    dry_run: bool = True
    """Whether the API server only says what it would do, and stores nothing."""
    as_user: str | None = None
    """A user without any role, for whom it is sent; None: the user of the run."""
    feature_gates: dict[str, bool] | None = None
    """Gates, on top of those of the control plane, with which the API server starts again before; None: it runs on."""

    @property
    def name(self) -> str:
        """Name of the object."""
        return str(self.object["metadata"]["name"])


def fault_of_requests(requests: Sequence[ApiRequest], *, has_own_server: bool) -> str | None:
    """What is wrong with the requests of a scenario, which may have an API server of its own."""
    if not requests:
        return "has no request"
    stored: set[str] = set()
    for each in requests:
        if not (each.object.get("metadata") or {}).get("name"):
            return f"has a request without metadata.name: {each.object}"
        if each.feature_gates is not None and not has_own_server:
            return "starts the API server again, so it needs a control plane for itself"
        if each.verb is Verb.PATCH and each.name not in stored:
            return f"changes {each.name!r}, which no request before has stored"
        if each.as_user is not None and not each.dry_run:
            return f"stores {each.name!r} for a user who may do nothing"
        node = (each.object.get("spec") or {}).get("nodeName")
        if node:
            return f"needs no node, but names {node!r}"
        stored |= {each.name} if each.verb is Verb.CREATE and not each.dry_run else set()
    return None
