"""Messages between a master and its workers on other machines."""

import msgspec
import pytest

from crashloop.stress.assignment import Operation
from load.messages import Journal, Received, Record, clocks_differ_s, packed, unpacked

S = 1_000_000_000


@pytest.mark.parametrize(
    "message",
    [
        Record(serial=3, what=Operation(load="crashers", what="create", pod="crashers-1-0", sent_ns=5, code=201)),
        Record(serial=4, journal=Journal(pod="crashers-1-0", container="main", text="ü\n")),
    ],
    ids=["an operation", "a journal"],
)
def test_a_record_arrives_as_it_was_sent(message: Record) -> None:
    assert unpacked(packed(message), Record) == message


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="missing required field `serial`"):
        unpacked({"what": None}, Record)


@pytest.mark.parametrize(
    ("answered_ns", "differ_s"),
    [(10 * S, 0), (10 * S + 5, 0), (12 * S, 0), (13 * S, -1), (7 * S, 3)],
    ids=["at the question", "between", "at the answer", "behind", "ahead"],
)
def test_clocks_differ_only_by_what_the_way_of_the_messages_cannot_explain(answered_ns: int, differ_s: float) -> None:
    assert clocks_differ_s(asked_ns=10 * S, answered_ns=answered_ns, received_ns=12 * S) == differ_s


@pytest.mark.parametrize(
    ("serials", "lost"),
    [([], 0), ([0, 1, 2], 0), ([1, 0, 2], 0), ([0, 2], 1), ([3], 3)],
    ids=["none", "all", "all in another order", "one", "the first"],
)
def test_records_that_did_not_arrive_are_counted(serials: list[int], lost: int) -> None:
    received = Received()
    for serial in serials:
        received.take(serial)
    assert received.lost == lost
