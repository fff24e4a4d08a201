"""Measures a cluster during a load: scrapes every source at its interval and at the edges of phases, on all nodes or a sample.

A scrape of a kubelet costs the API server one request (verb CONNECT on nodes/proxy), which counts in its metrics.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from crashloop.cluster.provider import ClusterInfo
from crashloop.kube.answers import ApiRefusal
from crashloop.kube.client import NOT_FOUND, KubeApi
from crashloop.kube.objects import is_ready
from crashloop.measure.processes import ProcessAccount, Sample
from crashloop.slo.exposition import Differences, Exposition, SeriesKey, to_line
from crashloop.slo.scrapes import HELD, SOURCES, MissedScrape, NodeSample, SourceLine
from crashloop.yaml_text import Json

_OF_A_NODE = {
    "kubelet": "metrics",
    "cadvisor": "metrics/cadvisor",
    "resource": "metrics/resource",
    "probes": "metrics/probes",
}


class Endpoint(NamedTuple):
    """One source of metrics."""

    source: str
    node: str
    path: str

    @property
    def file_name(self) -> str:
        return f"{self.source}-{self.node}.jsonl" if self.node else f"{self.source}.jsonl"


def endpoints(info: ClusterInfo) -> Iterator[Endpoint]:
    """Every endpoint of a cluster."""
    yield Endpoint("apiserver", "", "/metrics")
    for node in info.nodes:
        for source, path in _OF_A_NODE.items():
            yield Endpoint(source, node.name, f"/api/v1/nodes/{node.name}/proxy/{path}")


NAME = "node_not_ready"


NAMED_AT_MOST = 20
"""Nodes that are read one by one; a list has every node of the cluster, of which the run may use a few."""


def readiness(api: KubeApi, names: Collection[str]) -> Iterator[Sample]:
    """One sample per node of these names: 1 unless its condition Ready is True. A node that is gone is not Ready."""
    nodes = api.nodes() if len(names) > NAMED_AT_MOST else _those_there(api, names)
    ready = {each["metadata"]["name"] for each in nodes if is_ready(each)}
    for name in names:
        yield f"{NAME} {name}".encode(), SeriesKey(NAME, {"node": name}), float(name not in ready)


def _those_there(api: KubeApi, names: Iterable[str]) -> Iterator[Json]:
    for name in names:
        try:
            yield api.node(name)
        except ApiRefusal as error:
            if error.code != NOT_FOUND:
                raise


class Scraped(NamedTuple):
    """The nodes that are scraped."""

    nodes: frozenset[str]
    """Names of their Node objects."""
    sample: NodeSample | None
    """None: all of them are."""


def scraped(names: Iterable[str], *, at_most: int, seed: int) -> Scraped:
    """All nodes, or of more than `at_most` so many: those that come first in an order that the seed gives.

    A node that joins or leaves the cluster changes at most one node of the sample.
    """
    everyone = sorted(names)
    if len(everyone) <= at_most:
        return Scraped(frozenset(everyone), None)
    ordered = sorted(everyone, key=lambda name: sha256(f"{seed} {name}".encode()).digest())
    return Scraped(frozenset(ordered[:at_most]), NodeSample(scraped=at_most, of=len(everyone), seed=seed))


Read = Callable[[], Iterable[tuple[bytes, SeriesKey, float]]]


class Scraper:
    """Appends the scrapes of a source to its file, one scrape at a time, from any thread."""

    def __init__(self, read: Read, path: Path, source: SourceLine) -> None:
        self.source = source
        self._read = read
        self._differences = Differences()
        self._lock = threading.Lock()
        self._file = path.open("xb")
        self._file.write(to_line(source))

    def scrape(self) -> None:
        """Scrape once; a missing or unreadable answer is written as a gap."""
        with self._lock:
            if self._file.closed:
                return
            began_ns = time.time_ns()
            try:
                found = list(self._read())
            except Exception as error:  # noqa: BLE001 - a gap of this source, whatever it was; the next may succeed
                reason = (str(error) or type(error).__name__).splitlines()[0]
                self._file.write(to_line(MissedScrape(from_ns=began_ns, to_ns=time.time_ns(), reason=reason)))
            else:
                now_ns = time.time_ns()
                for line in self._differences.lines(now_ns, now_ns - began_ns, found):
                    self._file.write(to_line(line))
            self._file.flush()

    def close(self) -> None:
        with self._lock:
            self._file.close()


ANSWER_S = 10.0
"""A later answer counts as a missed scrape."""


class Measuring:
    """Scrapes all sources from `with` to its end, each in a thread of its own.

    `families` names metric families to keep in addition to crashloop.slo.scrapes.SOURCES (crashloop.slo.rows.families_of).
    """

    def __init__(
        self,
        api: KubeApi,
        info: ClusterInfo,
        folder: Path,
        *,
        interval_s: float = 5.0,
        families: Mapping[str, Iterable[str]] | None = None,
        scraped: Scraped | None = None,
    ) -> None:
        """`folder` is RUN/metrics; it is made. No file in it is overwritten. Only nodes that are `scraped` are; None: all."""
        folder.mkdir(parents=True, exist_ok=True)
        self._api = api
        self._folder = folder
        self._interval_s = interval_s
        self._kept = {source: names | set((families or {}).get(source, ())) for source, names in SOURCES.items()}
        self._account = ProcessAccount(info, counts_held=bool(HELD & self._kept["processes"]))
        self._sample = None if scraped is None else scraped.sample
        sources = info if scraped is None else _with_nodes(info, scraped.nodes)
        self._scrapers = [self._scraper(endpoint) for endpoint in endpoints(sources)]
        self._scrapers.append(self._own("processes", self._account.read))
        names = tuple(node.name for node in info.nodes)
        self._scrapers.append(self._own("nodes", lambda: readiness(api, names)))
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._follow, args=(scraper, index), name=f"measure-{index}", daemon=True)
            for index, scraper in enumerate(self._scrapers)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """One more scrape of everything, then the end."""
        self._stopped.set()
        self.scrape_now()
        for thread in self._threads:
            thread.join(timeout=ANSWER_S)
        for scraper in self._scrapers:
            scraper.close()

    def add_harness(self, pid: int) -> None:
        """Count one more process as part of the harness."""
        self._account.add_harness(pid)

    def scrape_now(self) -> int:
        """Scrape every source now, for the edge of a phase; the time of the last answer, UTC nanoseconds."""
        with ThreadPoolExecutor(len(self._scrapers)) as pool:
            list(pool.map(Scraper.scrape, self._scrapers))
        return time.time_ns()

    def _follow(self, scraper: Scraper, index: int) -> None:
        """At a fixed rate, the sources spread over the interval, so that their requests do not coincide."""
        begin_s = time.monotonic()
        turn = index / len(self._scrapers)
        while not self._stopped.wait(max(0.0, begin_s + turn * self._interval_s - time.monotonic())):
            scraper.scrape()
            # A scrape that took longer than the interval skips the missed turns.
            turn += max(1, -(-(time.monotonic() - begin_s - turn * self._interval_s) // self._interval_s))

    def _scraper(self, endpoint: Endpoint) -> Scraper:
        exposition = Exposition(self._kept[endpoint.source])
        read = partial(_answer, self._api, endpoint.path, exposition)
        return Scraper(read, self._folder / endpoint.file_name, self._source(endpoint.source, endpoint.node))

    def _own(self, source: str, read: Callable[[], Iterable[Sample]]) -> Scraper:
        """A source that is no endpoint."""
        return Scraper(read, self._folder / f"{source}.jsonl", self._source(source, ""))

    def _source(self, source: str, node: str) -> SourceLine:
        families = tuple(sorted(self._kept[source]))
        sample = self._sample if node else None
        return SourceLine(source=source, node=node, interval_s=self._interval_s, families=families, sample=sample)


def _with_nodes(info: ClusterInfo, names: Collection[str]) -> ClusterInfo:
    return msgspec.structs.replace(info, nodes=tuple(node for node in info.nodes if node.name in names))


def _answer(api: KubeApi, path: str, exposition: Exposition) -> list[Sample]:
    return list(exposition.read(api.get_raw(path, answer_s=ANSWER_S)))
