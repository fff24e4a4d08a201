"""Kubeconfig files: which cluster and user a context names; and the proxy of a request.

Rules of kubectl ("Organizing Cluster Access Using kubeconfig Files" in the Kubernetes documentation; loader.go of
k8s.io/client-go/tools/clientcmd): of several files the first to name an entry wins, and a relative path is relative to the
file that holds it. Nothing here reaches the network, and no module of it may be one that Locust patches.
A proxy is chosen as Go's net/http chooses it for kubectl (FromEnvironment and useProxy of golang.org/x/net/http/httpproxy, and
parseProxyURL of k8s.io/client-go/tools/clientcmd).
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from crashloop.errors import UsageError
from crashloop.words import in_words
from crashloop.yaml_text import Unreadable, documents, text_of

Entry = dict[str, Any]

NAME_ANOTHER = "Name another with --kubeconfig."
"""The remedy for a file that is not there, for those who have the options of commands."""
DIRECT: Entry = {"name": "crashloop", "extension": {"proxy": "none"}}
"""An extension of a cluster that is reached without the environment's proxy."""

_SECTIONS = {"contexts": "context", "clusters": "cluster", "users": "user"}
_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


_FORM = {"apiVersion": "v1", "kind": "Config"}


class Named(NamedTuple):
    """The cluster and the user of a context, as they are written, with absolute paths."""

    source: str
    """The kubeconfig and the context, for messages."""
    cluster: Entry
    user: Entry
    namespace: str = "default"
    """The one that is meant where none is named."""


def default_kubeconfig(option: str | None, environ: Mapping[str, str], *, remedy: str = NAME_ANOTHER) -> str:
    """The kubeconfig as kubectl finds it: option, KUBECONFIG, ~/.kube/config. An absolute path, or a list of them."""
    named = option or environ.get("KUBECONFIG") or "~/.kube/config"
    if not named.strip(os.pathsep):
        raise UsageError(f"KUBECONFIG is {named!r}, which names no file.\n{remedy}")
    return os.pathsep.join(str(path) for path in _paths(named))


def read_context(kubeconfig: str, context: str | None = None, *, remedy: str = NAME_ANOTHER) -> Named:
    """The context of that name, or the current one. `remedy`: how the caller's user names another file.

    Raises UsageError for a file that is missing, cannot be read or is no kubeconfig, and for a context, cluster or user
    that it lacks. Entries that the context does not name are not looked into.
    """
    merged: dict[str, dict[str, tuple[Path, Any]]] = {section: {} for section in _SECTIONS}
    current = context
    documents = {path: _document(path, remedy) for path in _files(kubeconfig, remedy)}
    if not any(section in document for document in documents.values() for section in _SECTIONS):
        raise UsageError(f"kubeconfig {kubeconfig}: cannot be used (it has no contexts, clusters or users).")
    for path, document in documents.items():
        current = current or _name(path, document.get("current-context"))
        for section, field in _SECTIONS.items():
            for name, entry in _entries(path, document, section, field):
                merged[section].setdefault(name, (path, entry))
    if current not in merged["contexts"]:
        known = ", ".join(sorted(merged["contexts"])) or "none"
        if context is None:
            why = f"its current context {current!r} does not exist" if current else "it has no current context"
            raise UsageError(f"kubeconfig {kubeconfig}: {why}; its contexts: {known}.\nName one with --context.")
        raise UsageError(f"kubeconfig {kubeconfig}: it has no context {context!r}; its contexts: {known}.")
    source = f"{kubeconfig}, context {current!r}"

    def entry_of(section: str, name: Any) -> Entry:
        field = _SECTIONS[section]
        name = _name(Path(kubeconfig), name)
        if name not in merged[section]:
            raise UsageError(f"kubeconfig {source}: it names {field} {name!r}, which is missing.")
        path, entry = merged[section][name]
        if not isinstance(entry or {}, dict):
            raise UsageError(f"kubeconfig {path}: cannot be used ({section}: expected entries with name and {field}).")
        return _with_paths(entry or {}, path.parent)

    chosen = entry_of("contexts", current)
    cluster = entry_of("clusters", chosen.get("cluster"))
    cluster["server"] = _server(source, cluster)
    user = entry_of("users", chosen["user"]) if chosen.get("user") else {}
    for what, entry, form in (
        ("cluster", cluster, _Cluster),
        ("user", user, _User),
        ("context", chosen, _Context),
        ("credential plug-in (exec)", user.get("exec"), _Plugin | None),
    ):
        try:
            msgspec.convert(entry, form)
        except msgspec.ValidationError as error:
            raise UsageError(f"kubeconfig {source}: its {what} cannot be used: {in_words(error)}.") from error
    for entry in (cluster, user):
        if twice := next((path for path in _PATHS if entry.get(path) and entry.get(f"{path}-data")), None):
            raise UsageError(f"kubeconfig {source}: {twice} stands beside {twice}-data; remove one of them.")
    return Named(source, cluster, user, chosen.get("namespace") or Named._field_defaults["namespace"])


class _Context(msgspec.Struct):
    """The types of a context's other fields."""

    namespace: str | None = None


class _Cluster(msgspec.Struct, rename="kebab"):
    """The types of a cluster's fields: k8s.io/client-go tools/clientcmd/api/v1/types.go@v0.37.1 Cluster."""

    insecure_skip_tls_verify: bool | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None


class _User(msgspec.Struct, rename="kebab"):
    """Those of a user: AuthInfo, likewise."""

    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    username: str | None = None
    password: str | None = None
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    impersonate: str | None = msgspec.field(default=None, name="as")
    as_uid: str | None = None
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str] | None] | None = None


class _EnvVar(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(min_length=1)]
    value: str | None = None


class _Plugin(msgspec.Struct, rename={"api_version": "apiVersion"}):
    """The form of `exec` of a user."""

    command: str
    api_version: str | None = None
    args: list[str] | None = None
    env: list[_EnvVar] | None = None


def _name(path: Path, name: Any) -> str | None:
    if not isinstance(name, str | None):
        raise UsageError(f"kubeconfig {path}: cannot be used ({json.dumps(name)} is no name).")
    return name


def _server(source: str, cluster: Entry) -> str:
    """An address without a scheme means http (DefaultServerURL of k8s.io/client-go/rest)."""
    server = cluster.get("server")
    if server is None or server == "":
        raise UsageError(f"kubeconfig {source}: its cluster has no server.")
    if not isinstance(server, str):
        raise UsageError(f"kubeconfig {source}: its cluster's server {json.dumps(server)} is no address.")
    address = server if "://" in server else f"http://{server}"
    try:
        parts = urlsplit(address)
        is_usable = (
            parts.scheme in ("http", "https")
            and parts.hostname is not None
            and re.fullmatch(r"[\w.:%-]+", parts.hostname) is not None
            and parts.port != 0
            and not re.search(r"\s", address)
        )
    except ValueError:
        is_usable = False
    if not is_usable:
        raise UsageError(f"kubeconfig {source}: its cluster's server {server!r} is no address.")
    return address.partition("#")[0].partition("?")[0]


def _files(kubeconfig: str, remedy: str) -> list[Path]:
    """Of a list, files that are missing are left out, as kubectl does."""
    found = [path for path in _paths(kubeconfig) if path.exists()]
    if not found:
        raise UsageError(f"kubeconfig {kubeconfig}: there is no such file.\n{remedy}")
    return found


def _paths(kubeconfig: str) -> list[Path]:
    return [Path(each).expanduser().absolute() for each in kubeconfig.split(os.pathsep) if each]


def _document(path: Path, remedy: str) -> Entry:
    """An empty file is a kubeconfig without entries."""
    try:
        text = text_of(path)
    except Unreadable as error:
        raise UsageError(f"kubeconfig {path}: cannot be read ({error}).\n{remedy}") from error
    try:
        document = next(iter(documents(text)), None)
    except Unreadable as error:
        raise UsageError(f"kubeconfig {path}: cannot be used ({error}).") from error
    if not isinstance(document or {}, dict):
        raise UsageError(f"kubeconfig {path}: cannot be used (it has no contexts, clusters or users).")
    form = [(document or {}).get(field) or usual for field, usual in _FORM.items()]
    if form != [*_FORM.values()]:
        raise UsageError(f"kubeconfig {path}: cannot be used ({form[0]} {form[1]} is no v1 Config).")
    return document or {}


def _entries(path: Path, document: Entry, section: str, field: str) -> Iterator[tuple[str, Any]]:
    listed = document.get(section) or ()
    if not isinstance(listed, list | tuple) or not all(isinstance(each or {}, dict) for each in listed):
        raise UsageError(f"kubeconfig {path}: cannot be used ({section}: expected entries with name and {field}).")
    listed = [each or {} for each in listed]
    names = [each["name"] for each in listed if isinstance(each.get("name"), str)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"kubeconfig {path}: cannot be used ({section}: {twice!r} is there twice).")
    for each in listed:
        if isinstance(each.get("name"), str):
            yield each["name"], each.get(field)


def _with_paths(found: Entry, folder: Path) -> Entry:
    """A path is relative to the file that holds it."""
    entry = dict(found)
    for name in _PATHS:
        if entry.get(name):
            entry[name] = str(folder / str(entry[name]))
    if isinstance(entry.get("exec"), dict):
        entry["exec"] = _with_folder(entry["exec"], folder)
    return entry


def _with_folder(plugin: Entry, folder: Path) -> Entry:
    """A command with a slash is relative to the kubeconfig; a bare name is found on PATH."""
    command = str(plugin.get("command") or "")
    return {**plugin, "command": str(folder / command) if "/" in command else command}


SCHEMES = ("http", "https", "socks5", "socks5h")
_PORTS = {"http": 80, "https": 443}


def proxy_of_environment(server: str, environ: Mapping[str, str]) -> str | None:
    """The proxy by HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY or a loopback address excludes it.

    A private address has no privilege. ALL_PROXY is not read, and HTTP_PROXY is not trusted in a CGI program.
    """
    parts = urlsplit(server)
    scheme = parts.scheme.lower()
    proxy = _variable(environ, f"{scheme}_proxy")
    if not proxy or (scheme == "http" and environ.get("REQUEST_METHOD")):
        return None
    host = (parts.hostname or "").rstrip(".")
    port = parts.port or _PORTS.get(scheme, 0)
    if _is_excluded(host, port, _variable(environ, "no_proxy")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    """Capitals come first."""
    return environ.get(name.upper()) or environ.get(name) or ""


def _is_excluded(host: str, port: int, no_proxy: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_matches(entry.strip().lower(), host, address, port) for entry in no_proxy.split(","))


def _matches(entry: str, host: str, address: IPv4Address | IPv6Address | None, port: int) -> bool:
    """Whether an entry of NO_PROXY names the host: `*`, a network, or an address or a domain, either with a port or without."""
    if entry in ("", "*"):
        return entry == "*"
    if "/" in entry:
        with suppress(ValueError):
            return address is not None and address in ip_network(entry, strict=False)
    name, wanted = _split(entry)
    if wanted and wanted != str(port):
        return False
    named = _address(name)
    if named is not None:
        return named == address
    if name.startswith("*."):
        name = name[1:]
    if name.startswith("."):
        return host.endswith(name)
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _split(entry: str) -> tuple[str, str]:
    """Host and port; an IPv6 address with a port stands in brackets."""
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, colon, port = entry.rpartition(":")
    return (name, port) if colon and ":" not in name else (entry, "")


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
