"""How commands print tables: for a person at a terminal, and for grep."""

from collections.abc import Sequence
from io import StringIO

from rich.console import Console

from crashloop.cli.command import print_table

ROWS = (("etcd, growth", "quota-backend-bytes [8 GiB]"), ("etcd", "one"))


def printed(header: Sequence[str], *, terminal: int | None) -> list[str]:
    """The lines of a table on a terminal of that width; None: in a pipe."""
    written = StringIO()
    console = Console(file=written, force_terminal=terminal is not None, width=terminal or 20, color_system=None)
    print_table(header, ROWS, console=console)
    return [line.rstrip() for line in written.getvalue().splitlines()]


def test_a_pipe_gets_one_line_per_row_however_long() -> None:
    assert printed(("limit", "what it is"), terminal=None) == [
        "limit         what it is",
        "etcd, growth  quota-backend-bytes [8 GiB]",
        "etcd          one",
    ]


def test_a_narrow_terminal_folds_long_words_and_drops_no_letter() -> None:
    assert printed(("limit", "what it is"), terminal=30) == [
        " limit         what it is",
        " etcd, growth  quota-backend-",
        "               bytes [8 GiB]",
        " etcd          one",
    ]


def test_a_table_without_header_begins_with_its_first_row() -> None:
    assert printed(("", ""), terminal=None)[0] == "etcd, growth  quota-backend-bytes [8 GiB]"
    assert printed(("", ""), terminal=80)[0] == " etcd, growth  quota-backend-bytes [8 GiB]"
