"""The requests of bring-up to API server and kubelets: JSON over HTTPS with the administrator's certificate."""

import http.client
import json
import ssl
import urllib.error
import urllib.request
from typing import Any

from crashloop.cluster.local.layout import ClusterLayout
from crashloop.errors import ClusterError


class RequestFailed(ClusterError):
    """A request had no success: base of the errors below."""


class Unanswered(RequestFailed):
    """No answer came: no connection, no trust in the server's certificate, or a broken answer."""


class Refused(RequestFailed):
    """The server answered with an HTTP error."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Admin:
    """Speaks as the cluster's administrator. All of its methods raise Unanswered."""

    def __init__(self, layout: ClusterLayout) -> None:
        self._tls = ssl.create_default_context(cafile=str(layout.ca_certificate))
        # As Python 3.13 does by default: on every version a certificate of ours has to keep to RFC 5280.
        self._tls.verify_flags |= ssl.VERIFY_X509_STRICT
        self._tls.load_cert_chain(layout.certificate("admin"), layout.key("admin"))

    def ask(self, url: str, *, method: str = "GET", body: dict[str, Any] | None = None, timeout_s: float = 5.0) -> str:
        """The answer's text. Raises Refused on an HTTP error."""
        request = urllib.request.Request(url, method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self._tls)
        )
        try:
            with opener.open(request, timeout=timeout_s) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")[:500]
            raise Refused(f"{method} {url}: answered {error.code}, expected success.\n{text}", error.code) from error
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise Unanswered(f"{method} {url}: no answer ({reason}).") from error

    def ask_json(self, url: str) -> Any:
        """The answer, decoded."""
        return json.loads(self.ask(url))

    def answers(self, url: str, expected: str) -> bool:
        """Whether the answer is exactly `expected`. Raises Refused on an HTTP error, whose text lists the checks that fail."""
        return self.ask(url) == expected

    def exists(self, url: str) -> bool:
        """Whether the object is there. Raises Refused for another reason than 404."""
        try:
            self.ask(url)
        except Refused as refused:
            if refused.status == 404:
                return False
            raise
        return True

    def forget_node(self, api_server: str, name: str) -> None:
        """Delete the pods of a node that is being removed, and its Node object. Raises Refused."""
        pods = self.ask_json(f"{api_server}/api/v1/pods?fieldSelector=spec.nodeName={name}")
        for pod in pods["items"]:
            meta = pod["metadata"]
            self.delete(f"{api_server}/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}")
        self.delete(f"{api_server}/api/v1/nodes/{name}")

    def delete(self, url: str) -> None:
        """Delete an object without a grace period; a missing object is no error."""
        try:
            self.ask(url, method="DELETE", body={"gracePeriodSeconds": 0})
        except Refused as refused:
            if refused.status != 404:
                raise
