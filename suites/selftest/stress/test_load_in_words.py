"""Where a report says that the load came from."""

import html
from pathlib import Path

import msgspec
import pytest

from crashloop.report.html import to_html
from crashloop.report.stress.document import stress_document
from crashloop.stress.judging import judge_run
from suites.selftest.kit.stress_kit import example_run


@pytest.mark.parametrize(
    ("workers", "elsewhere", "words"),
    [
        (0, False, "The load came from one process on the nodes' host"),
        (2, False, "The load came from a master and 2 workers on the nodes' host"),
        (
            2,
            True,
            "The load came from a master and 2 workers: the workers ran on other machines, the master on the nodes' host",
        ),
    ],
    ids=["one process", "workers of the host", "workers of other machines"],
)
def test_a_report_says_where_the_load_came_from(tmp_path: Path, workers: int, elsewhere: bool, words: str) -> None:
    results = judge_run(example_run(tmp_path / "run").run)
    assert results.planned is not None
    planned = msgspec.structs.replace(results.planned, workers=workers, are_workers_elsewhere=elsewhere)
    page = html.unescape(to_html(stress_document(msgspec.structs.replace(results, planned=planned))))
    assert words in page
