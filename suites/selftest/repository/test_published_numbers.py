"""The tables of published pages are what the numbers beside them give: nobody edited one without the other."""

from pathlib import Path

import msgspec
import pytest

from bench.page.__main__ import MARK, PAGES, PARTS, Run
from crashloop.report.stress.results import StressResults
from crashloop.stress.profile import StressProfile

PUBLISHED = [(page, numbers) for page in PAGES for numbers in sorted(page.with_suffix("").glob("*.slo.json"))]
TABLES = ("about", "stages", "verdicts", "compared", "costs", "servers")
"""The other parts are pictures."""


@pytest.mark.parametrize(("page", "numbers"), PUBLISHED, ids=lambda path: path.name)
def test_a_published_table_is_computed_from_the_numbers_beside_it(page: Path, numbers: Path, tmp_path: Path) -> None:
    results = msgspec.json.decode(numbers.read_bytes(), type=StressResults)
    load = numbers.with_name(f"{results.profile}.load.json")
    run = Run(results, msgspec.json.decode(load.read_bytes(), type=StressProfile))
    marks = [match for match in MARK.finditer(page.read_text(encoding="utf-8")) if match["profile"] == results.profile]
    tables = {match["part"]: match[0] for match in marks if match["part"] in TABLES}
    assert "about" in tables
    for part, shown in tables.items():
        assert PARTS[part](run, tmp_path) in shown


def test_numbers_of_a_run_are_published() -> None:
    assert PUBLISHED
