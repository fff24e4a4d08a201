"""Views of a comparison: on the terminal, as JSON or Markdown, and as a page."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from rich.console import Console

from crashloop.cli.command import out
from crashloop.errors import UsageError

T = TypeVar("T")


class Views(NamedTuple, Generic[T]):
    """How a value is shown."""

    render: Callable[[T, Console], None]
    to_markdown: Callable[[T], str]
    to_html: Callable[[T], str]


class RequestedViews(NamedTuple):
    """The requested views."""

    json: bool
    markdown: bool
    html: Path | None


def show(value: T, views: Views[T], requested: RequestedViews) -> None:
    """Write the page if requested, and print one other view. Raises UsageError."""
    import msgspec

    if requested.json and requested.markdown:
        raise UsageError("--json and --markdown: both go to standard output, so only one can be printed.")
    if requested.html is not None:
        try:
            requested.html.write_text(views.to_html(value), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--html {requested.html}: cannot be written ({error.strerror}).") from error
    if requested.json:
        _print_as_it_is(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
    elif requested.markdown:
        _print_as_it_is(views.to_markdown(value))
    else:
        views.render(value, out)


def _print_as_it_is(text: str) -> None:
    """Independent of the terminal's width."""
    out.file.write(text)
