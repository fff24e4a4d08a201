"""The highest rate of restarts that keeps every SLO is that of the last step before one breaks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from crashloop.slo.measurements import SloVerdict
from crashloop.stress.highest_rate import highest_rate
from crashloop.stress.judging import judge_run
from crashloop.stress.phases import Measurement, measurements
from crashloop.stress.profile import Slos, Stage
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import row
from suites.selftest.kit.stress_kit import CRASHERS, NODE, Folder, crashing, marks, plan

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
