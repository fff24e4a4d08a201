"""Views of a comparison: on the terminal, as JSON or Markdown, and as a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from crashloop.cli.command import out
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.report.document import Document


class RequestedViews(NamedTuple):
    """The requested views."""

    json: bool
    markdown: bool
    html: Path | None


def show(value: Any, document: "Document", requested: RequestedViews) -> None:
    """Write the page if requested, and print one other view. Raises UsageError."""
    import msgspec

    from crashloop.report.html import to_html
    from crashloop.report.markdown import to_markdown
    from crashloop.report.terminal import render

    if requested.json and requested.markdown:
        raise UsageError("--json and --markdown: both go to standard output, so only one can be printed.")
    if requested.html is not None:
        write_file("--html", requested.html, to_html(document))
    if requested.json:
        _print_as_it_is(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
    elif requested.markdown:
        _print_as_it_is(to_markdown(document))
    else:
        render(document, out)


def write_file(option: str, path: Path, text: str) -> None:
    """Write the file that an option names. Raises UsageError."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be written ({error.strerror}).\nName another file.") from error


def _print_as_it_is(text: str) -> None:
    """Independent of the terminal's width."""
    out.file.write(text)
