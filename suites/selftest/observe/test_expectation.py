"""What an assertion about crash loops accepts, and the reason for what it does not."""

import pytest

from crashloop.inference.judging import (
    NOTHING_RESTARTED,
    NodeFinding,
    is_decided,
    judge_node,
    unjudged,
    why_early,
    why_not_followed,
)
from crashloop.inference.loops import CrashLoop
from crashloop.model.config import Curve
from suites.selftest.kit.observed_loops import V1_37, loop_of

MAX_10S = Curve(10.0, 10.0)
TWO_SHORT_WAITS = (2, 4) * 6
"""Far enough apart that no single restart of the kubelet explains them."""


def judged(*waits_s: int, disturbed: str = "") -> tuple[NodeFinding, CrashLoop]:
    loop = loop_of(*waits_s)
    finding = judge_node("worker", (loop,), V1_37, configured=MAX_10S, configured_by="the test", disturbed=disturbed)
    return finding, loop


def early(*waits_s: int, disturbed: str = "") -> list[str]:
    finding, loop = judged(*waits_s, disturbed=disturbed)
    return why_early([finding], {"worker": (loop,)}, {"worker": MAX_10S})


def test_a_node_that_follows_its_curve_is_decided_by_enough_waits() -> None:
    finding, _ = judged(11, 12, 11)
    assert is_decided([finding], waits=3)
    assert why_not_followed([finding], waits=3) == []
    assert not is_decided([finding], waits=4)
    assert why_not_followed([finding], waits=4) == ["node worker: waits that count as evidence: 3 of 4."]


def test_a_node_that_does_not_follow_its_curve_is_named_with_its_waits_and_its_likely_curve() -> None:
    finding, _ = judged(*TWO_SHORT_WAITS)
    assert is_decided([finding], waits=100)
    first, objection, *_, last = why_not_followed([finding], waits=3)
    assert first == "node worker does not follow the curve from 10 s to 10 s."
    assert objection == "ns/web app: restart 2 came 2 s after the exit; at least 10 s was due."
    assert last == "Most likely it follows the curve from 1 s to 2 s."


def test_what_nothing_was_seen_of_is_not_shown() -> None:
    assert not is_decided([], waits=3)
    assert why_not_followed([], waits=3) == [NOTHING_RESTARTED]
    assert why_early([], {}, {}) == [NOTHING_RESTARTED]


def test_one_node_that_agrees_does_not_speak_for_another() -> None:
    agrees, (few, _) = judged(11, 12, 11)[0], judged(11)
    assert not is_decided([agrees, few], waits=3)
    assert why_not_followed([agrees, few], waits=3) == ["node worker: waits that count as evidence: 1 of 3."]


def test_a_node_whose_counters_were_lost_is_not_shown_to_follow() -> None:
    finding, _ = judged(11, 12, 11, disturbed="the node was booted during the observation")
    assert not is_decided([finding], waits=3)
    assert why_not_followed([finding], waits=3) == ["node worker: the node was booted during the observation."]


def test_a_release_without_a_model_is_not_judged() -> None:
    old = unjudged("worker", (loop_of(11, 12),), kubelet_version="1.31.4", note="its release is too old")
    assert why_not_followed([old], waits=3) == ["node worker: its release is too old."]
    assert why_early([old], {}, {}) == [NOTHING_RESTARTED]


@pytest.mark.parametrize("waits_s", [(11,), (11, 12, 11), (11, 90)], ids=["one", "three", "one-too-late"])
def test_restarts_that_are_not_early_pass_even_if_they_are_few_or_late(waits_s: tuple[int, ...]) -> None:
    assert early(*waits_s) == []


def test_every_early_restart_is_listed() -> None:
    assert early(11, *TWO_SHORT_WAITS)[:2] == [
        "ns/web app: restart 3 came 2 s after the exit; at least 10 s was due.",
        "ns/web app: restart 4 came 4 s after the exit; at least 10 s was due.",
    ]


def test_early_restarts_that_a_restarted_kubelet_explains_come_with_that_explanation() -> None:
    reasons = early(11, 4, 11)
    assert reasons[0] == "ns/web app: restart 3 came 4 s after the exit; at least 10 s was due."
    assert reasons[1].startswith("node worker: waits shorter than due: 1, all within 15 s as after a restart")
    assert len(reasons) == 2


def test_a_free_first_restart_is_no_evidence() -> None:
    loop = loop_of(0, first_restart=1)
    finding = judge_node("worker", (loop,), V1_37, configured=MAX_10S)
    assert why_early([finding], {"worker": (loop,)}, {"worker": MAX_10S}) == [NOTHING_RESTARTED]
