"""list, explain, profile check and manifests: what the suite holds, without a checkout."""

from pathlib import Path
from typing import get_args

import msgspec
import pytest
import yaml
from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.cli.catalogue import StateName
from crashloop.requirements import load_requirements
from crashloop.resources import MANIFESTS
from crashloop.spec.requirement import State
from crashloop.spec.version import DEFAULT_VERSION
from crashloop.verdict import ExitCode

CATALOGUE = load_requirements()


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_states_are_those_that_exist() -> None:
    assert get_args(StateName) == tuple(state.value for state in State)


def test_the_whole_catalogue_is_listed() -> None:
    listed = msgspec.json.decode(printed("list", "--json"))
    assert [row["id"] for row in listed] == list(CATALOGUE)


def test_a_list_can_be_narrowed() -> None:
    listed = msgspec.json.decode(printed("list", "--json", "--topic", "CAP", "--state", "judged"))
    expected = [each.id for each in CATALOGUE.values() if each.topic == "CAP" and each.state is State.JUDGED]
    assert [row["id"] for row in listed] == expected


def test_a_requirement_is_explained_with_source_evidence_and_tests() -> None:
    text = printed("explain", "cap-3")
    assert text.startswith(f"CAP-3: {CATALOGUE['CAP-3'].sentence}\n")
    folded = "".join(text.split())
    assert "".join(CATALOGUE["CAP-3"].source.split()) in folded
    assert "suites/conformance/test_cap.py::test_a_maximum_below_the_initial_delay_lowers_it" in folded


@pytest.mark.parametrize("state", sorted({each.state for each in CATALOGUE.values()}))
def test_a_requirement_in_any_state_can_be_explained(state: State) -> None:
    found = next(each for each in CATALOGUE.values() if each.state is state)
    text = printed("explain", found.id)
    assert text.startswith(f"{found.id}: ")
    assert "".join(found.reason.split()) in "".join(text.split())


def test_a_profile_is_checked_with_the_delays_that_follow() -> None:
    assert "0, 2 s" in printed("profile", "check", "max-2s")
    done = CliRunner().invoke(app, ["profile", "check", "max-301s"])
    assert done.exit_code == ExitCode.FAIL
    assert "refused" in done.stdout
    assert "must be set between 1s and 300s" in done.stdout


def test_profiles_are_checked_one_by_one_and_the_worst_decides_the_exit_code(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["profile", "check", "max-301s", str(tmp_path / "gone.yaml"), "max-2s", "--json"])
    assert done.exit_code == ExitCode.USAGE
    rows = msgspec.json.decode(done.stdout)
    assert [(each["outcome"], each["kubernetes"]) for each in rows] == [
        ("refused", DEFAULT_VERSION),
        ("unreadable", DEFAULT_VERSION),
        ("accepted", DEFAULT_VERSION),
    ]


@pytest.mark.parametrize("path", sorted(MANIFESTS.rglob("*.[jy]*")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_manifest_is_printed_as_it_is(path: object) -> None:
    name = path.relative_to(MANIFESTS).as_posix()  # type: ignore[attr-defined]
    text = printed("manifests", name)
    assert list(yaml.safe_load_all(text)) == list(yaml.safe_load_all(path.read_text()))  # type: ignore[attr-defined]


def test_a_host_is_described_for_programs() -> None:
    rows = msgspec.json.decode(CliRunner().invoke(app, ["doctor", "--json"]).stdout)["rows"]
    assert {"cores", "memory", "docker"} <= {row["name"] for row in rows} | {"docker"}
    assert isinstance(msgspec.json.decode(printed("status", "--json")), list)


def test_what_this_suite_bounds_itself_and_what_fails_no_run_is_said() -> None:
    assert "ours: no text names a number" in printed("explain", "rules-29")
    assert "report only" not in printed("explain", "rules-29")
    assert "report only: a FAIL fails no run" in printed("explain", "ovh-11")


def test_a_requirement_that_an_open_change_would_turn_round_says_so() -> None:
    text = " ".join(printed("explain", "backoff-4").split())
    assert "kubernetes/kubernetes#133472 is open. The first restart waits for the first delay as well" in text
    assert "may do either" in text
    assert "is open" not in printed("explain", "backoff-1")
