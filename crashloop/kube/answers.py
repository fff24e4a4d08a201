"""An answer of the API server as a value, and where it keeps objects. Pure."""

import re
from collections.abc import Iterable
from urllib.parse import quote

import msgspec

from crashloop.kube.errors import FieldCause

_WARNING = re.compile(r'\s*299 \S+ "((?:[^"\\]|\\.)*)"')


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the API server answered to one request."""

    code: int
    """HTTP status."""
    reason: str = ""
    """`Status.reason` of a refusal, or the HTTP reason."""
    message: str = ""
    """`Status.message` of a refusal."""
    causes: tuple[FieldCause, ...] = ()
    """`Status.details.causes` of a refusal."""
    warnings: tuple[str, ...] = ()
    """Texts of the HTTP headers Warning."""
    body: bytes | None = None
    """The object as it was returned; None for a refusal."""


def warnings_of(headers: Iterable[str]) -> tuple[str, ...]:
    """The texts of Warning headers: code 299, an agent, a quoted text.

    Source: k8s.io/apimachinery/pkg/util/net/http.go@v0.37.1, NewWarningHeader.
    """
    return tuple(re.sub(r"\\(.)", r"\1", found[1]) for header in headers for found in _WARNING.finditer(header))


IN_NO_NAMESPACE = frozenset(("Node",))
"""Kinds of objects that belong to the cluster."""


def collection(namespace: str, api_version: str, kind: str) -> str:
    """Path of all objects of a kind, in a namespace unless the kind has none."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    place = root if kind in IN_NO_NAMESPACE else f"{root}/namespaces/{quote(namespace)}"
    return f"{place}/{resource_of(kind)}"


def resource_of(kind: str) -> str:
    """Name of a kind's resource, as upstream guesses it; true of every type that Kubernetes serves itself.

    Source: k8s.io/apimachinery/pkg/api/meta/restmapper.go@v0.37.1, UnsafeGuessKindToResource.
    """
    singular = kind.lower()
    if singular.endswith("endpoints"):
        return singular
    if singular.endswith("s"):
        return singular + "es"
    return singular.removesuffix("y") + "ies" if singular.endswith("y") else singular + "s"
