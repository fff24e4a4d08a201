"""Reading deviations.yaml: a finding about an entry names it."""

from pathlib import Path

import pytest

from crashloop.deviations import load_deviations
from crashloop.requirements import CatalogueError
from crashloop.spec.version import KubernetesVersion

ENTRY = """
  - id: collected
    requirement: RESET-4
    variant: {variant}
    since: '1.35'
    until: {until}
    sentence: The counter is collected.
    evidence: Seen.
    link: null
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "deviations.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def entry(variant: str = "counter-collected-while-waiting", until: str = "null") -> str:
    return ENTRY.format(variant=variant, until=until)


def test_the_projects_own_file_can_be_read() -> None:
    assert {each.id for each in load_deviations()} >= {"gate-off-refuses-start", "counter-collected-while-waiting"}


@pytest.mark.parametrize(
    ("until", "release", "holds"),
    [
        pytest.param("null", "1.34.9", False, id="before"),
        pytest.param("null", "1.35.0", True, id="first"),
        pytest.param("null", "1.99", True, id="no-end-known"),
        pytest.param("'1.36'", "1.36.7", True, id="last"),
        pytest.param("'1.36'", "1.37", False, id="after"),
    ],
)
def test_an_entry_holds_in_its_releases(tmp_path: Path, until: str, release: str, holds: bool) -> None:
    (read,) = load_deviations(written(tmp_path, "deviations:" + entry(until=until)))
    assert read.holds_in(KubernetesVersion.parse(release)) is holds


@pytest.mark.parametrize(
    ("release", "holds"),
    [("1.36.6", True), ("1.36.7", False), ("1.36.8", False), ("1.37.2", True), ("1.37.3", False), ("1.38.0", True)],
)
def test_an_entry_ends_with_the_patch_release_that_mends_it(tmp_path: Path, release: str, holds: bool) -> None:
    picked = entry() + "    fixed_in: ['1.36.7', '1.37.3']\n"
    (read,) = load_deviations(written(tmp_path, "deviations:" + picked))
    assert read.holds_in(KubernetesVersion.parse(release)) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "deviations:" + entry("made-up"),
            "deviations.yaml: collected: variant 'made-up' is none of crashloop/model/variants.py.",
            id="unknown-variant",
        ),
        pytest.param(
            "deviations:" + entry() + entry(),
            "deviations.yaml: collected: is defined more than once; an id must be unique.",
            id="twice",
        ),
        pytest.param(
            "deviations:" + entry() + "    colour: red\n",
            "deviations.yaml: Object contains unknown field `colour` - at `$.deviations[0]`.",
            id="unknown-field",
        ),
        pytest.param("deviations: [", "deviations.yaml: it is neither JSON nor YAML: ", id="not-yaml"),
    ],
)
def test_a_wrong_entry_is_reported_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        load_deviations(written(tmp_path, text))
    assert str(caught.value).startswith(message)
