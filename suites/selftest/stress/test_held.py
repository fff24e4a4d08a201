"""What restarts leave behind is drawn over time, for every row that judges its growth."""

from pathlib import Path

import msgspec

from crashloop.report.stress.plots import rows
from crashloop.report.stress.results import Series
from crashloop.stress.judging import judge_run
from crashloop.stress.timeline import held
from suites.selftest.kit.slo_kit import Values, ns, row, scrapes
from suites.selftest.kit.stress_kit import example_run

NONE = {"at_most": 0.1, "unit": "per restart"}
SOURCE = {"kind": "growth", "source": "processes", "per": "restarts"}
FILES = row(SOURCE | {"metric": "cluster_files"}, NONE, id="inodes-left")
IDS = row(SOURCE | {"metric": "component_process_ids"}, NONE, id="process-ids-left")
OTHER = row({"kind": "samples", "of": "restart-lateness"}, {"at_most": 3, "unit": "s"}, percentile=99)
GAUGES: Values = {
    ("cluster_files", ()): (400, 500, 450),
    ("component_process_ids", (("component", "kubelet"), ("node", "node-1"))): (10, 11, 12),
    ("component_process_ids", (("component", "runtime"), ("node", "node-1"))): (20, 300, 21),
    ("component_open_files", (("component", "kubelet"), ("node", "node-1"))): (30, 31, 32),
}


def lines() -> list[Series]:
    sources = [
        scrapes([5, 10, 15], GAUGES, source="processes", node=""),
        scrapes([5, 10, 15], {("cluster_files", ()): (1, 2, 3)}, source="kubelet"),
    ]
    return list(held([FILES, OTHER, IDS], sources, began_ns=ns(5)))


def test_a_row_about_growth_has_a_line_for_each_of_its_series_and_no_other_row_has_one() -> None:
    assert [(each.name, each.node) for each in lines()] == [
        ("held, files and folders: ", "whole cluster"),
        ("held, process ids: kubelet", "node-1"),
        ("held, process ids: runtime", "node-1"),
    ]


def test_a_line_has_every_scrape_in_seconds_since_the_load_began() -> None:
    assert lines()[0].points == ((0.0, 400.0), (5.0, 500.0), (10.0, 450.0))


def test_a_series_without_a_value_has_no_line() -> None:
    """A run that was killed between the name of a series and its first value."""
    source = scrapes([5], {("cluster_files", ()): [None]}, source="processes", node="")
    assert list(held([FILES], [source], began_ns=ns(5))) == []


def test_the_report_has_a_plot_for_each_gauge(tmp_path: Path) -> None:
    results = msgspec.structs.replace(judge_run(example_run(tmp_path / "run").run), series=tuple(lines()))
    assert [
        (each.title, [line.name for chart in each.charts for line in chart.lines]) for each in rows(results)[-2:]
    ] == [
        ("files and folders", ["files and folders"]),
        ("process ids", ["kubelet", "runtime"]),
    ]
