"""What has not ended counts alike in figures of stages, in comparisons and in SLO rows."""

import msgspec
import pytest

from crashloop.slo.judge import judge
from crashloop.slo.measurements import Lifecycle, SliResult
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.comparing import ComparedRun, comparisons
from crashloop.stress.figures import figures
from crashloop.stress.folder import load_rows
from crashloop.stress.loads import Churn
from crashloop.stress.phases import measurements
from crashloop.stress.profile import Stage, StressNode
from crashloop.stress.requirements import sample_targets
from suites.selftest.kit.slo_kit import crasher, measured, phase, restart, started
from suites.selftest.kit.stress_kit import MAX_1S, marks, plan

TARGETS = sample_targets(())
NEVER_STARTED = started(1, None, seen_until_s=41)
STILL_HAD_TIME = started(98, None)
LATE = (crasher(restart(10, 2), restart(12.1, None)), crasher(restart(96.5, 2), restart(98.6, None), pod="p2"))
PODS = (started(2, 1), started(3, 1), NEVER_STARTED, STILL_HAD_TIME, *LATE)


def of_row(row_id: str) -> SliResult:
    (row,) = (row for row in load_rows() if row.id == row_id)
    return judge(row, measured(lifecycles=PODS)).results[0]


def test_figures_and_rows_say_the_same() -> None:
    found = figures(phase(), [], PODS, TARGETS)
    startup, lateness = of_row("healthy-neighbour-startup"), of_row("restart-lateness")
    assert (found["startup_samples"], found["startup_open"], found["startup_p99_s"]) == (3, 2, 40)
    assert (startup.samples, startup.value) == (3, 40)
    assert (found["lateness_samples"], found["lateness_open"], found["lateness_p99_s"]) == (3, 2, 86.9)
    assert lateness.samples == 3
    assert lateness.value == pytest.approx(86.9)


def test_where_all_has_come_to_its_end_nothing_is_open() -> None:
    found = figures(phase(), [], PODS[:2], TARGETS)
    assert (found["startup_samples"], found["startup_open"], found["lateness_open"]) == (2, 0, 0)


def test_from_how_long_on_an_open_event_counts_is_what_the_rows_promise() -> None:
    assert (TARGETS["pod-startup"], TARGETS["restart-lateness"]) == (5.0, 3.0)


NODES = (
    StressNode(name="a", profile="max-300s", arm="baseline"),
    StressNode(name="b", profile="max-1s", arm="treatment"),
)
LOADS = {"on-a": Churn(node="a", rate_per_s=1), "on-b": Churn(node="b", rate_per_s=1)}
BLOCKS = (
    Stage(name="storm", duration_s=10, users={"on-a": 1}, settle_s=0, arm="baseline", mix="all"),
    Stage(name="storm", duration_s=10, users={"on-b": 1}, settle_s=0, arm="treatment", mix="all"),
)


def block(index: int) -> list[Lifecycle]:
    """Pods of one block of 20 s: three that start in a second, and with the treatment five that never do."""
    began_s = 20.0 * index
    lost = [started(began_s + 3 + at, None, seen_until_s=began_s + 33 + at) for at in range(5)] if index % 2 else []
    return [*(started(began_s + at, 1) for at in range(3)), *lost]


def test_pods_that_never_start_are_an_effect() -> None:
    the_plan = plan(KubeletProfile(name="max-300s"), MAX_1S, nodes=NODES, loads=LOADS, stages=BLOCKS, rounds=2)
    rows = [(index, what, 20 * index + at, 1) for index in range(4) for what, at in (("measure", 0), ("drain", 10))]
    stages = measurements(the_plan.stages, marks(*rows, stages=the_plan.stages))
    pods = [
        msgspec.structs.replace(pod, pod=f"h{index}", node="ab"[index % 2])
        for index in range(4)
        for pod in block(index)
    ]
    (found,) = comparisons(ComparedRun(the_plan, {"a": "a", "b": "b"}, [], pods, TARGETS), stages)
    effects = {(each.what, each.statistic): each for each in found.effects}
    startup = effects["start-up of healthy pods", "p50"]
    assert (startup.baseline, startup.treatment, startup.samples) == (1, 30, (6, 16))
