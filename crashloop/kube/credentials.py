"""What a client shows to an API server: TLS settings and headers, from a kubeconfig or from the credential plug-in that it names.

Protocol: "client-go credential plugins" in the Kubernetes documentation (client.authentication.k8s.io/v1 and v1beta1).
"""

import base64
import json
import logging
import os
import re
import select
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, NamedTuple
from urllib.parse import quote, unquote, urlsplit

import msgspec

from crashloop.errors import UsageError
from crashloop.kube.kubeconfig import DIRECT, Entry, Named, read_context
from crashloop.words import in_words
from crashloop.yaml_text import Unreadable, read_yaml, text_of

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


def _bearer(named: Named, token: str) -> Headers:
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
    return {"Authorization": f"Basic {_base64(f'{name}:{password}')}"}


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
        return lambda: _bearer(named, _token_in_file(named))
    if user.get("token"):
        header = _bearer(named, user["token"])
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


EXEC_INFO = "KUBERNETES_EXEC_INFO"
VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
ANSWERS_WITHIN_S = 120.0
"""A plug-in may open a browser for a person to log in."""
TOLD_AFTER_S = 5.0
"""A person who waits for a plug-in wants to know it."""
MOST_BYTES = 1024 * 1024
"""No credential is longer."""
EARLY = timedelta(seconds=30)
"""How long before its expiry a credential is replaced: a request takes time."""
ASKED_AGAIN = timedelta(seconds=10)
"""How long a plug-in that failed is left alone."""

log = logging.getLogger(__name__)


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _Credential(msgspec.Struct, rename="camel"):
    status: _Status
    api_version: str | None = None
    kind: str | None = None


def read_access(kubeconfig: str, context: str | None = None) -> Access:
    """How to reach the API server of a kubeconfig, plug-ins included.

    Raises UsageError if a file, the context, or the plug-in cannot be used; the plug-in runs once.
    """
    named = read_context(kubeconfig, context)
    access = static_access(named)
    if not named.user.get("exec") or not _has_tls(named) or _login(named) or any(map(named.user.get, _BEFORE_A_PLUGIN)):
        return access
    plugin = _Plugin(named, access)
    plugin.headers()
    return access._replace(headers=plugin.headers)


_BEFORE_A_PLUGIN = ("token", "tokenFile", "username", "client-certificate", "client-certificate-data")
"""Credentials beside which kubectl asks no plug-in (k8s.io/client-go/plugin/pkg/client/auth/exec RoundTrip)."""
_MODES = ("Never", "IfAvailable", "Always")


class _Plugin:
    """Runs the program when there is no credential, or its time is over. Thread-safe.

    If it fails later on, the credential before goes on being used: the API server decides what it is still worth.
    """

    def __init__(self, named: Named, access: Access) -> None:
        self._named = named
        self._access = access
        self._lock = threading.Lock()
        self._current: _Status | None = None
        self._failed: datetime | None = None

    def headers(self) -> Headers:
        """Raises UsageError if the plug-in has never given a credential."""
        with self._lock:
            if self._current is None:
                self._current = self._renewed()
            elif _is_over(self._current) and not self._has_just_failed():
                self._current = self._renewed_or(self._current)
            return _bearer(self._named, self._current.token) if self._current.token else {}

    def _renewed_or(self, before: _Status) -> _Status:
        try:
            return self._renewed()
        except UsageError as error:
            log.warning("%s The credential before it goes on being used.", error)
            self._failed = datetime.now(UTC)
            return before

    def _has_just_failed(self) -> bool:
        return self._failed is not None and datetime.now(UTC) < self._failed + ASKED_AGAIN

    def _renewed(self) -> _Status:
        found = self._ask()
        pair = {"client-certificate": found.client_certificate_data, "client-key": found.client_key_data}
        present(self._access.tls, self._named, {f"{name}-data": _base64(text) for name, text in pair.items() if text})
        return found

    def _ask(self) -> _Status:
        spec: Entry = self._named.user["exec"]
        command, version = spec["command"], spec.get("apiVersion")
        subject = f"kubeconfig {self._named.source}: its credential plug-in {command!r}"
        if version not in VERSIONS:
            raise UsageError(f"{subject} has apiVersion {version!r}; expected one of {', '.join(VERSIONS)}.")
        if not command:
            raise UsageError(f"{subject} has no command.")
        mode = spec.get("interactiveMode") or ("IfAvailable" if version == VERSIONS[1] else None)
        if mode not in _MODES:
            raise UsageError(f"{subject} has interactiveMode {mode!r}; expected one of {', '.join(_MODES)}.")
        if mode == "Always" and not _has_terminal():
            raise UsageError(f"{subject} has to ask a person (interactiveMode Always), and there is no terminal.")
        added = {each["name"]: each.get("value") or "" for each in spec.get("env") or ()}
        try:
            done = _output(
                [command, *map(str, spec.get("args") or ())],
                env={**os.environ, **added, EXEC_INFO: self._info(spec)},
                subject=subject,
            )
        except FileNotFoundError as error:
            hint = spec.get("installHint") or "Install it, or name a kubeconfig without one."
            raise UsageError(f"{subject} is not installed.\n{hint.strip()}") from error
        except OSError as error:
            raise UsageError(f"{subject} cannot be started ({error.strerror}).") from error
        try:
            credential = msgspec.convert(read_yaml(done.decode(errors="replace")), _Credential)
        except (Unreadable, msgspec.ValidationError) as error:
            raise UsageError(f"{subject} printed no ExecCredential ({in_words(error)}).") from error
        if credential.kind not in (None, "ExecCredential"):
            raise UsageError(f"{subject} printed no ExecCredential ({credential.kind}).")
        if credential.api_version != version:
            raise UsageError(
                f"{subject} is to speak {version}, and it speaks {credential.api_version or 'no version'}."
            )
        status = credential.status
        if not (status.token or status.client_certificate_data):
            raise UsageError(f"{subject} printed neither a token nor a client certificate.")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise UsageError(f"{subject} printed one of a client certificate and its key, without the other.")
        return status

    def _info(self, spec: Entry) -> str:
        """The ExecCredential that the plug-in reads from its environment."""
        info: Entry = {"interactive": _has_terminal() and spec.get("interactiveMode") != "Never"}
        if spec.get("provideClusterInfo"):
            cluster = self._named.cluster
            info["cluster"] = {
                name: cluster[field]
                for name, field in (
                    ("server", "server"),
                    ("tls-server-name", "tls-server-name"),
                    ("insecure-skip-tls-verify", "insecure-skip-tls-verify"),
                    ("certificate-authority-data", "certificate-authority-data"),
                    ("proxy-url", "proxy-url"),
                )
                if cluster.get(field)
            }
        return json.dumps({"apiVersion": spec["apiVersion"], "kind": "ExecCredential", "spec": info})


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _output(command: list[str], *, env: dict[str, str], subject: str) -> bytes:
    """What a plug-in prints. Raises UsageError for one that fails, is silent for too long, or never ends; and OSError."""
    stdin = None if _has_terminal() else subprocess.DEVNULL
    with subprocess.Popen(command, env=env, stdin=stdin, stdout=subprocess.PIPE, bufsize=0) as plugin:
        try:
            printed = _until_its_end(plugin, subject)
            code = plugin.wait(ANSWERS_WITHIN_S)
        finally:
            plugin.kill()
    if code != 0:
        raise UsageError(f"{subject} ended with exit code {code}; its own message stands above.")
    return printed


def _until_its_end(plugin: "subprocess.Popen[bytes]", subject: str) -> bytes:
    """A program that it has started may keep the pipe open after it, so a deadline ends the reading."""
    pipe, printed, began_s, is_told = plugin.stdout, b"", time.monotonic(), False
    while pipe is not None and len(printed) < MOST_BYTES:
        if select.select([pipe], [], [], 1.0)[0]:
            chunk = pipe.read(MOST_BYTES)
            if not chunk:
                return printed
            printed += chunk
        waited_s = time.monotonic() - began_s
        if waited_s > ANSWERS_WITHIN_S:
            raise UsageError(f"{subject} gave no answer within {ANSWERS_WITHIN_S:g} s.")
        if waited_s > TOLD_AFTER_S and not is_told:
            is_told = True
            log.warning("%s has not answered yet.", subject)
    raise UsageError(f"{subject} printed no ExecCredential (more than {MOST_BYTES // 1024} KiB).")


def _is_over(status: _Status) -> bool:
    return status.expiration_timestamp is not None and datetime.now(UTC) > status.expiration_timestamp - EARLY


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
