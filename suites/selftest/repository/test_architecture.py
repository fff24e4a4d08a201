"""docs/architecture.md describes the repository as it is."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
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
