"""Errors of the Kubernetes API.

A message does not repeat a body that is not `kind: Status`: it may hold secrets.
"""

import msgspec

from crashloop.errors import ClusterError, UsageError

ANONYMOUS = "system:anonymous"
"""The API server's user for requests without credentials."""


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
