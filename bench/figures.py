"""What the benches measured: printed, kept with the conditions of its run in docs/numbers, and written as docs/numbers.md.

    python -m bench.NAME --write        # measure, keep, and write the page
    python -m bench.figures             # write the page from what is kept
    python -m bench.figures --check     # 1 if a figure is worse than the committed one by more than a quarter, or stale

Only a bench writes a number: a quantity that was not measured has no row, and nothing is measured on a made-up recording that the
suite itself accuses.
"""

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from math import inf
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from crashloop.processors import available_processors
from crashloop.spec.version import DEFAULT_VERSION

DOCS = Path(__file__).parents[1] / "docs"
PAGE, KEPT = DOCS / "numbers.md", DOCS / "numbers"
WORSE = 1.25
STALE_DAYS = 60
HEADER = ("quantity", "measured", "target", "÷ target")


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One measured quantity."""

    quantity: str
    value: float
    unit: str = ""
    target: float | None = None
    """None: it is only shown."""
    more_is_better: bool = False
    note: str = ""
    """What was measured beside it, with its numbers."""

    @property
    def cells(self) -> tuple[str, ...]:
        sign = "≥" if self.more_is_better else "≤"
        aim = "" if self.target is None else f"{sign} {_number(self.target)} {self.unit}".rstrip()
        share = "" if not self.target else f"{self.value / self.target:.2f}"
        said = f"{_number(self.value)} {self.unit}".rstrip()
        return self.quantity, f"{said}; {self.note}" if self.note else said, aim, share

    def times_worse_than(self, other: "Figure") -> float:
        """As a ratio above 1, which is infinite where there was nothing; one at or below 1 is as good or better."""
        worse, better = (other.value, self.value) if self.more_is_better else (self.value, other.value)
        if better:
            return worse / better
        return inf if worse else 1.0


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """docs/numbers/NAME.json: the figures of one bench and the conditions under which they were measured."""

    bench: str
    measured: datetime
    commit: str
    """The sources' own commit, with `+` if they were changed since."""
    kubernetes_version: str
    host: str
    load_average: float
    """Of the minute before the measurement began; above the number of cores others worked beside it."""
    figures: tuple[Figure, ...]


def publish(bench: str, figures: Iterable[Figure], *, write: bool, load_average: float) -> None:
    """Print the figures; with `write` keep them and write the page. `load_average` was read before the measurement."""
    measured = Measured(
        bench=bench,
        measured=datetime.now(UTC).replace(microsecond=0),
        commit=_commit(),
        kubernetes_version=DEFAULT_VERSION,
        host=f"{available_processors()} cores, {platform.system()} {platform.release().partition('-')[0]}",
        load_average=round(load_average, 1),
        figures=tuple(figures),
    )
    table = Table(*HEADER, box=None)
    for each in measured.figures:
        table.add_row(*each.cells)
    Console(width=140).print(table)
    if write:
        KEPT.mkdir(exist_ok=True)
        (KEPT / f"{bench}.json").write_bytes(msgspec.json.format(msgspec.json.encode(measured)) + b"\n")
        PAGE.write_text(page(kept()), encoding="utf-8")


def require_right(outcomes: Iterable[str]) -> None:
    """End a bench whose own made-up recording is accused. Takes the outcomes of its verdicts."""
    accused = sorted({"FAIL", "ERROR"} & {str(each) for each in outcomes})
    if accused:
        said = ", ".join(accused)
        raise SystemExit(
            f"The bench's own recording is {said}: it is none of a correct kubelet, or a checker is wrong."
        )


def options(description: str | None) -> argparse.ArgumentParser:
    """The options of a bench, with `--write`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--write", action="store_true", help="keep the figures in docs/numbers and write docs/numbers.md"
    )
    return parser


def load_average() -> float:
    """Of the last minute."""
    return os.getloadavg()[0]


def kept() -> tuple[Measured, ...]:
    """All figures that are kept, by the name of their bench."""
    return tuple(msgspec.json.decode(path.read_bytes(), type=Measured) for path in sorted(KEPT.glob("*.json")))


def page(measurements: Sequence[Measured]) -> str:
    """docs/numbers.md."""
    return "\n".join(_lines(measurements)) + "\n"


def _lines(measurements: Sequence[Measured]) -> Iterator[str]:
    yield "# Numbers"
    yield ""
    yield "Generated by `make bench`; do not edit. Each part was measured by the script of [bench](../bench) that names it."
    yield "A load average above the number of cores says that other programs worked beside it. Compare ratios, not seconds."
    for each in measurements:
        yield ""
        yield f"## {each.bench}"
        yield ""
        yield (
            f"{each.measured:%Y-%m-%d %H:%M} UTC, commit {each.commit}, Kubernetes {each.kubernetes_version}, {each.host}, "
            f"load average {each.load_average:g}."
        )
        yield ""
        yield f"| {' | '.join(HEADER)} |"
        yield "|---|---|---|--:|"
        yield from (f"| {' | '.join(figure.cells)} |" for figure in each.figures)


def worsened(now: Iterable[Measured], before: Iterable[Measured]) -> Iterator[str]:
    """A sentence for each figure that is worse by more than WORSE, or is gone."""
    earlier = {(each.bench, figure.quantity): figure for each in before for figure in each.figures}
    later = {(each.bench, figure.quantity): figure for each in now for figure in each.figures}
    for (bench, quantity), figure in earlier.items():
        found = later.get((bench, quantity))
        if found is None:
            yield f"{bench}: {quantity}: not measured any more."
        elif (times := found.times_worse_than(figure)) > WORSE:
            this, that = (f"{_number(each.value)} {each.unit}".rstrip() for each in (found, figure))
            yield f"{bench}: {quantity}: {this} is {times:.2f} times worse than {that}."


def stale(measurements: Iterable[Measured], benches: Collection[str], today: datetime) -> Iterator[str]:
    """A sentence for each measurement whose bench is gone, or that is older than STALE_DAYS."""
    for each in measurements:
        days = (today - each.measured).days
        if each.bench not in benches:
            yield f"{each.bench}: there is no bench of that name any more; remove docs/numbers/{each.bench}.json."
        elif days > STALE_DAYS:
            yield f"{each.bench}: measured {days} days ago, at most {STALE_DAYS} are allowed."


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _commit() -> str:
    root = DOCS.parent
    command = ["git", "-C", str(root), "describe", "--always", "--exclude=*", "--dirty=+"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def _committed() -> tuple[Measured, ...]:
    found = []
    for path in sorted(KEPT.glob("*.json")):
        command = ["git", "-C", str(DOCS.parent), "show", f"HEAD:docs/numbers/{path.name}"]
        shown = subprocess.run(command, capture_output=True, check=False)
        if shown.returncode == 0:
            found.append(msgspec.json.decode(shown.stdout, type=Measured))
    return tuple(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed figures")
    if not parser.parse_args().check:
        PAGE.write_text(page(kept()), encoding="utf-8")
        return
    benches = {path.stem for path in Path(__file__).parent.glob("*.py")}
    found = [*worsened(kept(), _committed()), *stale(kept(), benches, datetime.now(UTC))]
    print("\n".join(found) or f"No figure is stale, or worse by more than a factor of {WORSE:g}.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
