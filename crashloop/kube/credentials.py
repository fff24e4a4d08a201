"""What a client shows to an API server: TLS settings and headers, from the cluster and the user of a kubeconfig."""

import base64
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from crashloop.errors import UsageError
from crashloop.kube.kubeconfig import Entry, Named

Headers = dict[str, str]


class Access(NamedTuple):
    """How to reach an API server."""

    server: str
    """Without a slash at its end."""
    tls: ssl.SSLContext
    server_name: str | None
    """The name in the server's certificate, if it is not that of the address."""
    proxy: str | None
    """From the kubeconfig (proxy-url)."""
    headers: Callable[[], Headers]
    """Headers of the next request. Raises UsageError if the credentials cannot be had."""

    @property
    def verifies(self) -> bool:
        """Whether the server's certificate is verified."""
        return self.tls.verify_mode is ssl.CERT_REQUIRED


def static_access(named: Named) -> Access:
    """Access without a plug-in. Raises UsageError for a file or a value that cannot be used."""
    tls = _tls(named)
    present(tls, named, named.user)
    return Access(
        server=named.cluster["server"].rstrip("/"),
        tls=tls,
        server_name=named.cluster.get("tls-server-name"),
        proxy=named.cluster.get("proxy-url"),
        headers=_headers(named),
    )


def present(tls: ssl.SSLContext, named: Named, holder: Entry) -> None:
    """Load a client certificate, if there is one; OpenSSL needs a file, which is removed at once."""
    certificate, key = _content(named, holder, "client-certificate"), _content(named, holder, "client-key")
    if certificate is None:
        return
    if key is None:
        raise UsageError(f"kubeconfig {named.source}: the user has a client certificate, but no client-key.")
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        try:
            tls.load_cert_chain(file.name)
        except ssl.SSLError as error:
            raise UsageError(f"kubeconfig {named.source}: the client certificate cannot be used ({error}).") from error


def bearer(token: str) -> Headers:
    """The header of a token."""
    return {"Authorization": f"Bearer {token}"}


def client_tls(authority: str | None) -> ssl.SSLContext:
    """TLS settings for a cluster that others may have made; `authority` is in PEM, None stands for the host's own ones.

    They verify as kubectl does (Go's crypto/x509), which accepts some of what RFC 5280 forbids: certificates of EKS have no
    Authority Key Identifier (issue 2394 of kubernetes-client/python), and Python 3.13 refuses them by default.
    """
    tls = ssl.create_default_context(cadata=authority)
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return tls


def _tls(named: Named) -> ssl.SSLContext:
    authority = _content(named, named.cluster, "certificate-authority")
    try:
        tls = client_tls(None if authority is None else authority.decode())
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise UsageError(f"kubeconfig {named.source}: its certificate authority cannot be used ({error}).") from error
    if named.cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    return tls


def _headers(named: Named) -> Callable[[], Headers]:
    user = named.user
    if user.get("tokenFile"):
        return lambda: bearer(_read(named, user["tokenFile"]).decode().strip())  # the file changes as tokens expire
    if user.get("token"):
        return lambda: bearer(str(user["token"]))
    if user.get("username"):
        plain = f"{user['username']}:{user.get('password', '')}".encode()
        return lambda: {"Authorization": f"Basic {base64.b64encode(plain).decode()}"}
    if user.get("auth-provider"):
        raise UsageError(
            f"kubeconfig {named.source}: its user has an auth-provider, which Kubernetes 1.26 removed.\n"
            "Make a kubeconfig with a credential plug-in (exec) or a token."
        )
    return dict


def _content(named: Named, holder: Entry, field: str) -> bytes | None:
    """The value in the file or beside it; data wins."""
    data = holder.get(f"{field}-data")
    if data:
        try:
            return base64.b64decode(str(data), validate=True)
        except ValueError as error:
            raise UsageError(f"kubeconfig {named.source}: {field}-data is not base64 ({error}).") from error
    return _read(named, holder[field]) if holder.get(field) else None


def _read(named: Named, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"kubeconfig {named.source}: {path} cannot be read ({error.strerror}).") from error
