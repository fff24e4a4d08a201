"""Draw the tables and pictures of docs/benchmark.md and docs/liveness-loop.md from stress runs; the prose is written by hand.

    python -m bench.page RUN ...
    python -m bench.page --as NAME RUN      (a run under other conditions than the page's own of its profile)

The numbers behind a page are beside its pictures, for others to compute with: <profile>.slo.json, the load as it was planned
(<profile>.load.json), and the cost of a restart (<profile>.costs.json), if it was measured.

Each run fills the parts of the pages that are marked with the name of its profile: <!-- storm-110: stages --> and so on, up to
<!-- end -->. A mark that no run fills stays as it is. Of several runs of one profile the newest does, and <!-- quick: spread -->
compares them all, with those of the same load that were published before (<profile>.runs.json), whatever their placement;
<!-- demand: placements --> does so server by server. A run with a NAME of its own
fills the marks with that name, and <!-- knee-1-core: cores --> puts it beside the published run of its profile.
"""

import argparse
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from bench.page.cores import cores
from bench.page.pictures import against, along_time, as_markdown, backlogs, delays
from bench.page.published import Run, anywhere, beside, write_numbers
from bench.page.servers import servers
from bench.page.spread import placements, repeat_of, spread
from bench.page.tables import about, compared, costs, requirements, stages, verdicts
from crashloop.report.stress.results import StressResults
from crashloop.stress.folder import StressDir, published_stress
from crashloop.stress.profile import StressProfile

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "benchmark.md", DOCS / "liveness-loop.md")
MARK = re.compile(r"<!-- (?P<profile>[\w-]+): (?P<part>\w+) -->\n.*?<!-- end -->", re.DOTALL)


PARTS: dict[str, Callable[[Run, Path], str]] = {
    "about": lambda run, _: about(run.results),
    "stages": lambda run, _: stages(run.results),
    "verdicts": lambda run, _: verdicts(run.results),
    "requirements": lambda run, _: requirements(run.results),
    "compared": lambda run, _: compared(run.results),
    "costs": lambda run, _: costs(run.results),
    "spread": lambda run, _: spread(run.repeats),
    "placements": lambda run, _: placements(run.repeats),
    "cores": lambda run, _: cores(run.results, run.other),
    "servers": lambda run, _: servers(run.results, run.load),
    "timeline": lambda run, pictures: as_markdown(along_time(run.results), pictures),
    "against": lambda run, pictures: as_markdown(against(run.results), pictures),
    "delays": lambda run, pictures: as_markdown(delays(run.results), pictures),
    "backlogs": lambda run, pictures: as_markdown(backlogs(run.results), pictures),
}
"""By name: the text of a part, from the run and the folder of the page's pictures."""


def filled(page: str, runs: dict[str, Run], pictures: Path) -> str:
    """The page with the parts of these runs, by profile."""

    def part(match: re.Match[str]) -> str:
        run = runs.get(match["profile"])
        if run is None:
            return match[0]
        return f"<!-- {match['profile']}: {match['part']} -->\n{PARTS[match['part']](run, pictures)}\n<!-- end -->"

    return MARK.sub(part, page)


def newest(folders: Iterable[StressDir]) -> dict[str, Run]:
    """The newest run of each profile, with the figures of all that have its load."""
    found: dict[str, list[tuple[StressResults, StressProfile]]] = {}
    for folder in folders:
        load = folder.stress_plan().load
        found.setdefault(load.name, []).append((published_stress(folder), load))
    by_profile = {}
    for name, runs in found.items():
        runs.sort(key=lambda run: run[0].started)
        alike = [(results, load) for results, load in runs if anywhere(load) == anywhere(runs[-1][1])]
        by_profile[name] = Run(*runs[-1], tuple(repeat_of(*each) for each in alike))
    return by_profile


def main(paths: list[Path], name: str | None) -> None:
    runs = newest(StressDir.open(path) for path in paths)
    for page in PAGES:
        folder = page.with_suffix("")
        named = {each: beside(run, each, folder) for each, run in ((name or own, run) for own, run in runs.items())}
        text = filled(page.read_text(encoding="utf-8"), named, folder)
        page.write_text(text, encoding="utf-8")
        for each, run in named.items():
            if any(match["profile"] == each for match in MARK.finditer(text)):
                write_numbers(each, run, folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--as", metavar="NAME", dest="name", help="the name of its marks (default: that of its profile)"
    )
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+")
    options = parser.parse_args()
    if options.name is not None and len(options.runs) != 1:
        parser.error(f"--as {options.name}: expected one RUN, not {len(options.runs)}")
    main(options.runs, options.name)
