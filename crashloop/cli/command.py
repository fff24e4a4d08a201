"""A command of the command line: declared beside its function, registered in crashloop.cli; its options, durations among them."""

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from inspect import Parameter, signature
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from typer.core import TyperCommand, TyperOption

from crashloop.errors import UsageError
from crashloop.run.options import KUBERNETES_HELP, MAKERS, RunOption
from crashloop.words import aligned

if not os.environ.get("COLUMNS", "unset").strip("0"):
    del os.environ["COLUMNS"]  # 0 means that no width is known; at a width of 0 rich prints nothing


class _Out:
    """Imports rich when something is printed: `--help` needs none."""

    @cached_property
    def _console(self) -> Any:
        from rich.console import Console

        return Console(highlight=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._console, name)


if TYPE_CHECKING:
    from rich.console import Console

    out: Console
else:
    out = _Out()
"""Standard output: results only. Progress goes to standard error."""

KubernetesVersionOption = Annotated[
    str | None, typer.Option("--kubernetes-version", metavar="V", help=f"{KUBERNETES_HELP}.")
]
ProviderOption = Annotated[
    str, typer.Option("--provider", metavar=f"<{'|'.join(MAKERS)}>", help="What makes the cluster.")
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, such as runs/latest.")]


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


def print_json(value: Any) -> None:
    """Print a struct, or plain data, independent of the terminal's width."""
    import msgspec

    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:  # the name of a file need not be UTF-8
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode(errors="replace")
    out.file.write(msgspec.json.format(text).decode() + "\n")


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, console: "Console" = out) -> None:
    """Print columns: a terminal folds long words at its width, and a file has one line per row. An empty header is left out."""
    from rich.markup import escape
    from rich.table import Table

    from crashloop.report.text import printable

    lines = [[printable(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        for text in aligned([header, *lines] if any(header) else lines):
            console.print(text, markup=False, soft_wrap=True)
        return
    table = Table(box=None, show_header=any(header))
    for name in header:
        table.add_column(name, overflow="fold")
    for line in lines:
        table.add_row(*map(escape, line))
    console.print(table)


JUDGED = "0 nothing failed, 1 FAIL, 2 wrong usage or no tests, 3 INCONCLUSIVE, 70 ERROR, 130 interrupted"
"""Exit codes of every command that judges."""


class Example(NamedTuple):
    """A command as a person types it, and what it is for, in a few words."""

    command: str
    purpose: str


def epilog(*examples: Example, exit_codes: str = "") -> str:
    """What follows the options in the help of a command."""
    shown = [f"  {each.command}  # {each.purpose}" for each in examples]
    return "\n\n".join(
        [*(["Examples:", *shown] if shown else []), *([f"Exit codes: {exit_codes}."] if exit_codes else [])]
    )


_NUMBERS = {
    int: (re.compile(r"[-+]?[0-9]+"), "a whole number, such as 10"),
    float: (re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"), "a number, such as 1.5"),
}
"""How numbers are written. typer also takes Python's 1_000, spaces around them, and 1.0 as a whole number."""


class _AsWritten(TyperCommand):
    """Refuses an option of one value that is given twice (the last would win), an empty argument (a path would be `.`), and a
    number that is written in another way.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if any(not each and not before.startswith("-") for before, each in pairwise(["", *args])):
            raise UsageError(f"{ctx.info_name}: an argument is empty; a variable of the shell may not be set.")
        values, _, given = ({}, [], []) if ctx.resilient_parsing else self.make_parser(ctx).parse_args(args=list(args))
        for each in given:
            if given.count(each) > 1 and isinstance(each, TyperOption) and not (each.multiple or each.is_flag):
                raise UsageError(f"{each.opts[0]}: given {given.count(each)} times; it takes one value.\nGive it once.")
            _check_numbers(each, values.get(each.name))
        return super().parse_args(ctx, args)


def _check_numbers(parameter: Any, value: Any) -> None:
    written, expected = _NUMBERS.get(getattr(parameter, "type_descriptor", _UNTYPED).annotation, (None, ""))
    for text in value if isinstance(value, list | tuple) else [value]:
        if written is not None and isinstance(text, str) and not written.fullmatch(text):
            raise UsageError(f"{parameter.opts[0]} {text!r}: expected {expected}.")


_UNTYPED = SimpleNamespace(annotation=None)


class Command(NamedTuple):
    """A function and the settings typer registers it with."""

    function: Callable[..., Any]
    settings: dict[str, Any] = {}

    def add_to(self, app: typer.Typer, panel: str | None = None) -> None:
        app.command(cls=_AsWritten, rich_help_panel=panel, **self.settings)(self.function)


def seconds(option: str, text: str, *, least_s: float = 0.001) -> float:
    """The seconds of a duration. Raises UsageError for another text, or for less than `least_s`."""
    from crashloop.spec.duration import NotADuration, parse_duration_ns

    try:
        found_s = parse_duration_ns(text) / 1e9
    except NotADuration as error:
        raise UsageError(f"{option} {text!r}: {error}.\nExpected something like 90s, 10m or 2h.") from error
    if found_s < least_s:
        raise UsageError(f"{option} {text!r}: expected a time above zero, such as 10m.")
    return found_s


def takes(options: Iterable[RunOption]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a function, which takes them as keywords, the options as parameters that typer sees."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        plain = signature(function)
        own = [each for each in plain.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        shown = plain.replace(parameters=[*own, *map(_parameter, options)])
        function.__signature__ = shown  # type: ignore[attr-defined]
        return function

    return declare


def _parameter(option: RunOption) -> Parameter:
    """None as default: only what was given is passed on, and the other program knows the default."""
    shown = f"{option.help} Default: {option.default}." if option.default else option.help
    about = typer.Option(option.name, metavar=option.metavar, help=shown, rich_help_panel=option.panel)
    return Parameter(option.field, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[_type(option), about])


def _type(option: RunOption) -> Any:
    plain: Any = Literal[option.choices] if option.choices else option.type
    return list[plain] | None if option.repeats else plain | None
