"""Draw the tables and pictures of docs/benchmark.md and docs/liveness-loop.md from stress runs; the prose is written by hand.

    python -m bench.page RUN ...

Each run fills the parts of the pages that are marked with the name of its profile: <!-- storm-110: stages --> and so on, up to
<!-- end -->. A mark that no run fills stays as it is.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from bench.page.pictures import against, along_time, as_markdown, backlogs, delays
from bench.page.servers import servers
from bench.page.tables import about, compared, costs, stages, verdicts
from crashloop.report.stress.results import StressResults
from crashloop.stress.folder import StressDir
from crashloop.stress.publishing import published_stress

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "benchmark.md", DOCS / "liveness-loop.md")
MARK = re.compile(r"<!-- (?P<profile>[\w-]+): (?P<part>\w+) -->\n.*?<!-- end -->", re.DOTALL)

PARTS: dict[str, Callable[[StressResults, Path], str]] = {
    "about": lambda results, _: about(results),
    "stages": lambda results, _: stages(results),
    "verdicts": lambda results, _: verdicts(results),
    "compared": lambda results, _: compared(results),
    "costs": lambda results, _: costs(results),
    "servers": lambda results, _: servers(results),
    "timeline": lambda results, pictures: as_markdown(along_time(results), pictures),
    "against": lambda results, pictures: as_markdown(against(results), pictures),
    "delays": lambda results, pictures: as_markdown(delays(results), pictures),
    "backlogs": lambda results, pictures: as_markdown(backlogs(results), pictures),
}
"""By name: the text of a part, from the run and the folder of the page's pictures."""


def filled(page: str, runs: dict[str, StressResults], pictures: Path) -> str:
    """The page with the parts of these runs, by profile."""

    def part(match: re.Match[str]) -> str:
        results = runs.get(match["profile"])
        if results is None:
            return match[0]
        return f"<!-- {match['profile']}: {match['part']} -->\n{PARTS[match['part']](results, pictures)}\n<!-- end -->"

    return MARK.sub(part, page)


def main(paths: list[Path]) -> None:
    if not paths:
        sys.exit("Name the stress runs to draw from.")
    found = [published_stress(StressDir.open(path)) for path in paths]
    for page in PAGES:
        text = filled(page.read_text(encoding="utf-8"), {each.profile: each for each in found}, page.with_suffix(""))
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
