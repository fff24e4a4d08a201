"""A failing probe kills after the threshold: neither before nor much later."""

import pytest

from crashloop.spec.scenario import Probe
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import app, checked, good, scenario, told
from suites.selftest.kit.histories import History

PROBED = scenario(app(probe=Probe(fails_after_s=2.0)))
"""Fails from 2 s on, once a second; the third failure kills: after 4 to 6 s."""
WHY = "its liveness probe fails from 2 s on, every 1 s, and 3 failures kill."


def lived(run_s: float | None, *, ends_s: float = 30) -> History:
    ended_s = None if run_s is None else 1 + run_s
    return History(PROBED).lives("app", (1.0, ended_s, 143), journal=False).ends(ends_s)


@pytest.mark.parametrize("run_s", [4.0, 5.0, 7.0])
def test_accepts_a_kill_at_the_threshold(run_s: float) -> None:
    answer = checked("probe-kill", lived(run_s))
    assert told(answer) == []
    assert answer.facts == {"kills": 1}


def test_a_kill_before_the_threshold_is_a_fail() -> None:
    (finding,) = told(checked("probe-kill", lived(3.5)))
    assert finding.startswith('FAIL: "app" was ended 3.5 s after its start (history lines ')
    assert finding.endswith(f"; it was to run for 4 s at least: {WHY}")


@pytest.mark.parametrize("run_s", [8.0, None], ids=["late", "never"])
def test_a_kill_that_is_late_or_never_comes_is_a_fail(run_s: float | None) -> None:
    (finding,) = told(checked("probe-kill", lived(run_s)))
    assert finding.startswith('FAIL: "app" ran on for ')
    assert finding.endswith(f"; it was to be killed within 7 s: {WHY}")


def test_a_late_kill_during_a_stall_is_inconclusive() -> None:
    history = History(PROBED).lives("app", (1.0, 9.0, 143), journal=False).stall(3, 2).ends(30)
    assert checked("probe-kill", history).outcome is Outcome.INCONCLUSIVE


def test_without_a_kill_there_is_nothing_to_judge() -> None:
    assert told(checked("probe-kill", lived(None, ends_s=4))) == [
        "INCONCLUSIVE: 0 kills seen, 1 needed: the scenario was complete."
    ]
    assert checked("probe-kill", good()).outcome is Outcome.INCONCLUSIVE
