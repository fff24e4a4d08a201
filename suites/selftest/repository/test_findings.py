"""Every finding has a page with its promise, its picture, a command that reproduces it, and its row in the index."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashloop.deviations import load_deviations
from crashloop.requirements import load_requirements
from crashloop.run.planning import is_within
from crashloop.spec.requirement import Scope, State
from crashloop.stress.profiles import load_stress_profile
from crashloop.stress.requirements import rows_of
from tools.findings.pictures import load_pictures
from tools.findings.plots import load_plots

FINDINGS = Path(__file__).parents[3] / "docs" / "findings"
INDEX = FINDINGS / "README.md"
IMAGES = FINDINGS / "images"
PAGES = sorted(set(FINDINGS.glob("*.md")) - {INDEX})
SECTIONS = ["Promised", "Seen", "Cause", "Reproduce", "Upstream"]
ROW = re.compile(r"^\| (?P<name>[A-Z][\w ]*) \| (?P<cell>.*) \|$", re.MULTILINE)
PICTURE = re.compile(r"^!\[(?P<alternative>[^\]]+)\]\(images/(?P<name>[\w-]+)\.svg\)$", re.MULTILINE)
INDEXED = re.compile(r"^\| \[(?P<title>[^\]]+)\]\((?P<file>[\w-]+\.md)\) \| (?P<cells>.*) \|$", re.MULTILINE)
IDENTIFIER = re.compile(r"\b[A-Z]+-?\d+\b")
COMMAND = re.compile(r"^\$ (crashloop run .*)$", re.MULTILINE)
WITHOUT_US = re.compile(r"^\$ crashloop reproduce runs/latest (\S+)", re.MULTILINE)
STRESS = re.compile(r"^\$ crashloop stress ([\w-]+)", re.MULTILINE)
LARGEST_BYTES = 60_000
of_each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def facts(page: Path) -> dict[str, str]:
    """The rows of the table at the head of a page."""
    head = page.read_text(encoding="utf-8").partition("\n## ")[0]
    return {each["name"]: each["cell"] for each in ROW.finditer(head)}


def deviations(page: Path) -> list[str]:
    return re.findall(r"`([\w-]+)`", facts(page)["Known deviations"])


def commands(page: Path) -> Iterator[tuple[Scope, list[str]]]:
    """The scope and the requirements of each run that a page shows."""
    for command in COMMAND.findall(page.read_text(encoding="utf-8")):
        options = shlex.split(command)[2:]
        given = list(zip(options[::2], options[1::2], strict=True))
        yield Scope(dict(given).get("--scope", "quick")), [value for name, value in given if name == "--requirement"]


def test_there_are_pages() -> None:
    assert len(PAGES) >= 12


@of_each_page
def test_a_page_has_its_sections_in_order(page: Path) -> None:
    assert re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE) == SECTIONS


@of_each_page
def test_a_page_shows_what_was_seen(page: Path) -> None:
    seen = page.read_text(encoding="utf-8").partition("\n## Seen\n")[2].partition("\n## ")[0]
    assert [each["name"] for each in PICTURE.finditer(seen)] != []


def judged_by_stress_runs(page: Path) -> set[str]:
    """The requirements that the stress runs of a page judge."""
    profiles = STRESS.findall(page.read_text(encoding="utf-8"))
    rows = (row for each in profiles for row in rows_of(load_stress_profile(each).slos))
    return {row.requirement for row in rows if row.requirement}


@of_each_page
def test_a_command_judges_a_requirement_of_the_page_in_a_scope_that_has_it(page: Path) -> None:
    shown, catalogue = list(commands(page)), load_requirements()
    of_page = set(IDENTIFIER.findall(facts(page)["Requirements"]))
    assert shown or judged_by_stress_runs(page) & of_page
    for scope, named in shown:
        assert named != []
        assert set(named) <= of_page
        for identifier in named:
            assert catalogue[identifier].state is State.JUDGED
            assert is_within(catalogue[identifier].scope, scope), identifier


@of_each_page
def test_a_page_shows_it_with_kubectl_alone_by_a_requirement_that_its_run_judges(page: Path) -> None:
    text, judged = page.read_text(encoding="utf-8"), [name for _, named in commands(page) for name in named]
    shown = WITHOUT_US.findall(text)
    assert set(shown) <= set(judged)
    assert shown or "With kubectl alone: `kubectl " in text


@of_each_page
def test_the_requirements_of_a_page_exist(page: Path) -> None:
    assert set(IDENTIFIER.findall(facts(page)["Requirements"])) <= set(load_requirements())


def test_every_known_deviation_has_one_page() -> None:
    assert sorted(name for page in PAGES for name in deviations(page)) == sorted(each.id for each in load_deviations())


@of_each_page
def test_a_page_has_the_releases_and_the_issue_of_its_deviations(page: Path) -> None:
    found = [each for each in load_deviations() if each.id in deviations(page)]
    for each in found:
        assert each.requirement in IDENTIFIER.findall(facts(page)["Requirements"])
        if each.link is not None:
            assert f"#{each.link.rpartition('/')[2]}" in page.read_text(encoding="utf-8")
    if found:
        assert facts(page)["Releases"].startswith(f"since {min(each.since for each in found)}")


def test_the_index_has_a_row_of_each_page_with_the_facts_of_the_page() -> None:
    rows = {each["file"]: each for each in INDEXED.finditer(INDEX.read_text(encoding="utf-8"))}
    assert set(rows) == {page.name for page in PAGES}
    for page in PAGES:
        row, told = rows[page.name], facts(page)
        assert page.read_text(encoding="utf-8").startswith(f"# {row['title']}\n")
        requirements, affected, badly, _ = row["cells"].split(" | ")
        assert (requirements, affected, badly) == (told["Requirements"], told["Affected"], told["How badly"])


def test_every_picture_is_drawn_from_a_run_and_shown_once() -> None:
    shown = [each["name"] for page in PAGES for each in PICTURE.finditer(page.read_text(encoding="utf-8"))]
    assert (
        sorted(shown) == sorted([*load_pictures(), *load_plots()]) == sorted(each.stem for each in IMAGES.glob("*.svg"))
    )


@pytest.mark.parametrize("image", sorted(IMAGES.glob("*")), ids=lambda image: image.stem)
def test_a_picture_is_small_and_names_no_path_of_a_machine(image: Path) -> None:
    text = image.read_text(encoding="utf-8")
    assert len(text) < LARGEST_BYTES
    assert re.findall(r"(?<![\w.])/(?:root|home|tmp|work|var|run|usr)/", text) == []


SUSPECTED = re.compile(r"^\| [^|]+ \| (?P<ids>[^|]+) \| (?P<result>.*) \|$", re.MULTILINE)


def test_the_index_does_not_contradict_itself() -> None:
    """What has a page or is a known deviation is no mere suspicion, and what is not testable says so."""
    head, _, suspected = INDEX.read_text(encoding="utf-8").partition("\n## Suspected")
    found = {name for row in INDEXED.finditer(head) for name in IDENTIFIER.findall(row["cells"])}
    known = found | {each.requirement for each in load_deviations()}
    untestable = {name for name, each in load_requirements().items() if each.state is State.UNTESTABLE}
    rows = [(set(IDENTIFIER.findall(row["ids"])), row["result"]) for row in SUSPECTED.finditer(suspected)]
    assert len(rows) > 5
    for ids, result in rows:
        assert not (ids & known and "not run" in result), ids
        assert not ids & untestable or "not testable" in result, ids
