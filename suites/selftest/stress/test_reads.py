"""Reads of a canary are taken from the operations of the load."""

import pytest

from crashloop.slo.measurements import ApiRead
from crashloop.stress.arrivals import reads_of
from crashloop.stress.assignment import UNSERVED, Operation
from crashloop.stress.loads import AnyLoad, Canary, Demand

LOADS: dict[str, AnyLoad] = {"canary": Canary(node="n"), "web": Demand(node="n", rate_per_s=1)}


def operation(
    load: str, what: str, *, error: str = "", intended_ns: int | None = 1_000_000_000, code: int = 0
) -> Operation:
    return Operation(
        load=load,
        what=what,
        pod="p",
        intended_ns=intended_ns,
        sent_ns=1_500_000_000,
        took_ns=250_000_000,
        error=error,
        code=code,
    )


def test_the_latency_of_a_read_begins_when_it_was_intended() -> None:
    assert list(reads_of(LOADS, [operation("canary", "get")])) == [
        ApiRead(kind="get", intended_ns=1_000_000_000, took_s=0.75)
    ]


def test_refused_and_dropped_reads_have_failed() -> None:
    found = list(reads_of(LOADS, [operation("canary", "list", error="503"), operation("canary", "dropped")]))
    assert [(each.kind, each.failed, each.took_s) for each in found] == [("list", True, 0.75), ("", True, 10.0)]


def test_other_operations_are_no_reads() -> None:
    assert list(reads_of(LOADS, [operation("canary", "create"), operation("web", "dropped")])) == []


@pytest.mark.parametrize("code", UNSERVED)
def test_a_streaming_list_that_is_not_served_has_not_failed(code: int) -> None:
    asked = operation("canary", "watch-list", error="Invalid", intended_ns=None, code=code)
    assert list(reads_of(LOADS, [asked])) == [
        ApiRead(kind="watch-list", intended_ns=1_500_000_000, took_s=0.25, unserved=code)
    ]


def test_any_other_streaming_list_without_its_end_has_failed() -> None:
    answers = [operation("canary", "watch-list", error="late", code=code) for code in (0, 200, 503)]
    assert {(each.failed, each.unserved) for each in reads_of(LOADS, answers)} == {(True, 0)}
    assert [each.failed for each in reads_of(LOADS, [operation("canary", "watch-list", code=200)])] == [False]
    assert [each.failed for each in reads_of(LOADS, [operation("canary", "get", error="Invalid", code=422)])] == [True]
