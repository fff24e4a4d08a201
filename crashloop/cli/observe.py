"""`crashloop observe`: which curve every node of a cluster follows, inferred from its present crash loops."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from crashloop.cli.command import Command, Example, JsonOption, epilog, out, print_json, seconds
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.spec.profile import KubeletProfile


def observe(
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Default: $KUBECONFIG, else ~/.kube/config.")
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig.")] = None,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Watch this namespace only.")
    ] = None,
    for_: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long to watch: 90s, 10m, 2h.")] = "10m",
    read_configz: Annotated[bool, typer.Option("--read-configz", help="Read the kubelets' configuration.")] = False,
    expect: Annotated[
        list[str] | None,
        typer.Option(metavar="NODE=PROFILE", help="Expected profile of a node (name or file); * for all others."),
    ] = None,
    run_dir: Annotated[
        str | None, typer.Option("--run-dir", metavar="DIR", help="Where to write. Default: runs/<UTC time>-observe.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Report the curve that every node really follows, read-only: list and watch pods, list nodes."""
    from crashloop.kube.kubeconfig import default_kubeconfig
    from crashloop.kube.objects import check_namespace
    from crashloop.observe.run import ObservationRequest, look
    from crashloop.progress import default_progress
    from crashloop.report.html import to_html
    from crashloop.report.observation import observation_document
    from crashloop.report.terminal import render

    check_namespace(namespace)
    folder = _folder(run_dir)
    request = ObservationRequest(
        kubeconfig=default_kubeconfig(None if kubeconfig is None else str(kubeconfig), os.environ),
        context=context,
        namespace=namespace,
        for_s=seconds("--for", for_),
        read_configz=read_configz,
        expected=_expected(expect or []),
    )
    with _made(folder):
        seen = look(request, default_progress())
        (folder / "observe.json").write_bytes(msgspec.json.format(msgspec.json.encode(seen)) + b"\n")
        (folder / "observe.html").write_text(to_html(observation_document(seen)), encoding="utf-8")
    if as_json:
        print_json(seen)
    else:
        render(observation_document(seen), out, report=str(folder / "observe.html"))
    raise typer.Exit(seen.exit_code)


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make the folder before the observation, and remove it if that fails. Raises UsageError if it cannot be made."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--run-dir {folder}: it cannot be made ({error.strerror}).\nName another folder.") from error
    if not os.access(folder, os.W_OK):
        raise UsageError(f"--run-dir {folder}: nothing can be written there.\nName another folder.")
    try:
        yield
    finally:
        with suppress(OSError):  # they hold an observation
            for each in made:
                each.rmdir()


def _folder(option: str | None) -> Path:
    """The folder for the two files. Raises UsageError if it holds an observation."""
    from crashloop.rundir import folder_named, new_run_path
    from crashloop.settings import resolve_settings

    if option is None:
        return new_run_path(resolve_settings().paths.runs_dir, "observe", datetime.now(UTC))
    folder = folder_named(option)
    if (folder / "observe.json").exists():
        raise UsageError(f"--run-dir {folder}: it already holds an observation, which is never overwritten.")
    return folder


def _expected(options: list[str]) -> "dict[str, KubeletProfile]":
    from crashloop.profiles import load_profile

    found = {}
    for option in options:
        node, separator, profile = option.partition("=")
        if not (node and separator and profile):
            raise UsageError(f"--expect {option!r}: expected NODE=PROFILE, such as worker-1=max-10s.")
        if node in found:
            raise UsageError(f"--expect {option!r}: {node!r} has an expectation already; a node has one.")
        found[node] = load_profile(profile)
    return found


OBSERVE_EPILOG = epilog(
    Example("crashloop observe --for 10m --read-configz", "against its configuration"),
    Example("crashloop observe --expect '*=stock'", "against what you expect"),
    exit_codes="0 every compared node agrees, 1 one contradicts, 2 wrong usage or refused, 3 too little evidence, "
    "70 no answer, 130 interrupted",
)

COMMANDS = (Command(observe, {"epilog": OBSERVE_EPILOG}),)
