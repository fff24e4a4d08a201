"""A history that the recorder wrote beside a real kubelet (1.37.1, maximum 2 s) is one that the rest can read.

The container runs 1 s and exits with 1, 3 and 0 under restartPolicy OnFailure.
"""

from itertools import pairwise
from pathlib import Path

import pytest

from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.history.stamps import Fact

RECORDED = Path(__file__).parent / "data" / "recorded-on-failure.jsonl"


@pytest.fixture(scope="module")
def recording() -> Recording:
    with RECORDED.open("rb") as lines:
        return read_recording(lines)


def instances(recording: Recording) -> tuple[Instance, ...]:
    (pod,) = recording.pods
    return pod.instances("app")


def test_it_is_whole(recording: Recording) -> None:
    (pod,) = recording.pods
    assert recording.damage == ()
    assert recording.gaps == ()
    assert pod.contradictions == ()
    assert pod.channels == {Channel.RUNTIME, Channel.JOURNAL, Channel.API, Channel.KUBELET}
    assert recording.end is not None
    assert recording.end.reason == "complete"


def test_both_ground_truths_tell_of_every_life(recording: Recording) -> None:
    assert [(each.ordinal, each.life, each.exit_code) for each in instances(recording)] == [
        (0, 0, 1),
        (1, 1, 3),
        (2, 2, 0),
    ]


def test_delays_by_the_journal_are_those_of_the_runtime_to_within_its_resolution(recording: Recording) -> None:
    def delay_ms(before: Fact | None, after: Fact | None) -> float:
        assert before is not None
        assert after is not None
        return (after.own_ns - before.own_ns) / 1e6

    differences = [
        delay_ms(before.journal_exited, after.journal_started) - delay_ms(before.exited, after.started)
        for before, after in pairwise(instances(recording))
    ]
    assert [round(each, 1) for each in differences] == [6.5, 4.1]


def test_the_statuses_tell_of_the_same_exits(recording: Recording) -> None:
    (pod,) = recording.pods
    last = pod.statuses[-1]
    assert last.phase == "Succeeded"
    assert last.containers["app"].restart_count == 2
    assert last.containers["app"].state.exit_code == 0


def test_the_node_ran_the_profile_that_was_asked_for(recording: Recording) -> None:
    (node,) = recording.nodes
    assert node.data.matches_profile is True


def test_the_heartbeat_covers_all_of_it(recording: Recording) -> None:
    assert recording.host.covers(recording.begin_ns, recording.end_ns)
