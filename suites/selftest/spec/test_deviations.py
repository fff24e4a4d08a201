"""Reading deviations.yaml: a finding about an entry names it.

Every known deviation names a promise of the catalogue and a rule of the model, and says what was seen.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import crashloop
from crashloop.deviations import load_deviations
from crashloop.model.variants import RESTART_ALL_STALLS, RULE_HIDES_LATER_RULES, VARIANTS, variant
from crashloop.requirements import CatalogueError, load_requirements
from crashloop.spec.requirement import Level
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


FILE = Path(crashloop.__file__).with_name("deviations.yaml")
ENTRIES: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["deviations"]
EACH = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["id"])

WITHOUT_A_REQUIREMENT = {RESTART_ALL_STALLS, RULE_HIDES_LATER_RULES}
"""Variants about KEP-5532, of which the catalogue holds no promise that they break."""


@EACH
def test_an_entry_has_every_field(entry: dict[str, Any]) -> None:
    assert [field for field in entry if field not in ("also", "with")] == [
        "id",
        "requirement",
        "variant",
        "since",
        "until",
        "sentence",
        "evidence",
        "link",
    ]


@EACH
def test_an_entry_breaks_a_promise(entry: dict[str, Any]) -> None:
    for requirement in (entry["requirement"], *entry.get("also", ())):
        assert load_requirements()[requirement].level is Level.MUST


@EACH
def test_an_entry_claims_no_release_that_its_variant_does_not_hold_in(entry: dict[str, Any]) -> None:
    known = variant(entry["variant"])
    assert known.holds_in(KubernetesVersion.parse(entry["since"]))
    if entry["until"] is not None:
        assert known.holds_in(KubernetesVersion.parse(entry["until"]))
        assert KubernetesVersion.parse(entry["since"]) <= KubernetesVersion.parse(entry["until"])
    else:
        assert known.fixed_in is None


@EACH
def test_an_entry_says_what_happens_and_where_the_source_has_it(entry: dict[str, Any]) -> None:
    assert entry["sentence"].endswith(".")
    assert re.search(r"\S+\.go@v[01]\.3\d\.\d+", entry["evidence"])
    assert entry["link"] is None or re.fullmatch(r"https://github\.com/kubernetes/\S+/\d+", entry["link"])


def test_an_entry_is_given_once() -> None:
    names = [entry["id"] for entry in ENTRIES]
    broken = [(entry["requirement"], entry["variant"]) for entry in ENTRIES]
    assert len(set(names)) == len(set(broken)) == len(ENTRIES)


def test_every_variant_of_the_model_explains_a_broken_promise() -> None:
    explained = {entry["variant"] for entry in ENTRIES}
    assert {each.name for each in VARIANTS} - explained == WITHOUT_A_REQUIREMENT
