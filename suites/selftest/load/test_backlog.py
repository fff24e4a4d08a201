"""Requests that are kept until they are answered."""

from collections.abc import Callable, Iterator

import gevent
from gevent.event import Event

from load.backlog import Backlog

WITHIN_S = 30.0


def backlog(due: list[int], request: Callable[[int], bool], given_up: list[int], *, in_flight: int = 1) -> Backlog:
    """Requests that are all due at once; the numbers are their intended times."""

    def intended(_: int) -> Iterator[int]:
        return iter(due)

    return Backlog(intended, in_flight, request, given_up.append)


def until(holds: Callable[[], bool]) -> None:
    with gevent.Timeout(WITHIN_S):
        while not holds():
            gevent.sleep(0.001)


def test_a_refused_request_is_sent_again_and_what_waits_goes_by_its_intended_time() -> None:
    tries: list[int] = []

    def request(intended: int) -> bool:
        tries.append(intended)
        return len(tries) > 1

    given_up: list[int] = []
    kept = backlog([5, 3, 9], request, given_up)
    kept.start()
    until(lambda: len(tries) == 4)
    kept.stop(timeout_s=WITHIN_S)
    assert (tries, given_up) == ([5, 3, 5, 9], [])


def test_no_more_requests_than_planned_are_at_the_server_and_all_others_wait() -> None:
    at_server: list[int] = []
    never = Event()

    def request(intended: int) -> bool:
        at_server.append(intended)
        never.wait(WITHIN_S)
        return False

    given_up: list[int] = []
    kept = backlog([1, 2, 3, 4, 5], request, given_up, in_flight=2)
    kept.start()
    until(lambda: len(at_server) == 2)
    kept.give_up()
    assert (at_server, given_up) == ([1, 2], [3, 4, 5])
    kept.stop(timeout_s=WITHIN_S)
    assert given_up == [3, 4, 5, 1, 2]
