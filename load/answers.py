"""An open answer of the API server, read line by line while it comes."""

from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from crashloop.kube.credentials import Access


class Refused(Exception):
    """The API server answered with another status than 200."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"the API server answered {code}: {text}")
        self.code = code
        self.text = text


class OpenAnswer:
    """To a GET, on a connection of its own: the only way to end a watch is to close it. Raises Refused."""

    def __init__(self, access: Access, path: str, *, timeout_s: float) -> None:
        """The timeout is that of a single read."""
        parts = urlsplit(access.server)
        where = parts.hostname or "", parts.port
        self._connection = (
            HTTPSConnection(*where, timeout=timeout_s, context=access.tls)
            if parts.scheme == "https"
            else HTTPConnection(*where, timeout=timeout_s)
        )
        self._path = path
        self._headers = {"Accept": "application/json"} | access.headers()

    def __enter__(self) -> HTTPResponse:
        try:
            self._connection.request("GET", self._path, headers=self._headers)
            answer = self._connection.getresponse()
            if answer.status != 200:
                raise Refused(answer.status, answer.read(300).decode(errors="replace"))
        except BaseException:
            self._connection.close()
            raise
        return answer

    def __exit__(self, *_: object) -> None:
        self._connection.close()
