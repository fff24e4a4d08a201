"""The credential plug-in that a kubeconfig names: a program that prints a token or a client certificate.

Protocol: "client-go credential plugins" in the Kubernetes documentation (client.authentication.k8s.io/v1 and v1beta1).
"""

import json
import logging
import os
import select
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from crashloop.errors import UsageError
from crashloop.kube.credentials import Access, Headers, asks_plugin, base64_of, bearer, present, static_access
from crashloop.kube.kubeconfig import Entry, Named, read_context
from crashloop.words import in_words
from crashloop.yaml_text import Unreadable, read_yaml

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
    if not asks_plugin(named):
        return access
    plugin = _Plugin(named, access)
    plugin.headers()
    return access._replace(headers=plugin.headers)


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
            return bearer(self._named, self._current.token) if self._current.token else {}

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
        present(self._access.tls, self._named, {f"{name}-data": base64_of(text) for name, text in pair.items() if text})
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
