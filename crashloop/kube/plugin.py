"""Credential plug-ins of a kubeconfig: a program that prints a token or a client certificate.

Protocol: "client-go credential plugins" in the Kubernetes documentation (client.authentication.k8s.io/v1 and v1beta1).
"""

import base64
import json
import logging
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import msgspec

from crashloop.errors import UsageError
from crashloop.kube.credentials import Access, Headers, bearer, present, static_access
from crashloop.kube.kubeconfig import Entry, Named, read_context

EXEC_INFO = "KUBERNETES_EXEC_INFO"
VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
ANSWERS_WITHIN_S = 120.0
"""A plug-in may open a browser for a person to log in."""
EARLY = timedelta(seconds=30)
"""How long before its expiry a credential is replaced: a request takes time."""
ASKED_AGAIN = timedelta(seconds=10)
"""How long a plug-in that failed is left alone."""

log = logging.getLogger(__name__)


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _Credential(msgspec.Struct):
    status: _Status


def read_access(kubeconfig: str, context: str | None = None) -> Access:
    """How to reach the API server of a kubeconfig, plug-ins included.

    Raises UsageError if a file, the context, or the plug-in cannot be used; the plug-in runs once.
    """
    named = read_context(kubeconfig, context)
    access = static_access(named)
    if not named.user.get("exec"):
        return access
    plugin = _Plugin(named, access)
    plugin.headers()
    return access._replace(headers=plugin.headers)


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
            return bearer(self._current.token) if self._current.token else {}

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
        added = {each["name"]: each["value"] for each in spec.get("env") or ()}
        try:
            done = subprocess.run(
                [command, *map(str, spec.get("args") or ())],
                env={**os.environ, **added, EXEC_INFO: self._info(spec)},
                stdin=None if sys.stdin is not None and sys.stdin.isatty() else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                timeout=ANSWERS_WITHIN_S,
                check=False,
            )
        except FileNotFoundError as error:
            hint = spec.get("installHint") or "Install it, or name a kubeconfig without one."
            raise UsageError(f"{subject} is not installed.\n{hint.strip()}") from error
        except OSError as error:
            raise UsageError(f"{subject} cannot be started ({error.strerror}).") from error
        except subprocess.TimeoutExpired as error:
            raise UsageError(f"{subject} gave no answer within {ANSWERS_WITHIN_S:g} s.") from error
        if done.returncode != 0:
            raise UsageError(f"{subject} ended with exit code {done.returncode}; its own message stands above.")
        try:
            status = msgspec.json.decode(done.stdout, type=_Credential).status
        except msgspec.MsgspecError as error:
            raise UsageError(f"{subject} printed no ExecCredential ({error}).") from error
        if not (status.token or status.client_certificate_data):
            raise UsageError(f"{subject} printed neither a token nor a client certificate.")
        return status

    def _info(self, spec: Entry) -> str:
        """The ExecCredential that the plug-in reads from its environment."""
        interactive = sys.stdin is not None and sys.stdin.isatty()
        info: Entry = {"interactive": interactive and spec.get("interactiveMode") != "Never"}
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


def _is_over(status: _Status) -> bool:
    return status.expiration_timestamp is not None and datetime.now(UTC) > status.expiration_timestamp - EARLY


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
