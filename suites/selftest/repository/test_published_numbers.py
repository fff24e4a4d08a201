"""The tables of published pages are what the numbers beside them give: nobody edited one without the other."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from bench.page.__main__ import MARK, PAGES, PARTS, newest, published
from bench.page.cores import cores
from bench.page.spread import Repeat, spread
from crashloop.stress.folder import StressDir
from crashloop.stress.judging import judge_run
from crashloop.stress.publishing import publish_stress
from suites.selftest.kit.stress_kit import example_run

PUBLISHED = [(page, numbers) for page in PAGES for numbers in sorted(page.with_suffix("").glob("*.slo.json"))]
TABLES = ("about", "stages", "verdicts", "requirements", "compared", "costs", "servers", "spread", "cores")
"""The other parts are pictures."""


@pytest.mark.parametrize(("page", "numbers"), PUBLISHED, ids=lambda path: path.name)
def test_a_published_table_is_computed_from_the_numbers_beside_it(page: Path, numbers: Path, tmp_path: Path) -> None:
    name = numbers.name.removesuffix(".slo.json")
    run = published(numbers.parent, name)
    assert run is not None
    marks = [match for match in MARK.finditer(page.read_text(encoding="utf-8")) if match["profile"] == name]
    tables = {match["part"]: match[0] for match in marks if match["part"] in TABLES}
    assert "about" in tables
    for part, shown in tables.items():
        assert PARTS[part](run, tmp_path) in shown


def test_numbers_of_a_run_are_published() -> None:
    assert PUBLISHED


def a_repeat(day: int, **figures: float | None) -> Repeat:
    return Repeat(started=datetime(2026, 11, day, tzinfo=UTC), stages={"baseline": {}, "storm": figures})


def test_the_spread_of_runs_is_their_median_with_the_lowest_and_the_highest() -> None:
    shown = spread(
        [a_repeat(23, restarts_per_s=2.0), a_repeat(22, restarts_per_s=4.0), a_repeat(23, restarts_per_s=2.5)]
    )
    assert shown == (
        "Median of 3 runs (2026-11-22, 2026-11-23), with the lowest and the highest:\n\n"
        "|  | baseline | storm |\n| --- | --: | --: |\n| restarts/s | – | 2.50 (2 to 4) |"
    )


def test_a_figure_that_one_run_lacks_is_that_of_the_others() -> None:
    shown = spread([a_repeat(22, restarts_per_s=None), a_repeat(23, restarts_per_s=2.0)])
    assert "| restarts/s | – | 2 |" in shown


def test_a_p99_of_few_events_is_left_out_of_the_spread() -> None:
    few = a_repeat(22, startup_p99_s=9.0, startup_samples=99.0, restarts_per_s=2.0)
    many = a_repeat(23, startup_p99_s=3.0, startup_samples=100.0, restarts_per_s=2.0)
    assert "| start-up of healthy pods p99 (s) | – | 3 |" in spread([few, many])
    assert "start-up of healthy pods p99" not in spread([few])


def published_at(root: Path, day: int) -> StressDir:
    run = example_run(root).run
    publish_stress(run, msgspec.structs.replace(judge_run(run), started=datetime(2026, 11, day, tzinfo=UTC)))
    return run


def test_of_several_runs_of_a_profile_the_newest_is_shown_and_all_are_compared(tmp_path: Path) -> None:
    found = newest([published_at(tmp_path / "late", 23), published_at(tmp_path / "early", 21)])
    assert set(found) == {"example"}
    assert found["example"].results.started.day == 23
    assert [each.started.day for each in found["example"].repeats] == [21, 23]


def test_a_run_on_fewer_cores_stands_beside_that_on_all_of_them_by_the_stages_of_both(tmp_path: Path) -> None:
    many = judge_run(example_run(tmp_path).run)
    assert many.planned is not None
    on_one = msgspec.structs.replace(many.planned, host_cores=1)
    few = msgspec.structs.replace(many, planned=on_one, stages=many.stages[1:])
    shown = cores(few, many).splitlines()
    assert shown[0] == "|  | storm |"
    assert [line.split(" | ")[0] for line in shown[2:4]] == ["| restarts/s, 1 core", "| restarts/s, 2 cores"]
    with pytest.raises(ValueError, match="no numbers of profile example are published to compare with"):
        cores(few, None)
