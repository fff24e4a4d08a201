"""The highest rate of restarts that keeps every SLO is that of the last step before one breaks.

The steps of a load can be replaced by others, and the verdict on the highest rate says by which.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from crashloop.errors import UsageError
from crashloop.slo.measurements import SloVerdict
from crashloop.stress.highest_rate import counts_of, finer, highest_rate, stepped_load, with_steps
from crashloop.stress.judging import judge_run
from crashloop.stress.loads import AnyLoad
from crashloop.stress.phases import Measurement, measurements
from crashloop.stress.profile import FULL, Count, Slos, Stage, StressNode, StressProfile
from crashloop.stress.profiles import load_stress_profile
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import row
from suites.selftest.kit.stress_kit import CRASHERS, HEALTHY, NODE, Folder, crashing, marks, plan

LOADS = {"crashers": CRASHERS}
LATENCY = {"kind": "samples", "of": "restart-lateness"}
ROWS = (
    row(LATENCY, {"at_most": 3, "unit": "s"}, id="late", percentile=50),
    row({"kind": "rate", "of": "restarts"}, {"at_least": 1, "unit": "restarts/s"}, id="rate", phase="storm"),
    row({"kind": "share", "of": "unexpected-restarts"}, {"below": 1, "unit": "%"}, id="of-the-run"),
    row({"kind": "conservation"}, {"at_most": 0, "unit": "starts"}, id="conserved", decided_by="interval"),
    row(LATENCY, {"at_most": 3, "unit": "s"}, id="elsewhere", percentile=50, phase="recovery"),
)
KEEPS = {"late": Outcome.PASS, "rate": Outcome.PASS}
BREAKS = {"late": Outcome.FAIL, "rate": Outcome.PASS}
UNKNOWN = {"late": Outcome.INCONCLUSIVE, "rate": Outcome.INCONCLUSIVE}


def steps(*pods: int, arm: Literal["", "baseline"] = "") -> tuple[Measurement, ...]:
    stages = tuple(
        Stage(name="storm", mix=f"{each} pods", arm=arm, duration_s=10, users={"crashers": each}) for each in pods
    )
    rows = [
        (at, what, 100 * at + 10 * off, 1) for at in range(len(pods)) for off, what in enumerate(("measure", "drain"))
    ]
    return measurements(stages, marks(*rows, stages=stages))


def found(
    *outcomes: Mapping[str, Outcome], pods: tuple[int, ...] = (5, 10, 20), known: str = "", nodes: int = 1
) -> SloVerdict | None:
    def judge(row: object, step: Measurement) -> SloVerdict:
        name = getattr(row, "id", "")
        return SloVerdict(
            slo=name,
            outcome=outcomes[step.index][name],
            mode="report",
            sentence="",
            target=0.0,
            unit="s",
            deviation=name if name == known else None,
        )

    return highest_rate(steps(*pods), LOADS, ROWS, judge, lambda step: float(step.index + 2), nodes=nodes)


def test_it_is_that_of_the_last_step_before_one_breaks() -> None:
    verdict = found(KEEPS, KEEPS, BREAKS)
    assert verdict is not None
    assert (verdict.outcome, verdict.value, verdict.fails_the_run) == (Outcome.PASS, 3.0, False)
    assert verdict.sentence == (
        "highest-rate: 3.0 restarts/s of 10 crashing pods keep all of 2 SLOs that could be judged; "
        "4.0 restarts/s of 20 crashing pods break late. --steps 10,12,15,18,20 narrows it."
    )


def test_steps_that_narrow_it_are_those_of_a_node_where_the_load_is_spread() -> None:
    verdict = found(KEEPS, KEEPS, BREAKS, pods=(250, 500, 1000), nodes=50)
    assert verdict is not None
    assert "3.0 restarts/s of 500 crashing pods keep" in verdict.sentence
    assert verdict.sentence.endswith("--steps 10,12,15,18,20 narrows it.")


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ((KEEPS, KEEPS, KEEPS), "no SLO broke up to 4.0 restarts/s of 20 crashing pods: the limit is higher."),
        ((BREAKS, KEEPS, KEEPS), "break late, in the first step already: the limit is lower."),
        ((KEEPS, UNKNOWN, BREAKS), "and no SLO could be judged at 3.0 restarts/s of 10 crashing pods."),
    ],
    ids=["none breaks", "the first breaks", "nothing is known before"],
)
def test_a_limit_outside_the_steps_is_not_known(outcomes: tuple[Mapping[str, Outcome], ...], words: str) -> None:
    verdict = found(*outcomes)
    assert verdict is not None
    assert (verdict.outcome, verdict.value) == (Outcome.INCONCLUSIVE, None)
    assert verdict.sentence.endswith(words)


def test_a_known_deviation_breaks_no_step() -> None:
    verdict = found(BREAKS, BREAKS, BREAKS, known="late")
    assert verdict is not None
    assert "no SLO broke" in verdict.sentence


@pytest.mark.parametrize("pods", [(5, 10), (5, 5, 10), (20, 10, 5)], ids=["two", "equal", "falling"])
def test_other_loads_have_no_steps(pods: tuple[int, ...]) -> None:
    assert found(*([KEEPS] * len(pods)), pods=pods) is None


def test_arms_of_a_comparison_are_no_steps() -> None:
    assert (
        highest_rate(steps(5, 10, 20, arm="baseline"), LOADS, ROWS, lambda *_: pytest.fail("judged"), lambda _: 0.0)
        is None
    )


EDGES = (("measure", 5), ("drain", 15))
LARGE = """\
description: made up
slos:
  - id: large
    sli: {kind: gauge, source: kubelet, metric: process_resident_memory_bytes}
    target: {at_most: 1, unit: B}
    own_preconditions: [{fact: pods_per_node, at_most: 0}]
    definition: how large the kubelet is
    source: made up
"""


def test_what_a_full_host_makes_of_a_row_is_the_limit_all_the_same(tmp_path: Path) -> None:
    """The row itself has no verdict there."""
    rows = tmp_path / "rows.yaml"
    rows.write_text(LARGE, encoding="utf-8")
    stages = tuple(Stage(name="storm", mix=f"{n} pods", duration_s=10, users={"crashers": n}) for n in (1, 2, 3))
    folder = Folder(tmp_path / "run", plan(stages=stages, slos=Slos(files=(str(rows),))))
    folder.marks(*((index, what, 20 * index + at, 2) for index in range(3) for what, at in EDGES))
    folder.write(folder.pod("crashers-0-0", *crashing(1.0, *([1.4] * 30))))
    folder.scrape("kubelet", range(0, 60, 5), {("process_resident_memory_bytes", ()): [2.0] * 12}, node=NODE)
    verdicts = {each.slo: each for each in judge_run(folder.run).verdicts}
    assert verdicts["large"].outcome is Outcome.INCONCLUSIVE
    assert verdicts["highest-rate"].sentence.endswith("break large, in the first step already: the limit is lower.")


def step(pods: int, *, of: str = "crashers") -> Stage:
    return Stage(name="storm", mix=f"{pods} pods", duration_s=10, users={of: pods})


def test_other_numbers_take_the_place_of_the_steps_and_nothing_else_changes() -> None:
    own, other = load_stress_profile("knee"), load_stress_profile("knee", steps=(20, 25, 30))
    assert [stage.label for stage in other.stages] == ["baseline", "storm, 20 pods", "storm, 25 pods", "storm, 30 pods"]
    assert [stage.users.get("crashers") for stage in other.stages] == [None, 20, 25, 30]
    assert [stage for stage in other.stages if stage in own.stages] == [own.stages[0], own.stages[3]]


def test_another_step_is_as_long_as_the_next_larger_one_of_the_profile() -> None:
    other = load_stress_profile("knee", steps=(20, 21, 40, 120))
    assert [(stage.duration_s, stage.settle_s) for stage in other.stages[1:]] == [
        (60, 8),
        (120, 30),
        (120, 30),
        (120, 30),
    ]


@pytest.mark.parametrize("profile", ["quick", "shapes", "full"])
def test_a_profile_without_steps_is_refused(profile: str) -> None:
    with pytest.raises(UsageError, match=f'--steps: the stages of stress profile "{profile}" are no steps'):
        load_stress_profile(profile, steps=(5, 10, 20))


def test_steps_of_a_profile_may_begin_without_the_load_and_end_with_a_full_node() -> None:
    users: list[dict[str, Count]] = [{}, {"crashers": 10}, {"crashers": FULL}]
    own = [Stage(name="storm", mix=str(each), duration_s=10, users={**each, "healthy": 1}) for each in users]
    loads: dict[str, AnyLoad] = {"crashers": CRASHERS, "healthy": HEALTHY}
    profile = StressProfile(nodes=(StressNode(name="storm", profile="max-1s"),), loads=loads, stages=tuple(own))
    found = with_steps(profile, (5, 20, 40))
    assert [stage.users["crashers"] for stage in found.stages] == [5, 20, 40]
    assert finer(own[0], own[1], "crashers") == (0, 2, 5, 8, 10)


def test_a_step_beyond_the_node_is_refused_like_one_of_the_file() -> None:
    with pytest.raises(UsageError, match="'storm': 251 users of 'crashers'; expected 1 to 250, or full"):
        load_stress_profile("knee", steps=(5, 10, 251))


def test_numbers_are_read_in_order() -> None:
    assert counts_of("20, 25,30") == (20, 25, 30)


@pytest.mark.parametrize("text", ["", "20", "20,25", "20,25,x", "20,25,25", "30,25,20", "20,,30,40", "-1,2,3"])
def test_numbers_that_are_no_steps_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected at least 3 numbers of users, each larger than the one before"):
        counts_of(text)


@pytest.mark.parametrize(
    ("kept", "broken", "counts"),
    [(20, 40, (20, 25, 30, 35, 40)), (5, 10, (5, 6, 7, 9, 10)), (5, 7, (5, 6, 7)), (5, 6, ())],
    ids=["a quarter each", "whole pods", "one between", "none between"],
)
def test_finer_steps_go_from_the_kept_to_the_broken_one(kept: int, broken: int, counts: tuple[int, ...]) -> None:
    assert finer(step(kept), step(broken), "crashers") == counts


def test_stages_whose_loads_differ_are_no_steps() -> None:
    assert stepped_load([step(5), step(10), step(20)]) == "crashers"
    assert stepped_load([step(5), step(10), step(20, of="others")]) is None
    assert stepped_load([step(5), step(10)]) is None
