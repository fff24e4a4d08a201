"""Links between the pages of this repository lead somewhere, and every page is found from the README."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
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
