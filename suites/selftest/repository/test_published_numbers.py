"""The tables of published pages are what the numbers beside them give: nobody edited one without the other, or left one out."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from bench.figures import PAGE, Figure, Measured, kept, page, require_right, stale, worsened
from bench.page.__main__ import MARK, PAGES, PARTS, newest
from bench.page.cores import cores
from bench.page.published import Run, beside, published, write_numbers
from bench.page.spread import Repeat, placements, spread
from crashloop.stress.folder import StressDir, publish_stress
from crashloop.stress.judging import judge_run
from crashloop.stress.profile import StressNode
from suites.selftest.kit.stress_kit import example_run

PUBLISHED = [(page, numbers) for page in PAGES for numbers in sorted(page.with_suffix("").glob("*.slo.json"))]
TABLES = (
    "about",
    "stages",
    "verdicts",
    "requirements",
    "compared",
    "costs",
    "servers",
    "spread",
    "placements",
    "cores",
)
"""The other parts are pictures."""
OPENING = re.compile(r"<!-- (?P<profile>[\w-]+): (?P<part>\w+) -->")


def gaps(page: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Profile and fault of every mark of a page that is not filled, and of every profile without its numbers."""
    parts = {(match["profile"], match["part"]): match[0].splitlines()[1:-1] for match in MARK.finditer(page)}
    named = [(match["profile"], match["part"]) for match in OPENING.finditer(page)]
    for profile, part in named:
        text = parts.get((profile, part))
        if part not in PARTS:
            yield profile, f"<!-- {profile}: {part} --> is no part; expected one of {', '.join(PARTS)}."
        elif text is None:
            yield profile, f"<!-- {profile}: {part} --> has no end."
        elif not any(line.strip() for line in text) or any(OPENING.search(line) for line in text):
            yield profile, f"<!-- {profile}: {part} --> is not filled."
    for profile in dict.fromkeys(profile for profile, _ in named):
        for kind in ("slo", "load"):
            if not (folder / f"{profile}.{kind}.json").is_file():
                yield profile, f"{profile}.{kind}.json is missing."


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_mark_of_a_page_is_filled_from_numbers_beside_it(page: Path) -> None:
    found = gaps(page.read_text(encoding="utf-8"), page.with_suffix(""))
    assert [fault for _, fault in found] == []


MADE_UP = """
<!-- whole: about -->
A run.
<!-- end -->
<!-- bare: about -->
A run without its numbers.
<!-- end -->
<!-- empty: about -->

<!-- end -->
<!-- odd: tables -->
A table.
<!-- end -->
<!-- whole: stages -->
A table.
"""


def test_each_gap_of_a_page_is_named(tmp_path: Path) -> None:
    for name in ("whole.slo", "whole.load", "empty.slo", "odd.slo", "odd.load"):
        (tmp_path / f"{name}.json").touch()
    assert list(gaps(MADE_UP, tmp_path)) == [
        ("empty", "<!-- empty: about --> is not filled."),
        ("odd", "<!-- odd: tables --> is no part; expected one of " + ", ".join(PARTS) + "."),
        ("whole", "<!-- whole: stages --> has no end."),
        ("bare", "bare.slo.json is missing."),
        ("bare", "bare.load.json is missing."),
        ("empty", "empty.load.json is missing."),
    ]


def test_a_mark_that_runs_into_the_next_one_is_not_filled(tmp_path: Path) -> None:
    page = "<!-- whole: about -->\n<!-- whole: stages -->\nA table.\n<!-- end -->\n"
    for kind in ("slo", "load"):
        (tmp_path / f"whole.{kind}.json").touch()
    assert list(gaps(page, tmp_path)) == [
        ("whole", "<!-- whole: about --> is not filled."),
        ("whole", "<!-- whole: stages --> has no end."),
    ]


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


def a_placement(hour: int, node: str, **figures: float | None) -> Repeat:
    return Repeat(
        started=datetime(2026, 11, 24, hour, tzinfo=UTC),
        stages={},
        servers={"limited": figures},
        nodes={"limited": node},
    )


def test_placements_are_compared_server_by_server_in_the_order_of_the_runs() -> None:
    shown = placements(
        [
            a_placement(15, "web", kills=7, unrecovered=1, recovery=None, cpu=0.028),
            a_placement(16, "web-2", kills=6, unrecovered=0, recovery=314.0),
        ]
    )
    assert shown == (
        "Figures of 2 runs, oldest first (they began at 2026-11-24 15:00, 2026-11-24 16:00 UTC):\n\n"
        "| server | node | kills | recovered after (s) | highest backlog | down (%) | CPU (cores) |\n"
        "| --- | --: | --: | --: | --: | --: | --: |\n"
        "| limited | web, web-2 | 7, 6 | not, 314 | –, – | –, – | 0.028, – |"
    )


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


def run_of(root: Path, day: int) -> Run:
    return newest([published_at(root, day)])["example"]


def test_repeats_of_one_load_add_up_over_the_publications_of_a_page(tmp_path: Path) -> None:
    for day in (21, 22, 23):
        run = run_of(tmp_path / f"run-{day}", day)
        write_numbers("example", beside(run, "example", tmp_path), tmp_path)
    found = published(tmp_path, "example")
    assert found is not None
    assert [each.started.day for each in found.repeats] == [21, 22, 23]
    assert [each.started.day for each in beside(run, "example", tmp_path).repeats] == [21, 22, 23]


def test_runs_of_one_load_in_other_placements_are_repeats_of_it(tmp_path: Path) -> None:
    def on(node: str, day: int) -> Run:
        run = run_of(tmp_path / node, day)
        loads = {name: msgspec.structs.replace(each, node=node) for name, each in run.load.loads.items()}
        nodes = tuple(StressNode(name=name, profile="max-1s") for name in ("one", "other"))
        return run._replace(load=msgspec.structs.replace(run.load, loads=loads, nodes=nodes))

    write_numbers("example", on("one", 21), tmp_path)
    assert [each.started.day for each in beside(on("other", 22), "example", tmp_path).repeats] == [21, 22]


def test_a_load_that_changed_begins_its_repeats_anew(tmp_path: Path) -> None:
    write_numbers("example", run_of(tmp_path / "before", 21), tmp_path)
    after = run_of(tmp_path / "after", 22)
    changed = after._replace(load=msgspec.structs.replace(after.load, scrape_every_s=9.0))
    alone = beside(changed, "example", tmp_path)
    assert [each.started.day for each in alone.repeats] == [22]
    (tmp_path / "example.runs.json").write_bytes(b"[]")
    write_numbers("example", alone, tmp_path)
    assert not (tmp_path / "example.runs.json").exists()


def test_a_run_with_a_name_of_its_own_has_the_published_run_of_its_profile_beside_it(tmp_path: Path) -> None:
    usual, other = run_of(tmp_path / "usual", 21), run_of(tmp_path / "other", 22)
    write_numbers("example", usual, tmp_path)
    write_numbers("on-one-core", beside(other, "on-one-core", tmp_path), tmp_path)
    found = published(tmp_path, "on-one-core")
    assert found is not None
    assert found.results.started.day == 22
    assert found.other is not None
    assert found.other.started.day == 21
    assert found.repeats == ()


def measured(*figures: Figure) -> Measured:
    return Measured(
        bench="some",
        measured=datetime(2026, 1, 1, tzinfo=UTC),
        commit="abc",
        kubernetes_version="1.37.1",
        host="2 cores",
        load_average=1.5,
        figures=figures,
    )


def test_the_page_of_numbers_is_what_the_benches_kept() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(kept())


def test_a_figure_stands_beside_its_target_and_the_conditions_of_its_run() -> None:
    text = page([measured(Figure(quantity="judged", value=2.0, unit="s", target=4.0, note="9 events"))])
    assert "2026-01-01 00:00 UTC, commit abc, Kubernetes 1.37.1, 2 cores, load average 1.5." in text
    assert "| judged | 2 s; 9 events | ≤ 4 s | 0.50 |" in text


@pytest.mark.parametrize(
    ("before", "now", "more_is_better", "said"),
    [
        (10.0, 12.0, False, None),
        (10.0, 13.0, False, "some: speed: 13 s is 1.30 times worse than 10 s."),
        (10.0, 13.0, True, None),
        (13.0, 10.0, True, "some: speed: 10 s is 1.30 times worse than 13 s."),
        (0.0, 1.0, False, "some: speed: 1 s is inf times worse than 0 s."),
        (0.0, 0.0, False, None),
    ],
)
def test_a_figure_that_is_worse_by_more_than_a_quarter_is_named(
    before: float, now: float, more_is_better: bool, said: str | None
) -> None:
    one, other = (
        measured(Figure(quantity="speed", value=value, unit="s", more_is_better=more_is_better))
        for value in (before, now)
    )
    assert list(worsened([other], [one])) == ([said] if said else [])


def test_a_figure_without_its_bench_and_one_that_is_old_are_named() -> None:
    at = datetime(2026, 3, 3, tzinfo=UTC)
    assert list(stale([measured()], {"some"}, at)) == ["some: measured 61 days ago, at most 60 are allowed."]
    assert list(stale([measured()], {"some"}, datetime(2026, 3, 2, tzinfo=UTC))) == []
    assert list(stale([measured()], {"other"}, at)) == [
        "some: there is no bench of that name any more; remove docs/numbers/some.json."
    ]


@pytest.mark.parametrize("outcome", ["FAIL", "ERROR"])
def test_a_bench_whose_own_recording_is_accused_ends(outcome: str) -> None:
    with pytest.raises(SystemExit, match=f"The bench's own recording is {outcome}:"):
        require_right(["PASS", outcome])


def test_what_leaves_something_open_accuses_nothing() -> None:
    require_right(["PASS", "INCONCLUSIVE", "KNOWN DEVIATION"])


def test_a_figure_that_is_not_measured_any_more_is_named() -> None:
    figure = Figure(quantity="speed", value=1.0)
    assert list(worsened([measured()], [measured(figure)])) == ["some: speed: not measured any more."]
