"""An endless stream of changes to the objects of a collection: list, watch, repeat.

Theory of operation. After a watch ends or its connection breaks, the next one continues from the last resource version,
so nothing is lost; changes during a broken connection arrive late. A resource version that is Gone (410) means that
changes are lost for good: list again. Both are reported as a `Gap`. An API server that keeps refusing (401, 403) ends
the watch.
The layers, by lifetime: `Watch.items` (forever) > `_listing` (one list) and `_streaming` (one connection).
"""

import threading
import time
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

import msgspec
import urllib3

from crashloop.kube.answers import ApiRefusal, KubeError, ResourceVersionGone, hang_up, lines, refusal
from crashloop.kube.client import Collection, KubeApi, ListMeta

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
STATIC_UID_ANNOTATION = "kubernetes.io/config.hash"
"""Annotations of a mirror pod: that it is one, and the uid of its static pod (pkg/kubelet/types/pod_update.go@v1.37.1)."""
CONNECTION_S = 20
"""Life of one connection; a peer that vanished silently is noticed after this time."""


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """Retries of a connection that failed or broke."""

    first_s: float
    """Pause before the first attempt; it doubles with every further one."""
    longest_s: float
    refusals: int
    """Consecutive answers 401 or 403 that end the watch; an API server that has just started may give a few."""

    def pause_s(self, failures: int) -> float:
        """The pause after so many consecutive failures."""
        return min(self.first_s * 2.0 ** min(failures - 1, 32), self.longest_s)


RECORDING = Retry(first_s=0.2, longest_s=0.2, refusals=50)
"""Recording: evidence is at stake, so the pause does not grow; ten seconds of refusals end the watch."""
LOOKING = Retry(first_s=1.0, longest_s=20.0, refusals=3)
"""Observing: changes missed during a pause show in the next list, so back off and spare a cluster in trouble."""


class Metadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The needed fields of ObjectMeta."""

    name: str
    namespace: str = ""
    uid: str
    resource_version: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletion_timestamp: str | None = None
    """None: nobody has requested its deletion."""
    deletion_grace_period_seconds: int = 0

    @property
    def is_mirror(self) -> bool:
        """Whether it is a mirror pod: a kubelet's picture of a static pod."""
        return MIRROR_ANNOTATION in self.annotations

    @property
    def pod_uid(self) -> str:
        """The uid that runtime and kubelet know the pod by; that of a mirror pod's object is another."""
        return self.annotations.get(STATIC_UID_ANNOTATION, self.uid) if self.is_mirror else self.uid


class PodObject(msgspec.Struct, frozen=True, kw_only=True):
    """A pod; its spec and its status stay as sent."""

    metadata: Metadata
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")


class _Versioned(Protocol):
    @property
    def resource_version(self) -> str: ...


class _Watchable(Protocol):
    @property
    def metadata(self) -> _Versioned: ...


Watched = TypeVar("Watched", bound=_Watchable)


class Listed(msgspec.Struct, Generic[Watched], frozen=True, kw_only=True):
    """All existing objects; a known one that is missing from them is gone."""

    objects: tuple[Watched, ...]
    received_ns: int


class Changed(msgspec.Struct, Generic[Watched], frozen=True, kw_only=True):
    """One change of one object, with the object after the change (for DELETED: its last state)."""

    type: str
    """ADDED, MODIFIED or DELETED."""
    object: Watched
    received_ns: int


class WatchGap(msgspec.Struct, frozen=True, kw_only=True):
    """A loss of connection from `from_ns` to `to_ns`. `lost`: its changes are lost; otherwise they follow, late."""

    from_ns: int
    to_ns: int
    reason: str
    lost: bool


class _WatchEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Bookmark(msgspec.Struct):
    metadata: ListMeta


class Watch(Generic[Watched]):
    """Lists and watches the objects of a collection."""

    def __init__(self, api: KubeApi, collection: Collection, type: type[Watched], *, retry: Retry = RECORDING) -> None:
        self._api = api
        self._collection = collection
        self._type = type
        self._retry = retry
        self._failures = 0
        self._refusals = 0
        """Both since the first connection; the latter restarts with every break."""
        self._stopped = threading.Event()
        self._connection: urllib3.BaseHTTPResponse | None = None
        self._version: str | None = None
        self._complete_ns = time.time_ns()
        """All changes up to here are known."""
        self._broken: str | None = None
        """Reason of the missing connection; None while connected."""

    def stop(self) -> None:
        """End `items`, from any thread."""
        self._stopped.set()
        if (connection := self._connection) is not None:
            hang_up(connection)

    def broken_since(self) -> tuple[int, str] | None:
        """Start and reason of the present loss of connection; None while connected."""
        return None if self._broken is None else (self._complete_ns, self._broken)

    def items(self) -> Iterator[Listed[Watched] | Changed[Watched] | WatchGap]:
        """Changes until `stop`. Raises ApiRefusal after too many answers 401 or 403; every other failure is retried for ever."""
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

    def _listing(self) -> Iterator[Listed[Watched] | WatchGap]:
        pages = list(self._api.pages(self._collection))
        yield from self._connected(time.time_ns(), lost=True)
        self._version, self._complete_ns = pages[-1].metadata.resource_version, time.time_ns()
        found = tuple(self._decode(each) for page in pages for each in page.items)
        yield Listed(objects=found, received_ns=self._complete_ns)

    def _decode(self, raw: msgspec.Raw) -> Watched:
        return msgspec.json.decode(raw, type=self._type)

    def _streaming(self) -> Iterator[Changed[Watched] | WatchGap]:
        assert self._version is not None
        self._connection = self._api.watch(self._collection, resource_version=self._version, at_most_s=CONNECTION_S)
        opened_ns = time.time_ns()
        try:
            for line in lines(self._connection):
                if self._stopped.is_set():
                    return
                event = msgspec.json.decode(line, type=_WatchEvent)
                if event.type == "ERROR":
                    raise refusal(f"watch {self._collection.resource}", 500, None, bytes(event.object))
                # Only now: the first event of a new connection may be that the resource version is Gone.
                yield from self._connected(opened_ns, lost=False)
                self._complete_ns = time.time_ns()
                yield from self._change(event)
            yield from self._connected(opened_ns, lost=False)
            self._complete_ns = time.time_ns()
        finally:
            self._connection = None

    def _change(self, event: _WatchEvent) -> Iterator[Changed[Watched]]:
        if event.type == "BOOKMARK":
            self._version = msgspec.json.decode(event.object, type=_Bookmark).metadata.resource_version
            return
        changed = self._decode(event.object)
        self._version = changed.metadata.resource_version
        yield Changed(type=event.type, object=changed, received_ns=self._complete_ns)

    def _connected(self, opened_ns: int, *, lost: bool) -> Iterator[WatchGap]:
        """Mark the connection as up; the gap that ended when it was opened, if any."""
        self._failures = self._refusals = 0
        if self._broken is not None:
            yield WatchGap(from_ns=self._complete_ns, to_ns=opened_ns, reason=self._broken, lost=lost)
            self._broken = None


class PodWatch(Watch[PodObject]):
    """Lists and watches the pods with a label in a namespace, or in all namespaces for an empty name."""

    def __init__(self, api: KubeApi, namespace: str, *, label_selector: str = "", retry: Retry = RECORDING) -> None:
        super().__init__(api, Collection("pods", namespace, {"labelSelector": label_selector}), PodObject, retry=retry)
