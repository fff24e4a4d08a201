"""What pages say of settings and messages is what the code says."""

import re
from pathlib import Path

import pytest

from crashloop.settings import CHOICES, resolve_settings, variable_of

ROOT = Path(__file__).parents[3]
ENVIRONMENT = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
TROUBLESHOOTING = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "crashloop").rglob("*.py")))
OF_THE_USER = ("cache_dir", "state_dir")
"""Choices whose default depends on the user."""


def first_cells(page: str, title: str) -> list[list[str]]:
    """The cells of the rows of a page's first table whose head begins with a title."""
    table = page.partition(f"| {title} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in row.split("|")[1:-1]] for row in table]


def test_every_variable_has_a_row() -> None:
    assert [row[0] for row in first_cells(ENVIRONMENT, "Variable")] != []
    assert {row[0] for row in first_cells(ENVIRONMENT, "Variable")} == set(map(variable_of, CHOICES))


@pytest.mark.parametrize("option", sorted(CHOICES.keys() - OF_THE_USER))
def test_a_variable_has_the_default_that_is_stated(option: str) -> None:
    choice = CHOICES[option]
    default = getattr(getattr(resolve_settings(environ={}), choice.subject), choice.name)
    stated = {row[0]: row[1] for row in first_cells(ENVIRONMENT, "Variable")}[variable_of(option)]
    assert choice.kind(stated) == default


@pytest.mark.parametrize("message", [row[0] for row in first_cells(TROUBLESHOOTING, "Message")])
def test_a_message_with_advice_is_one_that_exists(message: str) -> None:
    quoted = re.match("[^`]+", message)
    assert quoted is not None
    words = quoted[0].removesuffix("CAP_SYS_ADMIN")
    assert words in SOURCES
