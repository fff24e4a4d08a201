"""An answer of the API server: open, as it is read, and as a value; where it keeps objects; and its errors.

A message does not repeat a body that is not `kind: Status`: it may hold secrets.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TypeVar
from urllib.parse import quote

import msgspec
import urllib3

from crashloop.errors import ClusterError, UsageError

ANONYMOUS = "system:anonymous"
"""The API server's user for requests without credentials."""


Decoded = TypeVar("Decoded")


class FieldCause(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `Status.details.causes`."""

    reason: str = ""
    message: str = ""
    field: str = ""


class KubeError(ClusterError):
    """Base of the errors below; never raised itself."""


class ApiUnreachable(KubeError):
    """The API server did not answer, or the connection broke."""


class ApiRefusal(KubeError):
    """The API server answered with an error."""

    def __init__(self, text: str, code: int, reason: str, message: str, causes: tuple[FieldCause, ...]) -> None:
        super().__init__(text)
        self.code = code
        """HTTP status."""
        self.reason = reason
        """`Status.reason`, such as AlreadyExists, NotFound, Invalid; or the HTTP reason."""
        self.message = message
        self.causes = causes


class ResourceVersionGone(ApiRefusal):
    """410 Gone: the API server no longer has the resource version; list again."""


class CredentialsRefused(ApiRefusal, UsageError):
    """The user is not known: 401, or 403 without credentials, as when a plugin of the kubeconfig fails."""


def decoded(doing: str, body: bytes, kind: type[Decoded]) -> Decoded:
    """Raises ApiUnreachable for what no API server sends, such as the page of a proxy; it may be secret and is not repeated."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError as error:
        raise ApiUnreachable(f"{doing}: what answered is not an API server ({error}).") from error


class _Details(msgspec.Struct):
    causes: tuple[FieldCause, ...] = ()


class _Status(msgspec.Struct, tag_field="kind", tag="Status"):
    code: int | None = None
    reason: str = ""
    message: str = ""
    details: _Details | None = None


def refusal(doing: str, code: int, http_reason: str | None, body: bytes) -> ApiRefusal:
    """The error for an answer other than 2xx, or for the object of a watch event of type ERROR."""
    try:
        status = msgspec.json.decode(body, type=_Status)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        status = _Status(reason=http_reason or "")
    code = status.code or code
    kind = ResourceVersionGone if code == 410 else ApiRefusal
    reason, causes = status.reason or http_reason or "", status.details.causes if status.details else ()
    text = f"{doing}: the API server answered {code} {reason}.\n{status.message}".rstrip()
    return kind(text, code, reason, status.message, causes)


def about_credentials(refused: ApiRefusal, kubeconfig: str) -> ApiRefusal:
    """The same refusal, as CredentialsRefused if it concerns the credentials. `kubeconfig`: the file, and its named context."""
    is_anonymous = refused.code == 403 and ANONYMOUS in refused.message
    if refused.code != 401 and not is_anonymous:
        return refused
    text = (
        f"kubeconfig {kubeconfig}: the API server does not accept the credentials "
        f"({refused.code} {refused.reason}{', as if none were shown' if is_anonymous else ''}); they may have expired.\n"
        "Log in to the cluster again, or name another kubeconfig with --kubeconfig."
    )
    return CredentialsRefused(text, refused.code, refused.reason, refused.message, refused.causes)


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


def unreachable(doing: str, error: Exception) -> ApiUnreachable:
    return ApiUnreachable(f"{doing}: no answer from the API server ({type(error).__name__}: {error}).")


def body_of(doing: str, response: urllib3.BaseHTTPResponse) -> bytes:
    """All of an open answer. Raises ApiUnreachable when the connection breaks."""
    try:
        return bytes(response.data)
    except urllib3.exceptions.HTTPError as error:
        raise unreachable(doing, error) from error


def hang_up(connection: urllib3.BaseHTTPResponse) -> None:
    """End the reading of an open answer, from any thread; one that ends by itself in this moment needs nothing.

    Source of the exceptions: urllib3.response.HTTPResponse.shutdown, of an answer that is closed, released, or being closed.
    """
    with suppress(ValueError, RuntimeError, OSError):
        connection.shutdown()


def lines(response: urllib3.BaseHTTPResponse, *, doing: str = "read the watch") -> Iterator[bytes]:
    """The lines of an open answer, as soon as they are complete. Raises ApiUnreachable when the connection breaks."""
    rest = b""
    try:
        for chunk in response.stream(1 << 16):
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
    except urllib3.exceptions.HTTPError as error:
        raise unreachable(doing, error) from error
    finally:
        response.close()
    if rest:
        raise ApiUnreachable(f"{doing}: it ended within an event, after {len(rest)} bytes.")


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
