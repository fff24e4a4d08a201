"""What a client shows to an API server: TLS settings and headers, from a kubeconfig."""

import base64
import re
import ssl
import tempfile
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from crashloop.errors import UsageError
from crashloop.kube.kubeconfig import DIRECT, Entry, Named
from crashloop.yaml_text import Unreadable, text_of

Headers = dict[str, str]

_PROXIES = ("http", "https", "socks5")
_TOKEN = "!#$&'*+^`|"
"""Beside letters, digits, `-`, `.`, `_` and `~`, what a header's name may hold (RFC 9110); `%` escapes the rest."""


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
    impersonation: tuple[tuple[str, str], ...] = ()
    """Names and values of the headers Impersonate-*; a name may stand twice."""
    is_direct: bool = False
    """Whether the environment's proxy is left aside."""
    namespace: str = "default"
    """The context's."""

    @property
    def verifies(self) -> bool:
        """Whether the server's certificate is verified."""
        return self.tls.verify_mode is ssl.CERT_REQUIRED


def static_access(named: Named) -> Access:
    """Access without a plug-in. Raises UsageError for a file or a value that cannot be used.

    Without TLS the user's credentials stay at home (ClientConfig of k8s.io/client-go/tools/clientcmd), but for those in
    the address.
    """
    proxy = named.cluster.get("proxy-url") or None
    if proxy and urlsplit(str(proxy)).scheme not in _PROXIES:
        raise UsageError(f"kubeconfig {named.source}: proxy-url {proxy!r}; expected {', '.join(_PROXIES)}.")
    address = urlsplit(named.cluster["server"])
    access = Access(
        server=address._replace(netloc=address.netloc.rpartition("@")[2]).geturl().rstrip("/"),
        tls=_tls(named) if _has_tls(named) else client_tls(None),
        server_name=named.cluster.get("tls-server-name"),
        proxy=proxy,
        headers=_login(named) or (_headers(named) if _has_tls(named) else dict),
        impersonation=tuple(_impersonation(named)),
        is_direct=DIRECT in (named.cluster.get("extensions") or ()),
        namespace=named.namespace,
    )
    if _has_tls(named):
        present(access.tls, named, named.user)
    return access


def _has_tls(named: Named) -> bool:
    return urlsplit(named.cluster["server"]).scheme == "https"


def _impersonation(named: Named) -> Iterator[tuple[str, str]]:
    """The headers of `as`, `as-uid`, `as-groups` and `as-user-extra`. Raises UsageError for what no header can carry.

    Source: impersonatingRoundTripper of k8s.io/client-go/transport.
    """
    who, uid, groups, extra = (named.user.get(field) for field in ("as", "as-uid", "as-groups", "as-user-extra"))
    if not who:
        if uid or groups or extra:
            raise UsageError(
                f"kubeconfig {named.source}: it impersonates a uid, groups or user-extra, but no user (as)."
            )
        return
    yield "Impersonate-User", _header_value(named, "as", who)
    if uid:
        yield "Impersonate-Uid", _header_value(named, "as-uid", uid)
    for group in groups or ():
        yield "Impersonate-Group", _header_value(named, "as-groups", group)
    for key, values in (extra or {}).items():
        for value in values or ():
            yield f"Impersonate-Extra-{quote(str(key), safe=_TOKEN)}", _header_value(named, "as-user-extra", value)


def _header_value(named: Named, field: str, value: object) -> str:
    if not isinstance(value, str) or not value.replace("\t", " ").isprintable():
        raise UsageError(f"kubeconfig {named.source}: {field} {value!r} is no text that a header can carry.")
    return value.encode().decode("latin-1")  # HTTP sends bytes, and http.client takes each character for one


def present(tls: ssl.SSLContext, named: Named, holder: Entry) -> None:
    """Load a client certificate, if there is one; OpenSSL needs a file, which is removed at once."""
    certificate, key = _content(named, holder, "client-certificate"), _content(named, holder, "client-key")
    if certificate is None:
        return
    if key is None:
        raise UsageError(f"kubeconfig {named.source}: the user has a client certificate, but no client-key.")
    if b"CERTIFICATE-----" not in certificate:  # OpenSSL would find it in the key's file
        raise UsageError(f"kubeconfig {named.source}: the client certificate cannot be used (it has no certificate).")
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        try:
            tls.load_cert_chain(file.name)
        except ssl.SSLError as error:
            raise UsageError(f"kubeconfig {named.source}: the client certificate cannot be used ({error}).") from error


def bearer(named: Named, token: str) -> Headers:
    """The header of a token. Raises UsageError for one that no header can carry, and does not show it."""
    if not token.isprintable():
        raise UsageError(
            f"kubeconfig {named.source}: its user's token has a sign that no header can carry, such as a line feed."
        )
    return {"Authorization": f"Bearer {_header_value(named, 'token', token)}"}


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
    if authority is not None and named.cluster.get("insecure-skip-tls-verify"):
        raise UsageError(
            f"kubeconfig {named.source}: a certificate authority beside insecure-skip-tls-verify; remove one."
        )
    try:
        tls = client_tls(None if authority is None else authority.decode())
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise UsageError(f"kubeconfig {named.source}: its certificate authority cannot be used ({error}).") from error
    if named.cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    return tls


def _login(named: Named) -> Callable[[], Headers] | None:
    """Name and password in the server's address, which come before all others (Client.send of Go's net/http)."""
    address = urlsplit(named.cluster["server"])
    if address.username is None:
        return None
    return lambda: _basic(unquote(address.username or ""), unquote(address.password or ""))


def _basic(name: str, password: str) -> Headers:
    return {"Authorization": f"Basic {base64_of(f'{name}:{password}')}"}


def _token_in_file(named: Named) -> str:
    """The file changes as tokens expire; while it has none, the token beside it is used (k8s.io/client-go/transport)."""
    beside: str = named.user.get("token") or ""
    try:
        return _read(named, named.user["tokenFile"]).decode().strip() or beside
    except UsageError:
        if not beside:
            raise
        return beside


def _headers(named: Named) -> Callable[[], Headers]:
    user = named.user
    if (user.get("token") or user.get("tokenFile")) and (user.get("username") or user.get("password")):
        raise UsageError(f"kubeconfig {named.source}: its user has a token and a password; remove one of them.")
    if user.get("auth-provider"):
        raise UsageError(
            f"kubeconfig {named.source}: its user has an auth-provider, which Kubernetes 1.26 removed.\n"
            "Make a kubeconfig with a credential plug-in (exec) or a token."
        )
    if user.get("tokenFile"):
        if not user.get("token") and not _read(named, user["tokenFile"]).strip():
            raise UsageError(f"kubeconfig {named.source}: {user['tokenFile']} is empty; a token was expected.")
        return lambda: bearer(named, _token_in_file(named))
    if user.get("token"):
        header = bearer(named, user["token"])
        return lambda: header
    if user.get("username"):
        return lambda: _basic(user["username"], user.get("password") or "")
    return dict


def _content(named: Named, holder: Entry, field: str) -> bytes | None:
    """The value in the file or beside it."""
    data = holder.get(f"{field}-data")
    if data:
        try:
            return base64.b64decode(re.sub(r"[\r\n]", "", str(data)), validate=True)  # as Go: lines may be folded
        except ValueError as error:
            raise UsageError(f"kubeconfig {named.source}: {field}-data is not base64 ({error}).") from error
    return _read(named, holder[field]) if holder.get(field) else None


def _read(named: Named, path: str) -> bytes:
    try:
        return text_of(path).encode()
    except Unreadable as error:
        raise UsageError(f"kubeconfig {named.source}: {path} cannot be read ({error}).") from error


_BEFORE_A_PLUGIN = ("token", "tokenFile", "username", "client-certificate", "client-certificate-data")
"""Credentials beside which kubectl asks no plug-in (k8s.io/client-go/plugin/pkg/client/auth/exec RoundTrip)."""


def asks_plugin(named: Named) -> bool:
    """Whether its credential plug-in is to be asked: the server has TLS, and no other credential comes first."""
    first = bool(_login(named)) or any(map(named.user.get, _BEFORE_A_PLUGIN))
    return bool(named.user.get("exec")) and _has_tls(named) and not first


def base64_of(text: str) -> str:
    """As credentials are written in headers and kubeconfigs."""
    return base64.b64encode(text.encode()).decode()
