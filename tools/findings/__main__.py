"""The pictures of docs/findings, from recorded runs.

python -m tools.findings RUN ...            which picture each run has the history, or the plot, of
python -m tools.findings RUN ... --write    write docs/findings/images; a picture that no run has stays as it is
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from crashloop.errors import UsageError
from crashloop.report.stress.results import SUITE as STRESS
from crashloop.report.timeline import FROM_CREATION, Timeline
from crashloop.rundir import RunDir
from crashloop.stress.folder import StressDir, published_stress
from tools.findings.cutting import cut
from tools.findings.pictures import Picture, load_pictures
from tools.findings.plots import ReportPlot, drawn_plot, load_plots
from tools.findings.subjects import subjects
from tools.svg_files import timeline_file

IMAGES = Path(__file__).parents[2] / "docs" / "findings" / "images"


def drawn(picture: Picture, timelines: tuple[Timeline, ...], of: str) -> str:
    """The file of a picture. `of` says which run it is from."""
    label = FROM_CREATION
    if not timelines[0].pod:
        label = "seconds from the start of the kubelet"
    elif picture.from_s:
        label = f"seconds from {picture.from_s:g} s after the creation of the pod"
    heading = f"{picture.heading} ({picture.scenario}, {of})"
    return timeline_file([cut(each, picture) for each in timelines], heading=heading, axis_label=label)


def of_histories(run: RunDir, pictures: Mapping[str, Picture]) -> Iterator[tuple[str, str]]:
    """Names and files of the pictures whose scenario the conformance run has recorded."""
    plan = run.plan()
    of = f"Kubernetes {plan.kubernetes_version}, {run.info().started:%d %B %Y}"
    for name, picture in pictures.items():
        if found := subjects(run, plan, picture):
            yield name, drawn(picture, found, of)


def of_reports(run: StressDir, plots: Mapping[str, ReportPlot]) -> Iterator[tuple[str, str]]:
    """Names and files of the pictures whose plot the report of the stress run has."""
    results = published_stress(run)
    for name, picture in plots.items():
        if svg := drawn_plot(picture, results):
            yield name, svg


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns its exit code: 1 if a picture is in none of the runs."""
    parser = argparse.ArgumentParser(prog="python -m tools.findings", description="The pictures of docs/findings.")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run directory; the first that has a picture")
    parser.add_argument("--write", action="store_true", help="write the pictures")
    options = parser.parse_args(arguments)
    pictures, plots = load_pictures(), load_plots()
    for path in options.runs:
        run = RunDir.open(path)
        is_stress = run.info().suite == STRESS
        found = of_reports(StressDir.open(path), plots) if is_stress else of_histories(run, pictures)
        for name, svg in list(found):
            what = plots.pop(name).title if is_stress else pictures.pop(name).scenario
            sys.stdout.write(f"{name}: {what} of {run.name}\n")
            if options.write:
                (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")
    missing = {name: each.scenario for name, each in pictures.items()} | {
        name: each.title for name, each in plots.items()
    }
    for name, what in missing.items():
        sys.stdout.write(f"{name}: no run has {what}\n")
    return 1 if missing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
