"""Time to report a storm, from the evidence on disk to report.html, and the size of the report.

python -m bench.stress_report [RUN] [--write]     (default: ten minutes of 110 crashing pods, made up)
"""

import tempfile
import time
from pathlib import Path

from bench.figures import Figure, load_average, options, publish, require_right
from crashloop.report.html import to_html
from crashloop.report.stress.document import stress_document
from crashloop.stress.folder import StressDir
from crashloop.stress.judging import judge_run
from suites.selftest.kit.stress_kit import NODE, Folder, crashing, plan

TARGET_S, TARGET_MB = 5.0, 2.0
PODS, RESTARTS, SECONDS = 110, 54, 600
"""About ten restarts per second, the limit of two cores."""


def made_up(folder: Path) -> StressDir:
    """A run directory with the evidence of such a storm."""
    run = Folder(folder / "run", plan())
    for mark in ((0, "begin", 0, 0), (0, "measure", 1, 1), (0, "drain", 2, 1), (0, "end", 3, 0)):
        run.marks(mark)
    for mark in ((1, "begin", 3, 0), (1, "measure", 5, 3), (1, "drain", SECONDS, 3), (1, "end", SECONDS + 5, 0)):
        run.marks(mark)
    for number in range(PODS):
        lives = crashing(5 + number / 10, *([1.4] * RESTARTS), ran_s=9.1)
        run.write(run.pod(f"crashers-0-{number}", *lives, ends_s=SECONDS + 5.0))
    times = list(range(0, SECONDS + 10, 5))
    counters: dict[tuple[str, tuple[tuple[str, str], ...]], list[float]] = {
        (f"metric_{number}_total", (("part", str(part)),)): [float(at * part) for at in times]
        for number in range(60)
        for part in range(20)
    }
    run.scrape("kubelet", times, counters, node=NODE)
    run.scrape("apiserver", times, counters)
    return run.run


def main(run: Path | None, write: bool) -> None:
    load = load_average()
    with tempfile.TemporaryDirectory() as folder:
        given = made_up(Path(folder)) if run is None else StressDir(run)
        began_s = time.perf_counter()
        results = judge_run(given)
        judged_s = time.perf_counter() - began_s
        if run is None:
            require_right(each.outcome for each in results.verdicts)
        megabytes = len(to_html(stress_document(results)).encode()) / 1e6
        taken_s = time.perf_counter() - began_s
    events = f"{results.totals['history_events']:,.0f} history events"
    what = "report of ten minutes of 110 crashing pods, made up" if run is None else f"report of {given.root.name}"
    figures = (
        Figure(
            quantity=f"{what}: judged and rendered",
            value=taken_s,
            unit="s",
            target=TARGET_S,
            note=f"{judged_s:.1f} s of it judged; {events}",
        ),
        Figure(quantity=f"{what}: its size", value=megabytes, unit="MB", target=TARGET_MB),
    )
    publish("stress_report", figures, write=write, load_average=load)


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("run", metavar="RUN", type=Path, nargs="?")
    main(**vars(parser.parse_args()))
