"""What happens to the pods of a namespace, without an end: list, watch, and again.

Theory of operation. A watch that ends in good order, or whose connection breaks, goes on from the resource version
that was heard last, so nothing is lost; if that took a connection, what happened meanwhile came late. A resource
version that is Gone (410) means that changes are lost for good: list again. Both are reported as a `Gap`. An API server
that goes on to refuse (401, 403) will not change its mind: the watch ends.
The layers, by lifetime: `PodWatch.items` (forever) > `_listing` (one list) and `_streaming` (one connection).
"""

import threading
import time
from collections.abc import Iterator

import msgspec
import urllib3

from crashloop.kube.client import KubeApi, lines
from crashloop.kube.errors import ApiRefusal, KubeError, ResourceVersionGone, refusal

CONNECTION_S = 20
"""How long one connection is used; a peer that went silently is noticed that late."""


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How a connection is tried again that could not be made, or that broke."""

    first_s: float
    """Pause before the first attempt; it doubles from one to the next."""
    longest_s: float
    refusals: int
    """Answers 401 or 403 in a row after which no more is tried; an API server that has just started may give a few."""

    def pause_s(self, failures: int) -> float:
        """The pause after so many failures in a row."""
        return min(self.first_s * 2.0 ** min(failures - 1, 32), self.longest_s)


RECORDING = Retry(first_s=0.2, longest_s=0.2, refusals=50)
"""Evidence is at stake, so the pause does not grow; ten seconds of refusals are enough."""
LOOKING = Retry(first_s=1.0, longest_s=20.0, refusals=3)
"""What happens meanwhile is told by what is there afterwards, and a cluster in trouble is left in peace."""


class Metadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """ObjectMeta, as far as it is needed."""

    name: str
    namespace: str = ""
    uid: str
    resource_version: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class PodObject(msgspec.Struct, frozen=True, kw_only=True):
    """A pod; its spec and its status are left as they were sent."""

    metadata: Metadata
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """All pods there are; what was known before and is not among them is gone."""

    pods: tuple[PodObject, ...]
    received_ns: int


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one pod, with the pod as it is then (for DELETED: as it was last)."""

    type: str
    """ADDED, MODIFIED or DELETED."""
    pod: PodObject
    received_ns: int


class WatchGap(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing was heard from `from_ns` to `to_ns`. `lost`: what changed then is lost; otherwise it follows, late."""

    from_ns: int
    to_ns: int
    reason: str
    lost: bool


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str
    continue_: str = msgspec.field(default="", name="continue")


class _PodList(msgspec.Struct):
    metadata: _ListMeta
    items: tuple[PodObject, ...] = ()


class _WatchEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Bookmark(msgspec.Struct):
    metadata: _ListMeta


class PodWatch:
    """Lists and watches the pods of a namespace, or of all for an empty one, that carry a label."""

    def __init__(self, api: KubeApi, namespace: str, *, label_selector: str = "", retry: Retry = RECORDING) -> None:
        self._api = api
        self._namespace = namespace
        self._selector = label_selector
        self._retry = retry
        self._failures = 0
        self._refusals = 0
        """Both since there was a connection, the latter without a break."""
        self._stopped = threading.Event()
        self._connection: urllib3.HTTPResponse | None = None
        self._version: str | None = None
        self._complete_ns = time.time_ns()
        """All that happened before is known."""
        self._broken: str | None = None
        """Why there is no connection; None while there is one."""

    def stop(self) -> None:
        """End `items`, from any thread."""
        self._stopped.set()
        if (connection := self._connection) is not None:
            connection.shutdown()

    def broken_since(self) -> tuple[int, str] | None:
        """Since when nothing is heard, and why; None while connected."""
        return None if self._broken is None else (self._complete_ns, self._broken)

    def items(self) -> Iterator[Listed | Changed | WatchGap]:
        """What happens, until `stop`. Raises ApiRefusal once 401 or 403 has come too often; all else is tried again, for ever."""
        while not self._stopped.is_set():
            try:
                if self._version is None:
                    yield from self._listing()
                yield from self._streaming()
            except (KubeError, msgspec.MsgspecError) as error:
                if isinstance(error, ResourceVersionGone):
                    self._version = None
                self._broken = self._broken or str(error)
                self._failures += 1
                self._refusals = self._refusals + 1 if isinstance(error, ApiRefusal) and error.code in (401, 403) else 0
                if self._refusals >= self._retry.refusals:
                    raise
                self._stopped.wait(self._retry.pause_s(self._failures))

    def _listing(self) -> Iterator[Listed | WatchGap]:
        pages = [self._page("")]
        while pages[-1].metadata.continue_:
            pages.append(self._page(pages[-1].metadata.continue_))
        yield from self._connected(time.time_ns(), lost=True)
        self._version, self._complete_ns = pages[-1].metadata.resource_version, time.time_ns()
        yield Listed(pods=tuple(pod for page in pages for pod in page.items), received_ns=self._complete_ns)

    def _page(self, begin_at: str) -> _PodList:
        raw = self._api.list_pods_page(self._namespace, label_selector=self._selector, begin_at=begin_at)
        return msgspec.json.decode(raw, type=_PodList)

    def _streaming(self) -> Iterator[Changed | WatchGap]:
        assert self._version is not None
        self._connection = self._api.watch_pods(
            self._namespace, label_selector=self._selector, resource_version=self._version, at_most_s=CONNECTION_S
        )
        opened_ns = time.time_ns()
        try:
            for line in lines(self._connection):
                if self._stopped.is_set():
                    return
                event = msgspec.json.decode(line, type=_WatchEvent)
                if event.type == "ERROR":
                    raise refusal("watch pods", 500, None, bytes(event.object))
                # Only now: the first thing that a new connection says may be that the resource version is Gone.
                yield from self._connected(opened_ns, lost=False)
                self._complete_ns = time.time_ns()
                yield from self._change(event)
            yield from self._connected(opened_ns, lost=False)
            self._complete_ns = time.time_ns()
        finally:
            self._connection = None

    def _change(self, event: _WatchEvent) -> Iterator[Changed]:
        if event.type == "BOOKMARK":
            self._version = msgspec.json.decode(event.object, type=_Bookmark).metadata.resource_version
            return
        pod = msgspec.json.decode(event.object, type=PodObject)
        self._version = pod.metadata.resource_version
        yield Changed(type=event.type, pod=pod, received_ns=self._complete_ns)

    def _connected(self, opened_ns: int, *, lost: bool) -> Iterator[WatchGap]:
        """There is a connection. Tell of the time without one that ended when it was opened, if there was any."""
        self._failures = self._refusals = 0
        if self._broken is not None:
            yield WatchGap(from_ns=self._complete_ns, to_ns=opened_ns, reason=self._broken, lost=lost)
            self._broken = None
