"""Messages between a master and its workers on other machines, over Locust's own connection. Pure data.

A worker gets its order before it registers, as a worker of Locust gets a locustfile with `-f -`. All that it records follows
as messages; Locust keeps their order, so they are there before the master learns that the users have stopped.
"""

from typing import Any, TypeVar

import msgspec

from crashloop.stress.assignment import Operation, Order

ORDER = "crashloop: order"
"""Question and Answer, before the worker registers."""
HERE = "crashloop: here"
"""Here: the worker has registered and can start users."""
STAGE = "crashloop: stage"
"""StageBegan, from the master."""
RECORD = "crashloop: record"
"""Record."""

T = TypeVar("T")


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Of a worker that wants its order."""

    version: str
    """Of its crashloop."""
    sent_ns: int


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Of the master."""

    refusal: str = ""
    """A sentence; empty if the worker may join."""
    asked_ns: int
    """`sent_ns` of the question."""
    now_ns: int
    """By the master's clock."""
    number: int = 0
    """Of the worker."""
    order: Order | None = None


class Here(msgspec.Struct, frozen=True, kw_only=True):
    """Of a worker that has registered."""

    number: int


class StageBegan(msgspec.Struct, frozen=True, kw_only=True):
    """Of the master, before the users of a stage start."""

    index: int


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """The log of a container."""

    pod: str
    container: str
    text: str


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a worker wrote."""

    serial: int
    """Counts the records of the worker from 0, so that lost ones are noticed."""
    what: Operation | None = None
    journal: Journal | None = None


class Received(msgspec.Struct):
    """Counts the records of one worker."""

    count: int = 0
    sent: int = 0
    """So many there are, by their serials."""

    def take(self, serial: int) -> None:
        self.count += 1
        self.sent = max(self.sent, serial + 1)

    @property
    def lost(self) -> int:
        return self.sent - self.count


def packed(message: msgspec.Struct) -> dict[str, Any]:
    """As Locust sends it."""
    data: dict[str, Any] = msgspec.to_builtins(message)
    return data


def unpacked(data: Any, kind: type[T]) -> T:
    """Raises msgspec.ValidationError for what is no such message."""
    return msgspec.convert(data, kind)


def clocks_differ_s(*, asked_ns: int, answered_ns: int, received_ns: int) -> float:
    """The least by which two clocks differ, in seconds: positive if the asking one is ahead.

    `answered_ns` is by the other clock, between the two times by the asking one.
    """
    ahead_ns = max(0, asked_ns - answered_ns)
    behind_ns = max(0, answered_ns - received_ns)
    return (ahead_ns - behind_ns) / 1e9
