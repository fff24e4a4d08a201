"""Every source is scraped into its file; what does not answer is a gap, and what measuring took is stated.

Of many nodes a sample is scraped, which its seed alone decides.
Files of SLO rows and lifecycles.
"""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.provider import ClusterInfo, Node
from crashloop.errors import ClusterError, UsageError
from crashloop.kube.client import KubeApi
from crashloop.measure.measuring import Measuring, Scraped, Scraper, endpoints, scraped
from crashloop.slo.exposition import SeriesKey
from crashloop.slo.measurements import Lifecycle
from crashloop.slo.scrapes import NodeSample, SourceLine
from crashloop.stress.evidence import scraped_of
from crashloop.stress.folder import load_rows, load_scrapes, write_lifecycles
from crashloop.stress.profile import StressNode
from suites.selftest.kit.kube_peer import write_kubeconfig
from suites.selftest.kit.recording_site import cluster_info
from suites.selftest.kit.slo_kit import crasher, restart, started
from suites.selftest.kit.stress_kit import profile

SOURCE = SourceLine(source="kubelet", node="node-1", interval_s=5)
ANSWERS = {
    "/metrics": "apiserver_request_total 5\nown_total 7\nunwanted_total 1\n",
    "/api/v1/nodes/node-1/proxy/metrics": "kubelet_started_containers_total 3\nprocess_start_time_seconds 1.5e9\n",
    "/api/v1/nodes/node-1/proxy/metrics/cadvisor": "machine_cpu_cores 2\n",
    "/api/v1/nodes/node-1/proxy/metrics/resource": "resource_scrape_error 0\n",
}
"""The peer has no answer for the probes."""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        raw = ANSWERS.get(self.path, "").encode()
        self.send_response(200 if raw else 404)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def peer(folder: Path) -> Iterator[KubeApi]:
    """A connection to a server that has metrics, while it serves."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        with closing(KubeApi(str(write_kubeconfig(folder, server.server_port)))) as api:
            yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def info(folder: Path) -> ClusterInfo:
    return cluster_info(
        Node(name="node-1", profile="stock"), provider="existing", kubeconfig=str(folder / "kubeconfig")
    )


def test_all_endpoints_go_through_the_api_server(tmp_path: Path) -> None:
    assert {(each.source, each.file_name): each.path for each in endpoints(info(tmp_path))} == {
        ("apiserver", "apiserver.jsonl"): "/metrics",
        ("kubelet", "kubelet-node-1.jsonl"): "/api/v1/nodes/node-1/proxy/metrics",
        ("cadvisor", "cadvisor-node-1.jsonl"): "/api/v1/nodes/node-1/proxy/metrics/cadvisor",
        ("resource", "resource-node-1.jsonl"): "/api/v1/nodes/node-1/proxy/metrics/resource",
        ("probes", "probes-node-1.jsonl"): "/api/v1/nodes/node-1/proxy/metrics/probes",
    }


def test_every_source_is_scraped_into_a_file_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    with (
        peer(tmp_path) as api,
        Measuring(api, info(tmp_path), folder, interval_s=600, families={"apiserver": ["own_total"]}) as measuring,
    ):
        edge_ns = measuring.scrape_now()
    found = {each.source.source: each for each in load_scrapes(folder)}
    said = {source: {series.name: series.values[-1] for series in each.series} for source, each in found.items()}
    assert said["apiserver"] == {"apiserver_request_total": 5.0, "own_total": 7.0}
    assert said["kubelet"] == {"kubelet_started_containers_total": 3.0, "process_start_time_seconds": 1.5e9}
    assert said["cadvisor"] == {"machine_cpu_cores": 2.0}
    assert "component_cpu_seconds_total" in said["processes"]
    assert any(t_ns <= edge_ns for t_ns in found["kubelet"].t_ns)
    assert any(t_ns > edge_ns for t_ns in found["kubelet"].t_ns)  # one more at the end


def test_only_the_sample_of_the_nodes_is_scraped_and_its_files_say_so(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    sample = NodeSample(scraped=1, of=3, seed=7)
    nodes = tuple(Node(name=f"node-{number}", profile="stock") for number in (1, 2, 3))
    cluster = msgspec.structs.replace(info(tmp_path), nodes=nodes)
    with (
        peer(tmp_path) as api,
        Measuring(api, cluster, folder, interval_s=600, scraped=Scraped(frozenset({"node-1"}), sample)),
    ):
        pass
    found = load_scrapes(folder)
    assert {(each.source.source, each.source.node): each.source.sample for each in found} == {
        ("apiserver", ""): None,
        ("kubelet", "node-1"): sample,
        ("cadvisor", "node-1"): sample,
        ("resource", "node-1"): sample,
        ("probes", "node-1"): sample,
        ("processes", ""): None,
        ("nodes", ""): None,
    }


@pytest.mark.parametrize("named", [True, False])
def test_files_of_the_cluster_are_counted_only_if_a_row_names_them(tmp_path: Path, named: bool) -> None:
    folder = tmp_path / "metrics"
    nodes = (Node(name="node-1", profile="stock", pod_logs=str(tmp_path / "logs")),)
    cluster = msgspec.structs.replace(info(tmp_path), nodes=nodes)
    families = {"processes": ["cluster_files"]} if named else {}
    with peer(tmp_path) as api, Measuring(api, cluster, folder, interval_s=600, families=families):
        pass
    (found,) = (each for each in load_scrapes(folder) if each.source.source == "processes")
    assert ("cluster_files" in {series.name for series in found.series}) is named


def test_a_source_that_never_answers_has_gaps_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    with peer(tmp_path) as api, Measuring(api, info(tmp_path), folder, interval_s=600) as measuring:
        measuring.scrape_now()
    found = {each.source.source: each for each in load_scrapes(folder)}
    assert (len(found["kubelet"].t_ns) >= 2, found["kubelet"].gaps) == (True, ())
    probes = found["probes"]
    assert (probes.t_ns, len(probes.gaps) >= 2) == ((), True)
    assert probes.gaps[0].reason == (
        "read /api/v1/nodes/node-1/proxy/metrics/probes: the API server answered 404 Not Found."
    )


def test_a_source_that_fails_now_and_then_has_gaps(tmp_path: Path) -> None:
    answers: list[float | Exception] = [1.0, ClusterError("read /metrics: timed out.\nmore"), KeyError(), 4.0]

    def read() -> list[tuple[bytes, SeriesKey, float]]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [(b"a", SeriesKey("a", {}), answer)]

    scraper = Scraper(read, tmp_path / "kubelet.jsonl", SOURCE)
    for _ in range(4):
        scraper.scrape()
    scraper.close()
    scraper.scrape()
    (scrapes,) = load_scrapes(tmp_path)
    assert [gap.reason for gap in scrapes.gaps] == ["read /metrics: timed out.", "KeyError"]
    assert [series.values.tolist() for series in scrapes.series] == [[1.0, 4.0]]


def test_a_file_of_another_run_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "kubelet.jsonl").write_text("evidence")
    with pytest.raises(FileExistsError):
        Scraper(list, tmp_path / "kubelet.jsonl", SOURCE)


FIFTY = [f"worker-{number}" for number in range(50)]


@pytest.mark.parametrize("nodes", [1, 8], ids=["one", "as-many-as-may-be"])
def test_few_nodes_are_all_scraped(nodes: int) -> None:
    found = scraped(FIFTY[:nodes], at_most=8, seed=1)
    assert (found.nodes, found.sample) == (frozenset(FIFTY[:nodes]), None)


def test_of_many_a_sample_is_scraped_and_says_so() -> None:
    found = scraped(FIFTY, at_most=8, seed=1)
    assert len(found.nodes) == 8
    assert found.sample == NodeSample(scraped=8, of=50, seed=1)
    assert found.sample.words == "8 of 50 nodes, a sample by seed 1"


def test_the_seed_decides_the_sample_and_the_order_of_the_names_does_not() -> None:
    assert scraped(reversed(FIFTY), at_most=8, seed=1) == scraped(FIFTY, at_most=8, seed=1)
    assert scraped(FIFTY, at_most=8, seed=2).nodes != scraped(FIFTY, at_most=8, seed=1).nodes


def test_a_further_node_changes_at_most_one_of_the_sample() -> None:
    before = scraped(FIFTY, at_most=8, seed=1).nodes
    for number in range(20):
        assert len(before - scraped([*FIFTY, f"new-{number}"], at_most=8, seed=1).nodes) <= 1


def test_both_arms_of_a_comparison_are_scraped() -> None:
    nodes = (StressNode(name="a", profile="max-1s", arm="baseline"), StressNode(name="b", profile="max-1s"))
    assert scraped_of(profile(nodes=nodes, scrape_nodes=1), ["a", "b"]).nodes == {"a", "b"}
    assert len(scraped_of(profile(nodes=nodes[1:], scrape_nodes=1), ["a", "b"]).nodes) == 1


PODS = (crasher(restart(1, 2), restart(4, None), starts_ns={"app": (1, 2)}, restart_counts={"app": 1}), started(1, 2))


def test_lifecycles_are_written_one_pod_a_line_and_are_no_scrapes(tmp_path: Path) -> None:
    write_lifecycles(tmp_path, PODS)
    lines = (tmp_path / "lifecycles.jsonl").read_bytes().splitlines()
    assert tuple(msgspec.json.decode(line, type=Lifecycle) for line in lines) == PODS
    assert load_scrapes(tmp_path) == ()


def test_rows_of_several_files_keep_their_order() -> None:
    rows = load_rows("node", "official")
    assert rows[0].id == "pleg-relist"
    assert {row.id for row in rows} < {row.id for row in load_rows()}


def test_an_id_is_given_once_over_all_files() -> None:
    with pytest.raises(UsageError) as raised:
        load_rows("canary", "canary")
    assert str(raised.value) == (
        "SLOs api-get-latency, api-list-latency, api-reads-failed, api-watch-list-latency, nodes-ready: defined more than once, "
        "in canary, canary."
    )


def test_a_file_of_the_users_own_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    with pytest.raises(UsageError, match=f'SLOs "own": {path} cannot be read'):
        load_rows(path)
    path.write_text("slos: []")
    with pytest.raises(UsageError, match=r"own\.yaml: expected a description and a list of slos"):
        load_rows(str(path))
