"""The steps in a pod's life, as the load generator reads them from a watch.

The lines of a streaming list: all objects have come when its bookmark says so.
"""

import json
from typing import Any

import msgspec

from load.steps import SeenPod, Step, Steps
from load.watch_list import END, why_unended

MS = 1_000_000


def pod(*containers: dict[str, Any], node: str = "", phase: str = "Pending", ready: bool = False) -> SeenPod:
    raw = {
        "metadata": {"name": "p", "resourceVersion": "1"},
        "spec": {"nodeName": node} if node else {},
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": list(containers),
        },
    }
    return msgspec.json.decode(msgspec.json.encode(raw), type=SeenPod)


RUNNING = {"restartCount": 0, "state": {"running": {"startedAt": "x"}}}
WAITING = {"restartCount": 0, "state": {"waiting": {"reason": "ContainerCreating"}}}


def test_each_step_is_reported_once_with_the_time_since_the_pod_was_asked_for() -> None:
    steps = Steps(0)
    assert steps.take(pod(), 5 * MS) == ()
    assert steps.take(pod(node="n"), 10 * MS) == (Step("scheduled", 10),)
    assert steps.take(pod(RUNNING, node="n", ready=True), 30 * MS) == (Step("started", 30), Step("ready", 30))
    assert steps.take(pod(RUNNING, node="n", ready=True), 40 * MS) == ()


def test_a_pod_has_started_only_when_all_of_its_containers_have() -> None:
    steps = Steps(0)
    steps.take(pod(RUNNING, WAITING, node="n"), 10 * MS)
    assert "started" not in steps.reached
    steps.take(pod(RUNNING, RUNNING, node="n"), 20 * MS)
    assert "started" in steps.reached


def test_a_container_that_has_ended_has_started() -> None:
    crashed = {"restartCount": 0, "state": {"terminated": {"exitCode": 1}}}
    assert pod(crashed).has_started
    assert pod({"restartCount": 0, "state": {"waiting": {}}, "lastState": {"terminated": {}}}).has_started


def test_restarts_are_timed_from_the_step_before_and_none_is_skipped() -> None:
    steps = Steps(0)
    steps.take(pod(RUNNING, node="n"), 100 * MS)
    assert steps.take(pod(RUNNING | {"restartCount": 2}, node="n"), 300 * MS) == (
        Step("restart 1", 200),
        Step("restart 2", 0),
    )


def test_restarts_of_all_containers_count_and_later_ones_share_a_name() -> None:
    steps = Steps(0)
    both = RUNNING | {"restartCount": 6}
    names = [step.name for step in steps.take(pod(both, both, node="n"), MS)]
    assert names[-3:] == ["restart 10", "restart 11 and later", "restart 11 and later"]


def test_a_deletion_is_timed_from_its_request() -> None:
    steps = Steps(0)
    steps.deleting_ns = 50 * MS
    assert steps.gone(80 * MS) == Step("deleted", 30)


def test_a_pod_that_succeeded_has_completed() -> None:
    steps = Steps(0)
    assert [step.name for step in steps.take(pod(phase="Succeeded"), MS)] == ["completed"]


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
