"""The reference of the command line: docs/cli.md, written from the commands themselves.

python -m tools.cli_reference            exit code 1 if the page is out of date
python -m tools.cli_reference --write    write docs/cli.md
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import typer

from crashloop.cli import app

DOCUMENT = Path(__file__).parents[1] / "docs" / "cli.md"
ARGUMENTS, OPTIONS = "Arguments", "Options"
"""Titles of what names no group."""

HEAD = """\
# Command line

<!-- Written by `python -m tools.cli_reference --write` from crashloop/cli. -->

Every command with its options, as `crashloop COMMAND --help` shows them; `-h` is short for `--help`.
[reading-a-verdict.md](reading-a-verdict.md#exit-codes) explains the exit codes, [environment.md](environment.md) the variables.
"""


class Shown(NamedTuple):
    """A command: its words, typer's object for it, and typer's context."""

    words: str
    command: Any
    context: Any


def commands(root: typer.Typer = app) -> Iterator[Shown]:
    """Every command that is no group, in the order of the help."""
    yield from _leaves("crashloop", typer.main.get_command(root), None)


def to_markdown(shown: Iterable[Shown]) -> str:
    """docs/cli.md."""
    return "\n".join((HEAD, *(line for each in shown for line in _section(each)))).rstrip("\n") + "\n"


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.cli_reference", description="Reference of the command line.")
    parser.add_argument("--write", action="store_true", help="write docs/cli.md")
    text = to_markdown(commands())
    if parser.parse_args(arguments).write:
        DOCUMENT.write_text(text, encoding="utf-8")
    elif DOCUMENT.read_text(encoding="utf-8") != text:
        sys.stdout.write(f"{DOCUMENT.name} is out of date; write it with --write.\n")
        return 1
    return 0


def _leaves(words: str, command: Any, parent: Any) -> Iterator[Shown]:
    context = command.context_class(command, parent=parent, info_name=words.rpartition(" ")[2])
    if not hasattr(command, "list_commands"):
        yield Shown(words, command, context)
        return
    for name in command.list_commands(context):
        yield from _leaves(f"{words} {name}", command.get_command(context, name), context)


def _section(shown: Shown) -> Iterator[str]:
    usage = " ".join((shown.words, *shown.command.collect_usage_pieces(shown.context)))
    yield from (f"## {shown.words}", "", shown.command.help, "", "```text", usage, "```", "")
    parameters = [each for each in shown.command.get_params(shown.context) if "--help" not in each.opts]
    titles = list(dict.fromkeys(map(_title, parameters)))
    for title, group in groupby(sorted(parameters, key=lambda each: titles.index(_title(each))), key=_title):
        yield from (f"| {title} | |", "|---|---|")
        for each in group:
            name, about = (cell.replace("|", "\\|") for cell in each.get_help_record(shown.context))
            plain = name.partition(" ")[0] if title == ARGUMENTS else name
            yield f"| `{plain}` | {' '.join(about.split()).replace('<', '&lt;')} |"
        yield ""
    yield from _epilog(shown.command.epilog or "")


def _title(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return ARGUMENTS
    return parameter.rich_help_panel or OPTIONS


def _epilog(text: str) -> Iterator[str]:
    """Examples as a console, which the self-tests of documented commands read; exit codes as a sentence."""
    paragraphs = [each for each in text.split("\n\n") if each and each != "Examples:"]
    examples = [each for each in paragraphs if each.startswith("  ")]
    if examples:
        yield from ("```console", *(f"$ {each.strip()}" for each in examples), "```", "")
    for each in paragraphs:
        if each not in examples:
            yield from (each, "")


if __name__ == "__main__":
    sys.exit(main())
