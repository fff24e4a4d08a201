"""Access to the API server of a kubeconfig: address, authority, client certificate or token.

crashloop.kube cannot be used here: the Kubernetes client imports urllib3 before Locust patches its modules.
"""

import base64
import ssl
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from crashloop.errors import UsageError


class Credentials(NamedTuple):
    """Address without a slash at its end, TLS settings, and headers for each request."""

    server: str
    tls: ssl.SSLContext
    headers: dict[str, str]


def read_credentials(kubeconfig: Path, context: str | None = None) -> Credentials:
    """The credentials of a context. Raises UsageError if the file lacks a field, or needs a plug-in."""
    config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    named = _named(config, "contexts", context or config.get("current-context"), kubeconfig)["context"]
    cluster = _named(config, "clusters", named["cluster"], kubeconfig)["cluster"]
    user = _named(config, "users", named["user"], kubeconfig)["user"]
    tls = ssl.create_default_context(cadata=_authority(cluster, kubeconfig.parent))
    headers = {}
    if "client-certificate-data" in user or "client-certificate" in user:
        _present(tls, _content(user, "client-certificate", kubeconfig), _content(user, "client-key", kubeconfig))
    elif "token" in user:
        headers["Authorization"] = f"Bearer {user['token']}"
    elif "tokenFile" in user:
        headers["Authorization"] = f"Bearer {(kubeconfig.parent / user['tokenFile']).read_text().strip()}"
    else:
        raise UsageError(
            f"kubeconfig {kubeconfig}: user {named['user']!r} has neither a client certificate nor a token.\n"
            "The load generator runs no credential plug-ins; make a token with `kubectl create token`."
        )
    return Credentials(str(cluster["server"]).rstrip("/"), tls, headers)


def _named(config: dict[str, Any], section: str, name: object, kubeconfig: Path) -> dict[str, Any]:
    for each in config.get(section) or ():
        if each.get("name") == name:
            found: dict[str, Any] = each
            return found
    raise UsageError(f"kubeconfig {kubeconfig}: {section} has no {name!r}.")


def _authority(cluster: dict[str, Any], folder: Path) -> str | None:
    if "certificate-authority-data" in cluster:
        return base64.b64decode(str(cluster["certificate-authority-data"])).decode()
    if "certificate-authority" in cluster:
        return (folder / str(cluster["certificate-authority"])).read_text()
    return None


def _content(user: dict[str, Any], field: str, kubeconfig: Path) -> bytes:
    if f"{field}-data" in user:
        return base64.b64decode(user[f"{field}-data"])
    if field not in user:
        raise UsageError(f"kubeconfig {kubeconfig}: the user has a client certificate, but no {field}.")
    return (kubeconfig.parent / str(user[field])).read_bytes()


def _present(tls: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client certificate; OpenSSL needs files, which are removed at once."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        tls.load_cert_chain(file.name)
