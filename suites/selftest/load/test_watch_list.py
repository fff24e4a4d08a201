"""The lines of a streaming list: all objects have come when its bookmark says so."""

import json
from typing import Any

from load.watch_list import END, why_unended


def line(what: str, **thing: Any) -> bytes:
    return json.dumps({"type": what, "object": thing}).encode() + b"\n"


def bookmark(**annotations: str) -> bytes:
    return line("BOOKMARK", kind="Pod", metadata={"resourceVersion": "7", "annotations": annotations})


POD = line("ADDED", kind="Pod", metadata={"name": "p"})


def test_it_ends_with_the_bookmark_of_its_initial_events_and_nothing_after_that_is_read() -> None:
    lines = iter([POD, line("BOOKMARK", metadata={}), bookmark(), POD, bookmark(**{END: "true"}), POD])
    assert why_unended(lines) == ""
    assert list(lines) == [POD]


def test_a_watch_that_ends_without_that_bookmark_has_failed() -> None:
    assert why_unended([POD, bookmark(**{END: "false"})]) == "the watch ended before its initial events did"
    assert why_unended([]) == "the watch ended before its initial events did"


def test_an_error_ends_it() -> None:
    lines = [POD, line("ERROR", kind="Status", code=410), bookmark(**{END: "true"})]
    assert why_unended(lines) == 'the watch was ended: {"kind": "Status", "code": 410}'
