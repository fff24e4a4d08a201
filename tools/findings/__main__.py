"""The pictures of docs/findings, from recorded runs.

python -m tools.findings RUN ...            which picture each run has the history of
python -m tools.findings RUN ... --write    write docs/findings/images; a picture that no run has stays as it is
"""

import argparse
import sys
from pathlib import Path

from crashloop.report.timeline import Timeline
from crashloop.report.timeline_file import timeline_file
from crashloop.report.timeline_svg import FROM_CREATION
from crashloop.rundir import RunDir
from tools.findings.cutting import cut
from tools.findings.pictures import Picture, load_pictures
from tools.findings.subjects import subjects

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


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns its exit code: 1 if a picture is in none of the runs."""
    parser = argparse.ArgumentParser(prog="python -m tools.findings", description="The pictures of docs/findings.")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run directory; the first that has a history")
    parser.add_argument("--write", action="store_true", help="write the pictures")
    options = parser.parse_args(arguments)
    missing = load_pictures()
    for run in map(RunDir.open, options.runs):
        plan = run.plan()
        for name, picture in list(missing.items()):
            if not (found := subjects(run, plan, picture)):
                continue
            del missing[name]
            sys.stdout.write(f"{name}: {picture.scenario} of {run.name}\n")
            if options.write:
                of = f"Kubernetes {plan.kubernetes_version}, {run.info().started:%d %B %Y}"
                (IMAGES / f"{name}.svg").write_text(drawn(picture, found, of), encoding="utf-8")
    for name, picture in missing.items():
        sys.stdout.write(f"{name}: no run has {picture.scenario}\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
