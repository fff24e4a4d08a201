"""A real kubelet (1.37.1, maximum 2 s) that restarts what completes, recorded on a host at a CPU pressure of more than 60 %.

Judged by the maximum that it has, it passes. Judged as if its maximum were 1 s, it is a kubelet that waits twice as long
as is due, under real pressure: a FAIL, and no excuse. The excerpt leaves out what the API server and the log say.
"""

from pathlib import Path

import pytest

from crashloop.checks.judge import judge
from crashloop.checks.judgement import JudgementInput
from crashloop.history.host import PRESSURE_AT_MOST_S
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome, Verdict
from suites.selftest.kit.cases import requirement

RECORDED = Path(__file__).parent / "data" / "succeeding-max-2s.jsonl"


@pytest.fixture(scope="module")
def recording() -> Recording:
    with RECORDED.open("rb") as lines:
        return read_recording(lines)


def judged(recording: Recording, maximum: str) -> Verdict:
    assert recording.begin is not None
    assert isinstance(recording.begin.scenario, PodScenario)
    return judge(
        JudgementInput(
            requirement=requirement("delays", name="BACKOFF-7"),
            scenario=recording.begin.scenario,
            profile=KubeletProfile(name="max-2s", config={"crashLoopBackOff": {"maxContainerRestartPeriod": maximum}}),
            version=KubernetesVersion.parse(recording.begin.kubernetes_version),
            recording=recording,
        )
    )


def test_the_host_was_under_pressure_and_hardly_a_beat_was_late(recording: Recording) -> None:
    held = recording.host.held(recording.begin_ns, recording.end_ns)
    assert held.missed_s < 0.1
    assert not held.is_named
    assert held.waited_s == PRESSURE_AT_MOST_S


def test_it_keeps_the_bounds_of_its_own_maximum(recording: Recording) -> None:
    assert judged(recording, "2s").outcome is Outcome.PASS


def test_twice_the_delay_due_is_a_fail_under_real_pressure(recording: Recording) -> None:
    verdict = judged(recording, "1s")
    assert verdict.outcome is Outcome.FAIL
    assert verdict.findings[0].startswith(
        'BACKOFF-7: restart 2 of "app" was created 3.288 s after the exit (history lines'
    )
    assert verdict.findings[0].endswith(
        "1 s was due, and 2.65 s at the latest: the counter says 1 s. "
        "All 5 delays of 1 s exceeded their bounds, by 0.101 s to 0.653 s, which no CPU pressure explains."
    )
