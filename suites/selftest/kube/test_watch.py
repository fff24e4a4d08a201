"""A watch survives what happens to watches, loses nothing that can be had, and reports what cannot."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from crashloop.kube.answers import ApiRefusal, hang_up
from crashloop.kube.client import Collection, KubeApi
from crashloop.kube.watch import LOOKING, RECORDING, Changed, Listed, PodObject, PodWatch, Retry, WatchGap
from suites.selftest.kit.kube_peer import HANG, TEAR, Peer, bookmark, change, pod, pod_list, serving, status

Item = Listed[PodObject] | Changed[PodObject] | WatchGap


@contextmanager
def watching(peer: Peer, tmp_path: Path, retry: Retry = RECORDING) -> Iterator[tuple[PodWatch, Iterator[Item]]]:
    with serving(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        watch = PodWatch(api, "ns", label_selector="run=1", retry=retry)
        yield watch, watch.items()
        watch.stop()


def seen(peer: Peer, tmp_path: Path, count: int) -> list[Item]:
    with watching(peer, tmp_path) as (_, items):
        return list(islice(items, count))


def flattened(items: list[Item]) -> list[Any]:
    """The items without their times."""

    def one(item: Item) -> Any:
        if isinstance(item, Listed):
            return "listed", [each.metadata.name for each in item.objects]
        if isinstance(item, Changed):
            return item.type, item.object.metadata.name, item.object.metadata.resource_version
        return "lost" if item.lost else "late"

    return [one(item) for item in items]


A5, A6, A7 = (pod("a", version) for version in (5, 6, 7))


def test_what_is_there_comes_first_then_every_change(tmp_path: Path) -> None:
    peer = Peer(
        [pod_list(5, A5)],
        [[change("MODIFIED", A6), change("ADDED", pod("b", 7)), change("DELETED", pod("a", 8)), HANG]],
    )
    items = seen(peer, tmp_path, 4)
    assert flattened(items) == [("listed", ["a"]), ("MODIFIED", "a", "6"), ("ADDED", "b", "7"), ("DELETED", "a", "8")]
    assert peer.watched_from == ["5"]


def test_a_status_is_kept_as_it_was_sent(tmp_path: Path) -> None:
    peer = Peer([pod_list(5, pod("a", 5, phase="Running", unknown=[1]))], [[HANG]])
    (listed,) = seen(peer, tmp_path, 1)
    assert isinstance(listed, Listed)
    assert bytes(listed.objects[0].status) == b'{"phase": "Running", "unknown": [1]}'


def test_a_watch_that_ends_in_good_order_goes_on_where_it_was(tmp_path: Path) -> None:
    peer = Peer([pod_list(5)], [[change("ADDED", A6)], [], [change("MODIFIED", A7), HANG]])
    assert flattened(seen(peer, tmp_path, 3)) == [("listed", []), ("ADDED", "a", "6"), ("MODIFIED", "a", "7")]
    assert peer.watched_from == ["5", "6", "6"]


def test_a_bookmark_moves_the_place_to_go_on_from(tmp_path: Path) -> None:
    peer = Peer([pod_list(5)], [[bookmark(90)], [change("ADDED", pod("a", 91)), HANG]])
    assert flattened(seen(peer, tmp_path, 2)) == [("listed", []), ("ADDED", "a", "91")]
    assert peer.watched_from == ["5", "90"]


def test_a_connection_that_breaks_within_an_event_makes_what_follows_late_but_loses_nothing(tmp_path: Path) -> None:
    peer = Peer([pod_list(5)], [[change("ADDED", A6), TEAR], [change("MODIFIED", A7), HANG]])
    items = seen(peer, tmp_path, 4)
    assert flattened(items) == [("listed", []), ("ADDED", "a", "6"), "late", ("MODIFIED", "a", "7")]
    before, gap, after = items[1:]
    assert isinstance(before, Changed)
    assert isinstance(gap, WatchGap)
    assert isinstance(after, Changed)
    assert before.received_ns == gap.from_ns <= gap.to_ns <= after.received_ns


def test_a_resource_version_that_is_gone_means_loss_and_a_new_list(tmp_path: Path) -> None:
    gone = change("ERROR", status(410, "Expired", "too old resource version: 6 (9)"))
    peer = Peer([pod_list(5), pod_list(9, pod("b", 9))], [[change("ADDED", A6)], [gone], [HANG]])
    items = seen(peer, tmp_path, 4)
    assert flattened(items) == [("listed", []), ("ADDED", "a", "6"), "lost", ("listed", ["b"])]
    gap = items[2]
    assert isinstance(gap, WatchGap)
    assert gap.reason == "watch pods: the API server answered 410 Expired.\ntoo old resource version: 6 (9)"


def test_gone_as_the_answer_itself_means_the_same(tmp_path: Path) -> None:
    peer = Peer([pod_list(5), pod_list(9)], [status(410, "Gone"), [HANG]])
    assert flattened(seen(peer, tmp_path, 3)) == [("listed", []), "lost", ("listed", [])]


def test_gone_after_a_broken_connection_is_one_gap_and_a_loss(tmp_path: Path) -> None:
    gone = change("ERROR", status(410, "Expired"))
    peer = Peer([pod_list(5), pod_list(9)], [[change("ADDED", A6), TEAR], [gone], [change("MODIFIED", A7), HANG]])
    items = flattened(seen(peer, tmp_path, 5))
    assert items == [("listed", []), ("ADDED", "a", "6"), "lost", ("listed", []), ("MODIFIED", "a", "7")]


def test_a_server_that_cannot_answer_yet_is_asked_again(tmp_path: Path) -> None:
    peer = Peer([pod_list(5)], [status(503, "ServiceUnavailable"), [change("ADDED", A6), HANG]])
    assert flattened(seen(peer, tmp_path, 3)) == [("listed", []), "late", ("ADDED", "a", "6")]
    assert peer.watched_from == ["5", "5"]


def test_while_nothing_is_heard_that_is_known(tmp_path: Path) -> None:
    peer = Peer([pod_list(5)], [status(503, "ServiceUnavailable"), [change("ADDED", A6), HANG]])
    with watching(peer, tmp_path) as (watch, items):
        next(items)
        assert watch.broken_since() is None
        gap = next(items)
        since = watch.broken_since()
        assert isinstance(gap, WatchGap)
        assert since == (gap.from_ns, gap.reason)
        next(items)
        assert watch.broken_since() is None


def test_to_hang_up_where_the_connection_has_ended_meanwhile_is_no_error(tmp_path: Path) -> None:
    peer = Peer([pod_list(5)], [[change("ADDED", A6), HANG]])
    with serving(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        connection = api.watch(Collection("pods", "ns"), resource_version="5", at_most_s=20)
        connection.close()
        with pytest.raises(ValueError, match="Cannot shutdown"):
            connection.shutdown()
        hang_up(connection)


def test_stop_ends_a_watch_that_is_silent(tmp_path: Path) -> None:
    peer = Peer([pod_list(5)], [[change("ADDED", A6), HANG]])
    with watching(peer, tmp_path) as (watch, items):
        list(islice(items, 2))
        watch.stop()
        assert list(items) == []


def test_pauses_of_who_only_looks_grow_and_those_of_who_records_do_not() -> None:
    assert [LOOKING.pause_s(failures) for failures in range(1, 8)] == [1, 2, 4, 8, 16, 20, 20]
    assert {RECORDING.pause_s(failures) for failures in (1, 2, 1000, 100_000)} == {0.2}


THRICE = Retry(first_s=0.01, longest_s=0.01, refusals=3)


@pytest.mark.parametrize(("code", "reason"), [(401, "Unauthorized"), (403, "Forbidden")])
def test_an_api_server_that_goes_on_to_refuse_ends_the_watch(tmp_path: Path, code: int, reason: str) -> None:
    peer = Peer([pod_list(5)], [[change("ADDED", A6)], status(code, reason)])
    with watching(peer, tmp_path, THRICE) as (watch, items):
        assert flattened(list(islice(items, 2))) == [("listed", []), ("ADDED", "a", "6")]
        with pytest.raises(ApiRefusal) as caught:
            next(items)
        since = watch.broken_since()
    assert caught.value.code == code
    assert since is not None
    assert since[1] == str(caught.value)
    assert peer.watched_from == ["5", "6", "6", "6"]


def test_a_few_refusals_and_any_number_of_failures_do_not_end_it(tmp_path: Path) -> None:
    refused, failed = status(403, "Forbidden"), status(503, "ServiceUnavailable")
    script: list[Any] = [refused, refused, *[failed] * 5, refused, refused, [change("ADDED", A6)], refused, refused]
    peer = Peer([pod_list(5)], [*script, [change("MODIFIED", A7), HANG]])
    with watching(peer, tmp_path, THRICE) as (_, items):
        seen = flattened(list(islice(items, 5)))
    assert seen == [("listed", []), "late", ("ADDED", "a", "6"), "late", ("MODIFIED", "a", "7")]
