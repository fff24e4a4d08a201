"""What pages say of settings and messages is what the code says.

Links between the pages of this repository lead somewhere, and every page is found from the README.
docs/architecture.md describes the repository as it is.
"""

import re
from collections.abc import Iterator
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


README = ROOT / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("manifests/**/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """File and anchor of each link of a page that stays within the repository."""
    for target in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        if "://" not in target and not target.startswith("mailto:"):
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert [str(path) for path, _ in links(page) if not path.exists()] == []
    assert [f"{path.name}#{anchor}" for path, anchor in links(page) if anchor and anchor not in anchors(path)] == []


def test_every_page_is_found_from_the_readme() -> None:
    found, ahead = {README}, [README]
    while ahead:
        page = ahead.pop()
        linked = {path for path, _ in links(page) if path.suffix == ".md"} - found
        found |= linked
        ahead += linked
    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in found] == ["CHANGELOG.md"]


PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = sorted(path.parent.name for path in (ROOT / "crashloop").glob("*/__init__.py"))
FOLDERS = ("suites", "fixtures", "load", "quality", "mutants", "manifests", "bench", "tools", "contrib", "docs")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_described(package: str) -> None:
    listed = PAGE.partition("## Packages of `crashloop/`")[2].partition("## Top-level folders")[0]
    assert f"`{package}`" in listed


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_top_level_folder_is_described(folder: str) -> None:
    assert f"\n- `{folder}/` " in PAGE


def test_every_file_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:crashloop|suites|load|bench|quality|mutants|docs|manifests)/[\w/.-]+\.\w+)`", PAGE))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_module_of_the_flows_exists() -> None:
    flows = re.findall(r"```\n(.*?)```", PAGE, re.DOTALL)
    named = {name for flow in flows for name in re.findall(r"^(\w+(?:/\w+)*\.py)", flow, re.MULTILINE)}
    assert len(flows) == 3
    assert [name for name in sorted(named) if not (ROOT / "crashloop" / name).exists()] == []
