"""Access to the API server of a kubeconfig, without credential plug-ins.

crashloop.kube.client cannot be used here: it imports urllib3 before Locust patches its modules.
"""

import ssl
from pathlib import Path
from typing import NamedTuple

from crashloop.errors import UsageError
from crashloop.kube.credentials import static_access
from crashloop.kube.kubeconfig import read_context


class Credentials(NamedTuple):
    """Address without a slash at its end, TLS settings, and headers for each request."""

    server: str
    tls: ssl.SSLContext
    headers: dict[str, str]


def read_credentials(kubeconfig: Path, context: str | None = None) -> Credentials:
    """The credentials of a context. Raises UsageError if it cannot be used, or needs a plug-in."""
    named = read_context(str(kubeconfig), context)
    if named.user.get("exec"):
        raise UsageError(
            f"kubeconfig {named.source}: its user has a credential plug-in, and the load generator runs none.\n"
            "Make a token with `kubectl create token`."
        )
    access = static_access(named)
    return Credentials(access.server, access.tls, access.headers())
