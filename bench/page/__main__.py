"""Draw the tables and pictures of docs/benchmark.md from stress runs; the prose between them is written by hand.

    python -m bench.page RUN ...

Each run fills the parts of the page that are marked with the name of its profile: <!-- storm-110: stages --> and so on, up to
<!-- end -->. A mark that no run fills stays as it is.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from bench.page.pictures import against, along_time, as_markdown, delays
from bench.page.tables import about, compared, costs, stages, verdicts
from crashloop.report.stress.results import StressResults
from crashloop.stress.folder import StressDir
from crashloop.stress.publishing import published_stress

PAGE = Path(__file__).parents[2] / "docs" / "benchmark.md"
PICTURES = PAGE.with_suffix("")
MARK = re.compile(r"<!-- (?P<profile>[\w-]+): (?P<part>\w+) -->\n.*?<!-- end -->", re.DOTALL)

PARTS: dict[str, Callable[[StressResults], str]] = {
    "about": about,
    "stages": stages,
    "verdicts": verdicts,
    "compared": compared,
    "costs": costs,
    "timeline": lambda results: as_markdown(along_time(results), PICTURES),
    "against": lambda results: as_markdown(against(results), PICTURES),
    "delays": lambda results: as_markdown(delays(results), PICTURES),
}


def filled(page: str, runs: dict[str, StressResults]) -> str:
    """The page with the parts of these runs, by profile."""

    def part(match: re.Match[str]) -> str:
        results = runs.get(match["profile"])
        if results is None:
            return match[0]
        return f"<!-- {match['profile']}: {match['part']} -->\n{PARTS[match['part']](results)}\n<!-- end -->"

    return MARK.sub(part, page)


def main(paths: list[Path]) -> None:
    if not paths:
        sys.exit("Name the stress runs to draw from.")
    found = [published_stress(StressDir.open(path)) for path in paths]
    page = filled(PAGE.read_text(encoding="utf-8"), {each.profile: each for each in found})
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
