"""The load generator as a process: Locust itself, against a server that accepts everything."""

import signal
import urllib.request
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue

import psutil
import pytest

from crashloop.stress.assignment import READS, Operation, StageMark, read_jsonl
from crashloop.stress.generator import LOOPBACK, Generator, free_port
from crashloop.stress.loads import AnyLoad, Canary, Rollout
from crashloop.waiting import wait_until
from suites.selftest.kit.load_peer import PODS, Accepting, accepting, missed, write_order

WHOLE = [("begin", 0), ("measure", 3), ("drain", 3), ("end", 0)]


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Accepting]:
    """A peer whose kubeconfig is in the folder."""
    with accepting(tmp_path) as peer:
        yield peer


WITHIN_S = 120.0
"""Ends a wait for what comes in seconds; a host may be busy."""


def created(peer: Accepting) -> None:
    wait_until("three pods to be created", lambda: len(peer.paths("POST")) >= 3, timeout_s=WITHIN_S)


def carried_out(generator: Generator) -> None:
    """Start it and wait until it has ended by itself."""
    generator.start()
    wait_until("the load to be over", generator.has_ended, timeout_s=WITHIN_S)
    generator.stop(within_s=WITHIN_S)


def marks(folder: Path) -> list[tuple[str, int]]:
    return [(mark.what, mark.users) for mark in read_jsonl(folder / "load/stages.jsonl", StageMark)]


def operations(folder: Path) -> list[Operation]:
    return list(read_jsonl(folder / "load/operations-0.jsonl", Operation))


def test_a_stage_comes_is_measured_and_takes_away_what_it_has_made(peer: Accepting, tmp_path: Path) -> None:
    generator = Generator(write_order(tmp_path), workers=0)
    carried_out(generator)
    assert marks(tmp_path) == WHOLE
    assert sorted(each.pod for each in operations(tmp_path) if each.what == "create") == PODS
    assert sorted(peer.paths("DELETE")) == PODS
    assert list(generator.deaths()) == []


def test_a_load_that_is_asked_to_end_takes_away_what_it_has_made(peer: Accepting, tmp_path: Path) -> None:
    generator = Generator(write_order(tmp_path, duration_s=600), workers=0)
    generator.start()
    created(peer)
    generator.stop(within_s=WITHIN_S)
    assert sorted(peer.paths("DELETE")) == PODS
    assert list(generator.deaths()) == []


def test_a_load_whose_runner_is_gone_takes_away_what_it_has_made(peer: Accepting, tmp_path: Path) -> None:
    generator = Generator(write_order(tmp_path, duration_s=600), workers=0)
    generator.start()
    created(peer)
    generator.let_go()
    wait_until("the load to be over", generator.has_ended, timeout_s=WITHIN_S)
    generator.stop(within_s=WITHIN_S)
    assert sorted(peer.paths("DELETE")) == PODS


def test_a_generator_that_was_killed_is_reported_once(peer: Accepting, tmp_path: Path) -> None:
    generator = Generator(write_order(tmp_path, duration_s=600), workers=0)
    generator.start()
    created(peer)
    psutil.Process(generator.pids[0]).send_signal(signal.SIGKILL)
    wait_until("the generator to be gone", generator.has_ended, timeout_s=WITHIN_S)
    (death,) = generator.deaths()
    generator.stop(within_s=WITHIN_S)
    assert death.sentence == "The generator of the load ended with signal 9 (Killed); see load/generator.log."
    assert list(generator.deaths()) == []
    assert peer.paths("DELETE") == []


def test_a_worker_that_is_killed_before_it_connects_keeps_nobody_waiting(peer: Accepting, tmp_path: Path) -> None:
    """The one that leads gives the missing worker up and ends by itself."""
    generator = Generator(write_order(tmp_path), workers=2, workers_within_s=2)
    generator.start()
    psutil.Process(generator.pids[0]).kill()
    wait_until("the generator to give up", generator.has_ended, timeout_s=WITHIN_S)
    assert not generator.has_begun()
    generator.stop(within_s=WITHIN_S)
    assert {death.sentence for death in generator.deaths()} == {
        "The worker 1 of the load ended with signal 9 (Killed); see load/worker-1.log.",
        "The generator of the load ended with exit code 1; see load/generator.log.",
    }
    assert peer.paths("POST") == []


def test_a_generator_that_waits_for_its_workers_ends_with_all_of_them_on_request(
    peer: Accepting, tmp_path: Path
) -> None:
    generator = Generator(write_order(tmp_path), workers=2, workers_within_s=600)
    generator.start()
    psutil.Process(generator.pids[0]).kill()
    log = tmp_path / "load/generator.log"
    wait_until("it to wait for a worker", lambda: "workers to be ready" in log.read_text(), timeout_s=WITHIN_S)
    processes = [psutil.Process(pid) for pid in generator.pids[1:]]
    generator.stop(within_s=WITHIN_S)
    assert [death.worker for death in generator.deaths()] == [1]
    assert not any(process.is_running() for process in processes)


def test_two_workers_share_the_users_of_a_stage(peer: Accepting, tmp_path: Path) -> None:
    generator = Generator(write_order(tmp_path), workers=2)
    carried_out(generator)
    assert marks(tmp_path) == WHOLE
    assert {name.split("-")[1] for name in peer.paths("DELETE")} == {"1", "2"}
    assert len(peer.paths("POST")) == len(peer.paths("DELETE")) == 3
    assert list(generator.deaths()) == []


def test_with_a_web_port_a_load_ends_by_itself(peer: Accepting, tmp_path: Path) -> None:
    generator = Generator(write_order(tmp_path), workers=0, web_port=free_port())
    carried_out(generator)
    assert marks(tmp_path) == WHOLE
    assert sorted(peer.paths("DELETE")) == PODS
    assert list(generator.deaths()) == []
    assert (tmp_path / "load/locust.html").exists()


def test_with_a_web_port_locust_s_page_is_served_until_the_load_is_asked_to_end(
    peer: Accepting, tmp_path: Path
) -> None:
    port = free_port()
    generator = Generator(write_order(tmp_path, duration_s=600), workers=0, web_port=port)
    generator.start()
    created(peer)
    page = served(port, "/").decode()
    assert "<title>Locust</title>" in page
    wait_until(
        "the pods in its figures", lambda: b'"crashers: create"' in served(port, "/stats/requests"), timeout_s=WITHIN_S
    )
    generator.stop(within_s=WITHIN_S)
    assert sorted(peer.paths("DELETE")) == PODS
    assert list(generator.deaths()) == []


def served(port: int, path: str) -> bytes:
    with urllib.request.urlopen(f"http://{LOOPBACK}:{port}{path}", timeout=WITHIN_S) as answer:
        body: bytes = answer.read()
        return body


def test_pods_are_awaited_until_the_watch_shows_that_they_are_gone(peer: Accepting, tmp_path: Path) -> None:
    peer.delete_code, peer.changes = 200, SimpleQueue()
    carried_out(Generator(write_order(tmp_path), workers=0))
    assert missed(operations(tmp_path), "not deleted") == []
    stats = (tmp_path / "load/locust_stats.csv").read_text()
    assert [f"POD,crashers: {step},3,0," in stats for step in ("started", "deleted")] == [True, True]


def test_pods_that_are_not_seen_to_go_are_counted_and_reported(peer: Accepting, tmp_path: Path) -> None:
    peer.delete_code = 200
    carried_out(Generator(write_order(tmp_path, gone_within_s=2), workers=0))
    assert missed(operations(tmp_path), "not deleted") == [(pod, f"{pod} was not deleted within 2 s.") for pod in PODS]
    assert "POD,crashers: deleted,TimeoutError('not deleted within 2 s'),3," in failures(tmp_path)


@pytest.mark.parametrize(
    ("loads", "names"),
    [({}, PODS), ({"work": Rollout(node="storm")}, ["work-0-0", "work-0-1", "work-0-2"])],
    ids=["pods of a storm", "a Deployment"],
)
def test_what_the_api_server_does_not_take_is_counted_and_reported(
    peer: Accepting, tmp_path: Path, loads: dict[str, AnyLoad], names: list[str]
) -> None:
    peer.create_code = 500
    carried_out(Generator(write_order(tmp_path, loads=loads, taken_within_s=1), workers=0))
    assert missed(operations(tmp_path), "not created") == [
        (name, f"{name} was not created within 1 s: the API server answered 500 (Internal Server Error).")
        for name in names
    ]
    assert ": created,TimeoutError('not created within 1 s'),3," in failures(tmp_path)


def test_what_was_made_by_a_request_without_an_answer_is_there(peer: Accepting, tmp_path: Path) -> None:
    """The API server then says that it exists, since nobody else uses its name."""
    peer.create_code = 409
    carried_out(Generator(write_order(tmp_path), workers=0))
    assert len(peer.paths("POST")) == 3
    assert missed(operations(tmp_path), "not created") == []


def failures(folder: Path) -> str:
    """What Locust has counted as failed."""
    return (folder / "load/locust_failures.csv").read_text()


def canary(
    folder: Path, enough: Callable[[list[Operation]], bool], *, answer_within_s: float = 60.0, watch_lists: bool = False
) -> list[Operation]:
    """The reads of three canaries, at least until these are enough."""
    load = Canary(node="storm", rate_per_s=10, answer_within_s=answer_within_s, watch_lists=watch_lists)
    generator = Generator(write_order(folder, duration_s=600, loads={"canary": load}), workers=0)

    def reads() -> list[Operation]:
        return [each for each in operations(folder) if each.what in READS and each.load == "canary"]

    generator.start()
    wait_until("enough reads", lambda: generator.has_begun() and enough(reads()), timeout_s=WITHIN_S)
    generator.stop(within_s=WITHIN_S)
    return reads()


def pods_read(reads: list[Operation]) -> set[str]:
    return {each.pod for each in reads if each.what == "get" and not each.error}


def test_a_canary_reads_its_pod_and_all_pods_in_turn(peer: Accepting, tmp_path: Path) -> None:
    def enough(reads: list[Operation]) -> bool:
        found = [each.what for each in reads]
        return min(found.count("get"), found.count("list")) >= 10 and len(pods_read(reads)) == 3

    reads = canary(tmp_path, enough)
    for pod in pods_read(reads):
        intended = sorted(each.intended_ns or 0 for each in reads if each.pod == pod)
        assert all(later - earlier >= 199_000_000 for earlier, later in pairwise(intended)), "every second read"
    assert pods_read(reads) == {"canary-0-0", "canary-0-1", "canary-0-2"}
    assert not any(each.error for each in reads)
    assert all(each.intended_ns is not None and each.intended_ns <= each.sent_ns for each in reads)
    of_reads = {query for query in peer.queries if "watch" not in query and "worker" not in query}
    assert of_reads == {"", "labelSelector=crashloop.dev%2Frun%3Dr"}


def test_a_read_without_an_answer_has_failed_after_its_time(peer: Accepting, tmp_path: Path) -> None:
    peer.holds = "/pods/canary-0-1"
    others = {"canary-0-0", "canary-0-2"}
    reads = canary(
        tmp_path, lambda reads: any(each.error for each in reads) and pods_read(reads) == others, answer_within_s=0.5
    )
    unanswered = [each for each in reads if each.pod == "canary-0-1"]
    assert all(each.error and each.took_ns >= 490_000_000 for each in unanswered)


def test_a_canary_makes_streaming_lists_in_its_turn_and_ends_them_at_their_bookmark(
    peer: Accepting, tmp_path: Path
) -> None:
    def enough(reads: list[Operation]) -> bool:
        found = [each.what for each in reads]
        return min(map(found.count, READS)) >= 5

    reads = canary(tmp_path, enough, watch_lists=True)
    assert not any(each.error for each in reads)
    assert all(each.intended_ns is not None and each.intended_ns <= each.sent_ns for each in reads)
    assert {each.code for each in reads if each.what == "watch-list"} == {200}
    assert {query for query in peer.queries if "sendInitialEvents" in query} == {
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        "&labelSelector=crashloop.dev%2Frun%3Dr"
    }


def test_where_streaming_lists_are_not_served_lists_take_their_place(peer: Accepting, tmp_path: Path) -> None:
    """Each of the three users asks once."""
    peer.watch_list_code = 422

    def enough(reads: list[Operation]) -> bool:
        return [each.what for each in reads].count("list") >= 15

    reads = canary(tmp_path, enough, watch_lists=True)
    refused = [each for each in reads if each.what == "watch-list"]
    assert [(each.code, each.intended_ns) for each in refused] == [(422, None)] * 3
    others = [each for each in reads if each.what != "watch-list"]
    assert not any(each.error for each in others)
    kinds = [each.what for each in others]
    assert kinds.count("list") > 1.5 * kinds.count("get")


def test_a_streaming_list_that_fails_is_tried_again_in_its_next_turn(peer: Accepting, tmp_path: Path) -> None:
    peer.watch_list_code = 503

    def enough(reads: list[Operation]) -> bool:
        return [each.what for each in reads].count("watch-list") >= 6

    failed = [each for each in canary(tmp_path, enough, watch_lists=True) if each.what == "watch-list"]
    assert {(each.code, each.error) for each in failed} == {(503, '{"kind": "Status"}')}
    assert all(each.intended_ns is not None for each in failed)


def test_a_streaming_list_without_its_bookmark_has_failed_after_its_time(peer: Accepting, tmp_path: Path) -> None:
    peer.bookmarks = False

    def enough(reads: list[Operation]) -> bool:
        return any(each.what == "watch-list" for each in reads)

    reads = canary(tmp_path, enough, watch_lists=True, answer_within_s=0.5)
    unended = [each for each in reads if each.what == "watch-list"]
    assert {(each.code, each.error) for each in unended} == {(0, "the initial events did not end within 0.5 s")}
    assert all(each.took_ns >= 490_000_000 for each in unended)
