"""The requests of this suite to the Kubernetes API. Objects stay plain JSON, as the API server sent them."""

import logging
import os
import socket
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode, urlsplit

import msgspec
import urllib3
from urllib3.connection import HTTPConnection
from urllib3.contrib.socks import SOCKSProxyManager

from crashloop.errors import UsageError
from crashloop.kube.answers import (
    Answer,
    ApiRefusal,
    ApiUnreachable,
    CredentialsRefused,
    about_credentials,
    body_of,
    decoded,
    refusal,
    unreachable,
    warnings_of,
)
from crashloop.kube.credential_plugin import read_access
from crashloop.kube.credentials import Access
from crashloop.kube.kubeconfig import SCHEMES, proxy_of_environment
from crashloop.kube.objects import is_ready
from crashloop.waiting import wait_until
from crashloop.yaml_text import Json

CONNECT_S = 3.0
ANSWER_S = 15.0
NOT_FOUND = 404
CONNECTIONS = 16
"""Kept open for reuse."""
PAGE = 500
"""Objects per answer to a list, as in kubectl."""

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
"""The encoding in which the API server stores objects of its own kinds."""
STRATEGIC_MERGE = "application/strategic-merge-patch+json"


class ListMeta(msgspec.Struct, rename="camel"):
    """Of a list or a bookmark."""

    resource_version: str
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct):
    """A part of a list; its objects stay as sent."""

    metadata: ListMeta
    items: tuple[msgspec.Raw, ...] = ()


class Collection(NamedTuple):
    """Objects of one resource of the core API, such as `pods`, in a namespace; in all of them for an empty name."""

    resource: str
    namespace: str = ""
    selector: Mapping[str, str] = MappingProxyType({})
    """`labelSelector`, `fieldSelector`."""

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/{self.resource}" if self.namespace else f"/api/v1/{self.resource}"


class KubeApi:
    """A connection to one API server. Every method raises ApiUnreachable or ApiRefusal; all of them are thread-safe.

    Nothing is retried: a failed request is evidence, and the caller decides what to do. A refusal of the credentials is a
    CredentialsRefused.
    """

    def __init__(self, kubeconfig: str, *, context: str | None = None) -> None:
        """Read the kubeconfig, and run its credential plug-in. Raises UsageError if that is not possible."""
        self._access = read_access(kubeconfig, context)
        # urllib3 warns of every lost connection, which the caller sees as an error of its request.
        logging.getLogger("urllib3").setLevel(logging.ERROR)
        self._pools: dict[str | None, urllib3.PoolManager] = {}
        """By proxy: NO_PROXY may exclude the API server, and not a kubelet."""
        self._pool(self._access.server)
        self.server: str = self._access.server
        """Address of the API server."""
        self.namespace: str = self._access.namespace
        """The context's, where none is named."""
        self.kubeconfig = kubeconfig + (f", context {context}" if context else "")
        """The kubeconfig, and its context if one was named, for messages."""

    def call(self, doing: str, method: str, path: str, **request: Any) -> Json:
        """Any request with an object as answer; `doing` is the start of an error message. Takes `query` and `body`."""
        return decoded(doing, self._read(doing, method, path, **request), dict)

    def answer(self, doing: str, method: str, path: str, **request: Any) -> Answer:
        """What the API server answers to any request, a refusal included.

        Takes `query`, `body`, `content_type`, `accept` and `as_user`, the user to impersonate.

        Raises ApiUnreachable without an answer, and CredentialsRefused.
        """
        response = self._respond(doing, method, path, **request)
        body = body_of(doing, response)
        warnings = warnings_of(response.headers.getlist("Warning"))
        if 200 <= response.status <= 299:
            return Answer(code=response.status, warnings=warnings, body=body)
        refused = about_credentials(refusal(doing, response.status, response.reason, body), self.kubeconfig)
        if isinstance(refused, CredentialsRefused):
            raise refused
        return Answer(
            code=response.status,
            reason=refused.reason,
            message=refused.message,
            causes=refused.causes,
            warnings=warnings,
        )

    def version(self) -> str:
        """The API server's version, such as v1.37.1."""
        return str(self.call("read the version", "GET", "/version")["gitVersion"])

    def now(self) -> datetime:
        """The time by the API server's clock, in whole seconds of UTC."""
        answer = self._open("read the time", "GET", "/version")
        answer.drain_conn()
        date = answer.headers.get("Date")
        if date is None:
            raise ApiUnreachable("read the time: the API server's answer has no header Date.")
        return parsedate_to_datetime(date)

    def create_namespace(self, *, prefix: str, labels: dict[str, str]) -> str:
        """Create a namespace with a name of the API server's choice, and return that name."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": prefix, "labels": labels}}
        return str(self.call("create a namespace", "POST", "/api/v1/namespaces", body=body)["metadata"]["name"])

    def delete_namespace(self, name: str) -> None:
        self._read(f"delete namespace {name}", "DELETE", f"/api/v1/namespaces/{name}")

    def wait_for_default_service_account(self, namespace: str) -> None:
        """Return once pods can be created in a new namespace. Raises WaitTimeout."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        made = partial(self.exists, "read the default ServiceAccount", path)
        wait_until(f"the default ServiceAccount of namespace {namespace}", made, timeout_s=30.0, every_s=0.05)

    def exists(self, doing: str, path: str) -> bool:
        """Whether there is an object at that path."""
        try:
            self._read(doing, "GET", path)
        except ApiRefusal as error:
            if error.code != NOT_FOUND:
                raise
            return False
        return True

    def create_pod(self, namespace: str, manifest: Json) -> Json:
        return self.call(f"create pod {manifest['metadata']['name']}", "POST", _pods(namespace), body=manifest)

    def get_pod(self, namespace: str, name: str) -> Json:
        return self.call(f"read pod {name}", "GET", _pods(namespace, name))

    def has_pod(self, namespace: str, name: str) -> bool:
        return self.exists(f"read pod {name}", _pods(namespace, name))

    def patch_pod(self, namespace: str, name: str, patch: Json, *, subresource: str | None = None) -> Json:
        """Apply a strategic merge patch to a pod, or to its subresource (`resize`, `ephemeralcontainers`)."""
        path = _pods(namespace, name) + (f"/{subresource}" if subresource else "")
        return self.call(f"patch pod {name}", "PATCH", path, body=patch, content_type=STRATEGIC_MERGE)

    def delete_pod(self, namespace: str, name: str, *, grace_s: int | None = None) -> None:
        """Delete a pod; 0 seconds of grace remove the object at once. A missing pod is no error."""
        query = {} if grace_s is None else {"gracePeriodSeconds": str(grace_s)}
        try:
            self._read(f"delete pod {name}", "DELETE", _pods(namespace, name), query=query)
        except ApiRefusal as error:
            if error.code != NOT_FOUND:
                raise

    def events_of(self, namespace: str, pod: str | None) -> list[Json]:
        """The Events about a pod of that name, or about all pods."""
        named = "" if pod is None else f",involvedObject.name={pod}"
        return list(self.objects(Collection("events", namespace, {"fieldSelector": f"involvedObject.kind=Pod{named}"})))

    def read_log(self, namespace: str, name: str, container: str, *, previous: bool = False) -> str:
        """The log of a container's newest instance, or of the one before."""
        query = {"container": container} | ({"previous": "true"} if previous else {})
        doing = f"read the log of {name}/{container}"
        return self._read(doing, "GET", f"{_pods(namespace, name)}/log", query=query).decode(errors="replace")

    def follow_log(self, namespace: str, name: str, container: str, *, silent_s: float) -> urllib3.BaseHTTPResponse:
        """The open answer of a log, followed from its beginning; it breaks after `silent_s` seconds of silence."""
        query = {"container": container, "follow": "true"}
        doing = f"follow the log of {name}/{container}"
        return self._open(doing, "GET", _pods(namespace, name) + "/log", query=query, answer_s=silent_s)

    def list_pods(self, namespace: str, *, label_selector: str) -> bytes:
        """The PodList as the API server sent it."""
        return self._read("list pods", "GET", _pods(namespace), query={"labelSelector": label_selector})

    def pages(self, collection: Collection) -> Iterator[Page]:
        """The list, part by part: each names the next one by `continue`."""
        begin_at = ""
        while True:
            query = {**collection.selector, "limit": str(PAGE), "continue": begin_at}
            doing = f"list {collection.resource}"
            page = decoded(doing, self._read(doing, "GET", collection.path, query=query), Page)
            yield page
            begin_at = page.metadata.continue_
            if not begin_at:
                return

    def objects(self, collection: Collection) -> Iterator[Json]:
        """The objects of a list, of which one part at a time is kept."""
        for page in self.pages(collection):
            yield from map(msgspec.json.decode, page.items)

    def watch(self, collection: Collection, *, resource_version: str, at_most_s: int) -> urllib3.BaseHTTPResponse:
        """The open answer of a watch that the API server ends after `at_most_s` seconds."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            **collection.selector,
            "resourceVersion": resource_version,
            "timeoutSeconds": str(at_most_s),
        }
        return self._open(f"watch {collection.resource}", "GET", collection.path, query=query, answer_s=at_most_s + 5.0)

    def nodes(self, *, label_selector: str = "") -> list[Json]:
        """The Node objects with these labels, all by default, without their images: those are most of an object."""
        found, selector = [], {"labelSelector": label_selector} if label_selector else {}
        for node in self.objects(Collection("nodes", selector=selector)):
            node.get("status", {}).pop("images", None)
            found.append(node)
        return found

    def is_ready(self, node: str) -> bool:
        """Whether the node's condition Ready is True."""
        return is_ready(self.node(node))

    def node(self, name: str) -> Json:
        return self.call(f"read node {name}", "GET", f"/api/v1/nodes/{quote(name)}")

    def configz(self, node: str) -> Json:
        """The effective KubeletConfiguration of a node's kubelet, read through the API server (nodes/proxy)."""
        path = f"/api/v1/nodes/{node}/proxy/configz"
        effective: Json = self.call(f"read the configuration of node {node}", "GET", path)["kubeletconfig"]
        return effective

    def ask_kubelet(self, address: str, path: str) -> Json:
        """Query a kubelet directly (`https://10.0.0.7:10250`), with the same credentials and certificate authority.

        Raises ApiUnreachable also if that authority did not sign its certificate; the credentials are not sent then.
        """
        if not self._access.verifies:
            raise ApiUnreachable(f"query {address}{path}: the kubeconfig turns off the verification of certificates.")
        if self._access.impersonation:
            raise ApiUnreachable(
                f"query {address}{path}: the kubeconfig impersonates a user, which only an API server does."
            )
        return self.call(f"query {address}{path}", "GET", path, host=address)

    def get_raw(self, path: str, *, answer_s: float = ANSWER_S) -> bytes:
        """The raw answer to a GET of a path, such as /metrics."""
        return self._read(f"read {path}", "GET", path, answer_s=answer_s)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.clear()

    def _pool(self, address: str) -> urllib3.PoolManager:
        proxy = self._access.proxy
        if proxy is None and not self._access.is_direct:
            proxy = proxy_of_environment(address, os.environ)
        if proxy not in self._pools:
            self._pools.setdefault(proxy, _pool(self._access, proxy))
        return self._pools[proxy]

    def _read(self, doing: str, method: str, path: str, **request: Any) -> bytes:
        return body_of(doing, self._open(doing, method, path, **request))

    def _open(
        self, doing: str, method: str, path: str, *, host: str | None = None, **request: Any
    ) -> urllib3.BaseHTTPResponse:
        """The open answer to a request that was granted."""
        response = self._respond(doing, method, path, host=host, **request)
        if 200 <= response.status <= 299:
            return response
        refused = refusal(doing, response.status, response.reason, body_of(doing, response))
        raise refused if host else about_credentials(refused, self.kubeconfig)

    def _respond(
        self,
        doing: str,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        answer_s: float = ANSWER_S,
        host: str | None = None,
        as_user: str | None = None,
    ) -> urllib3.BaseHTTPResponse:
        """The open answer to a request, whatever its code."""
        headers = urllib3.HTTPHeaderDict({"Accept": accept})
        if body is not None:
            headers["Content-Type"] = content_type
        impersonation = self._access.impersonation if as_user is None else (("Impersonate-User", as_user),)
        for name, value in impersonation:
            headers.add(name, value)
        try:
            headers.update(self._access.headers())
            return self._pool(host or self.server).request(
                method,
                f"{host or self.server}{path}{'?' if query else ''}{urlencode(query or {})}",
                body=None if body is None else msgspec.json.encode(body),
                headers=headers,
                timeout=urllib3.Timeout(connect=CONNECT_S, read=answer_s),
                retries=False,
                preload_content=False,
            )
        except (urllib3.exceptions.HTTPError, UsageError) as error:  # UsageError: a plug-in that no longer works
            raise unreachable(doing, error) from error


def _pool(access: Access, proxy: str | None) -> urllib3.PoolManager:
    """Raises UsageError for a proxy that cannot be used."""
    if not access.verifies:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # the kubeconfig says so
    settings: dict[str, Any] = {
        "maxsize": CONNECTIONS,
        "ssl_context": access.tls,
        "socket_options": [*HTTPConnection.default_socket_options, (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
    }
    if access.server_name:
        settings["server_hostname"] = access.server_name
    if proxy is None:
        return urllib3.PoolManager(**settings)
    if urlsplit(proxy).scheme not in SCHEMES:
        raise UsageError(f"proxy {proxy}: cannot be used; expected {', '.join(SCHEMES)}.")
    if urlsplit(proxy).scheme.startswith("socks5"):
        # Go lets the proxy resolve the name for both schemes.
        return SOCKSProxyManager(f"socks5h://{proxy.partition('://')[2]}", **settings)
    user = urlsplit(proxy).username
    if user is not None:
        credentials = f"{unquote(user)}:{unquote(urlsplit(proxy).password or '')}"
        settings["proxy_headers"] = urllib3.make_headers(proxy_basic_auth=credentials)
    try:
        return urllib3.ProxyManager(proxy, proxy_ssl_context=access.tls, **settings)
    except urllib3.exceptions.HTTPError as error:
        raise UsageError(f"proxy {proxy}: cannot be used ({error}).") from error


def _pods(namespace: str, name: str | None = None) -> str:
    """Without a namespace: the pods of all namespaces."""
    return Collection("pods", namespace).path + (f"/{quote(name)}" if name else "")
