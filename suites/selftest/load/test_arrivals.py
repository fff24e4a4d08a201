"""Arrivals of an open model: at their times, up to a number at once, and sent away in order."""

from collections.abc import Callable

import gevent
from gevent.event import Event

from load.arrivals import Arrivals, to_the_end

WITHIN_S = 10.0


def arrivals(number: int, arrive: Callable[[int], None], dropped: list[int], *, in_flight: int = 1) -> Arrivals:
    """All of them at once."""
    return Arrivals(lambda began_ns: iter([began_ns] * number), in_flight, arrive, dropped.append)


def test_who_finds_no_place_is_dropped() -> None:
    dropped: list[int] = []
    go, came = Event(), []

    def arrive(intended_ns: int) -> None:
        came.append(intended_ns)
        go.wait(WITHIN_S)

    open_model = arrivals(5, arrive, dropped, in_flight=2)
    open_model.start()
    while len(dropped) < 3:
        gevent.sleep(0)
    open_model.stop(timeout_s=WITHIN_S)
    assert (len(came), len(dropped)) == (2, 3)


def test_who_is_sent_away_cleans_up() -> None:
    cleaned, there = [], Event()

    def arrive(_: int) -> None:
        try:
            there.set()
            Event().wait(WITHIN_S)
        finally:
            to_the_end(lambda: cleaned.append("pod"))

    open_model = arrivals(1, arrive, [])
    open_model.start()
    assert there.wait(WITHIN_S)
    open_model.stop(timeout_s=WITHIN_S)
    assert cleaned == ["pod"]


def test_who_is_sent_away_while_cleaning_up_finishes_that_first() -> None:
    """As a pod whose removal was under way when its stage ended: it stayed in the cluster."""
    cleaned, cleaning, go = [], Event(), Event()

    def clean() -> None:
        cleaning.set()
        go.wait(WITHIN_S)
        cleaned.append("pod")

    open_model = arrivals(1, lambda _: to_the_end(clean), [])
    open_model.start()
    assert cleaning.wait(WITHIN_S)
    stopping = gevent.spawn(open_model.stop, timeout_s=WITHIN_S)
    gevent.sleep(0)
    assert not stopping.dead
    go.set()
    stopping.join(timeout=WITHIN_S)
    assert stopping.dead
    assert cleaned == ["pod"]
