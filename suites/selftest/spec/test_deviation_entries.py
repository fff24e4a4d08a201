"""Every known deviation names a promise of the catalogue and a rule of the model, and says what was seen."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import crashloop
from crashloop.model.variants import RESTART_ALL_STALLS, RULE_HIDES_LATER_RULES, VARIANTS, variant
from crashloop.requirements import load_requirements
from crashloop.spec.requirement import Level
from crashloop.spec.version import KubernetesVersion

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
