"""Which recorded containers are loops, and how a loop goes on."""

from pathlib import Path
from random import Random

import msgspec
import pytest

from crashloop.alerts.loops import loops_of
from crashloop.errors import UsageError
from crashloop.rundir import RunDir
from crashloop.spec.scenario import Mode, PodScenario
from suites.selftest.kit.cases import MAX_2S
from suites.selftest.kit.run_dirs import a_run
from suites.selftest.kit.sim_kit import crashing, pod_of, profile
from suites.selftest.kit.simulated_runs import simulated_run

LOOP = crashing(6, mode=Mode.NATURAL)


def test_a_loop_is_its_start_and_its_whole_cycles_at_the_maximum(tmp_path: Path) -> None:
    (loop,), left_out = loops_of(simulated_run(tmp_path, profile("20s"), LOOP))
    assert (loop.maximum_s, [each.restart for each in loop.cycles]) == (20.0, [2, 3, 4, 5])
    assert loop.start[0].at_s == 0
    assert all(20 < each.length_s < 34 for each in loop.cycles)
    assert 0 < loop.shown_s < 1.5
    assert not left_out


def test_a_loop_goes_on_by_its_own_cycles_and_counts_on(tmp_path: Path) -> None:
    (loop,), _ = loops_of(simulated_run(tmp_path, profile("20s"), LOOP))
    states = loop.continued(3600, Random(1))
    counts = [each.status.containers["app"].restart_count + each.more for each in states]
    assert [each.at_s for each in states] == sorted(each.at_s for each in states)
    assert sorted(set(counts)) == list(range(max(counts) + 1))
    assert counts == sorted(counts)
    assert 3600 / 34 < max(counts) < 3600 / 20


def test_orders_differ_by_phase(tmp_path: Path) -> None:
    (loop,), _ = loops_of(simulated_run(tmp_path, profile("20s"), LOOP))
    assert loop.continued(3600, Random("0")) != loop.continued(3600, Random("1"))
    assert loop.continued(3600, Random("0")) == loop.continued(3600, Random("0"))


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (crashing(6), "touched by the run"),
        (crashing(2, mode=Mode.NATURAL), "with less than 2 whole cycles at the maximum"),
    ],
)
def test_what_shows_no_loop_of_users_is_counted_with_its_reason(
    tmp_path: Path, scenario: PodScenario, reason: str
) -> None:
    assert loops_of(simulated_run(tmp_path, profile("20s"), scenario)) == ([], {reason: 1})


def test_two_loops_in_a_pod_have_no_common_cycle(tmp_path: Path) -> None:
    (app,) = LOOP.pod.containers
    two = pod_of(app, msgspec.structs.replace(app, name="other"), restarts={"app": 4, "other": 4}, mode=Mode.NATURAL)
    assert loops_of(simulated_run(tmp_path, profile("20s"), two)) == ([], {"beside another that restarts": 1})


def test_a_stress_run_is_refused(tmp_path: Path) -> None:
    run = a_run(tmp_path, profiles=(MAX_2S,))
    run.write(run.run_json, msgspec.structs.replace(run.info(), suite="stress"))
    with pytest.raises(UsageError, match="holds a stress run; expected a conformance run"):
        loops_of(RunDir.open(run.root))
