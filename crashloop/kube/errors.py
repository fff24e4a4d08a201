"""What the Kubernetes API may answer instead of an object.

A body that is not `kind: Status` is not repeated in a message: it may hold secrets.
"""

import msgspec

from crashloop.errors import ClusterError


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
    """The API server answered, but not with what was asked for."""

    def __init__(self, doing: str, code: int, reason: str, message: str, causes: tuple[FieldCause, ...]) -> None:
        super().__init__(f"{doing}: the API server answered {code} {reason}.\n{message}".rstrip())
        self.code = code
        """HTTP status."""
        self.reason = reason
        """`Status.reason`, such as AlreadyExists, NotFound, Invalid; or the HTTP reason."""
        self.message = message
        self.causes = causes


class ResourceVersionGone(ApiRefusal):
    """410 Gone: the resource version is older than what the API server remembers; list again."""


class _Details(msgspec.Struct):
    causes: tuple[FieldCause, ...] = ()


class _Status(msgspec.Struct, tag_field="kind", tag="Status"):
    code: int | None = None
    reason: str = ""
    message: str = ""
    details: _Details | None = None


def refusal(doing: str, code: int, http_reason: str | None, body: bytes) -> ApiRefusal:
    """The error for an answer that is none of 2xx, or for the object of a watch event of type ERROR."""
    try:
        status = msgspec.json.decode(body, type=_Status)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        status = _Status(reason=http_reason or "")
    code = status.code or code
    kind = ResourceVersionGone if code == 410 else ApiRefusal
    causes = status.details.causes if status.details else ()
    return kind(doing, code, status.reason or http_reason or "", status.message, causes)
