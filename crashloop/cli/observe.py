"""`crashloop observe`: which curve every node of a cluster follows, inferred from its present crash loops."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from crashloop.cli.command import Command, out
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.inference.observation import Observation
    from crashloop.spec.profile import KubeletProfile


def observe(
    kubeconfig: Annotated[Path | None, typer.Option(help="Default: $KUBECONFIG, else ~/.kube/config.")] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Watch this namespace only.")] = None,
    for_: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long to watch: 90s, 10m, 2h.")] = "10m",
    read_configz: Annotated[bool, typer.Option("--read-configz", help="Read the kubelets' configuration.")] = False,
    expect: Annotated[
        list[str] | None,
        typer.Option(metavar="NODE=PROFILE", help="Expected profile of a node (name or file); * for all others."),
    ] = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help="Where to write observe.json and observe.html.")] = None,
) -> None:
    """Report the curve that every node really follows, read-only: list and watch pods, list nodes."""
    from crashloop.kube.contexts import default_kubeconfig
    from crashloop.observe.run import ObservationRequest, look
    from crashloop.progress import default_progress
    from crashloop.report.observation import to_html

    folder = _folder(out_dir)
    request = ObservationRequest(
        kubeconfig=default_kubeconfig(None if kubeconfig is None else str(kubeconfig), os.environ),
        context=context,
        namespace=namespace,
        for_s=_seconds(for_),
        read_configz=read_configz,
        expected=_expected(expect or []),
    )
    with _made(folder):
        seen = look(request, default_progress())
        (folder / "observe.json").write_bytes(msgspec.json.format(msgspec.json.encode(seen)) + b"\n")
        (folder / "observe.html").write_text(to_html(seen), encoding="utf-8")
    _print(seen, folder)
    raise typer.Exit(seen.exit_code)


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make the folder before the observation, and remove it if that fails. Raises UsageError if it cannot be made."""
    was_there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder}: it cannot be made ({error.strerror}).\nName another folder.") from error
    if not os.access(folder, os.W_OK):
        raise UsageError(f"--out {folder}: nothing can be written there.\nName another folder.")
    try:
        yield
    finally:
        if not was_there and not any(folder.iterdir()):
            folder.rmdir()


def _print(seen: "Observation", folder: Path) -> None:
    from crashloop.report.observation import HEADER, STANDINGS, facts, rows_of, sentence
    from crashloop.report.terminal import STYLES, print_line

    rows = rows_of(seen)
    if out.is_terminal and rows:
        table = Table(box=None)
        for name in HEADER:
            table.add_column(name, overflow="fold")
        for row in rows:
            *cells, verdict = row.cells
            table.add_row(*cells, Text(f"{row.standing.symbol} {verdict}", STYLES[row.standing]))
        out.print(table)
    else:
        for row in rows:
            told = ", ".join(f"{name} {cell}" for name, cell in zip(HEADER[1:-1], row.cells[1:-1], strict=True))
            print_line(out, f"{row.finding.agreement.value:<20} {row.finding.node}: {told}")
    for row in rows:
        for said in row.said:
            print_line(out, f"{row.finding.node}: {said}")
    standing = STANDINGS[seen.agreement]
    print_line(out, f"{standing.symbol} {seen.agreement.value}: {sentence(seen)}", STYLES[standing])
    print_line(out, facts(seen))
    print_line(out, f"Report: {folder / 'observe.html'}")


def _folder(option: Path | None) -> Path:
    """The folder for the two files. Raises UsageError if it holds an observation."""
    from crashloop.rundir import new_run_path
    from crashloop.settings import resolve_settings

    folder = option or new_run_path(resolve_settings().paths.runs_dir, "observe", datetime.now(UTC))
    if (folder / "observe.json").exists():
        raise UsageError(f"--out {folder}: it already holds an observation, which is never overwritten.")
    return folder


def _seconds(duration: str) -> float:
    from crashloop.spec.duration import NotADuration, parse_duration_ns

    try:
        seconds = parse_duration_ns(duration) / 1e9
    except NotADuration as error:
        raise UsageError(f"--for {duration!r}: {error}.\nExpected something like 90s, 10m or 2h.") from error
    if seconds <= 0:
        raise UsageError(f"--for {duration!r}: expected a time above zero, such as 10m.")
    return seconds


def _expected(options: list[str]) -> "dict[str, KubeletProfile]":
    from crashloop.profiles import load_profile

    found = {}
    for option in options:
        node, separator, profile = option.partition("=")
        if not (node and separator and profile):
            raise UsageError(f"--expect {option!r}: expected NODE=PROFILE, such as worker-1=max-10s.")
        found[node] = load_profile(profile)
    return found


COMMANDS = (Command(observe),)
