"""`crashloop compare` and `crashloop compare --by version` on run directories: output, exit codes, and what they refuse."""

import json
from pathlib import Path

import msgspec
import pytest

from crashloop.cli.suites import judged_run
from crashloop.errors import UsageError
from crashloop.report.results import Results
from crashloop.run.analysis import publish
from crashloop.rundir import RunDir
from suites.selftest.kit.comparison_example import NEWER, OLDER, ON_KIND, crashloop
from suites.selftest.kit.report_example import INFO, PLAN


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Path]:
    """Run directories that were judged."""
    return {
        name: published(tmp_path / name, results)
        for name, results in (("older", OLDER), ("newer", NEWER), ("kind", ON_KIND))
    }


def published(path: Path, results: Results) -> Path:
    publish(RunDir.create(path, INFO), results)
    return path


@pytest.mark.parametrize(
    ("before", "after", "code"), [("older", "newer", 1), ("newer", "kind", 0), ("newer", "newer", 0)]
)
def test_the_exit_code_says_whether_anything_got_worse(
    runs: dict[str, Path], before: str, after: str, code: int
) -> None:
    result = crashloop("compare", runs[before], runs[after])
    assert result.exit_code == code
    assert result.stdout.endswith(f"Exit code: {code}\n")


def test_json_and_markdown_go_to_standard_output_and_a_page_to_its_file(runs: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "diff.html"
    result = crashloop("compare", "--json", "--html", page, runs["older"], runs["newer"])
    assert json.loads(result.stdout)["format"] == "crashloop.comparison/2"
    assert "5 differences" in page.read_text(encoding="utf-8")
    assert crashloop("compare", "--markdown", runs["older"], runs["newer"]).stdout.startswith("## ✗ 5 differences")


def test_a_matrix_shows_runs_and_never_fails(runs: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "matrix.html"
    result = crashloop("compare", "--by=version", "--html", page, *runs.values())
    assert (result.exit_code, "CAP-4" in result.stdout) == (0, True)
    assert "Requirements by provider, Kubernetes version and kubelet</h1>" in page.read_text(encoding="utf-8")
    assert (
        json.loads(crashloop("compare", "--by=version", "--json", *runs.values()).stdout)["format"]
        == "crashloop.matrix/1"
    )
    assert crashloop("compare", "--by=version", "--markdown", *runs.values()).stdout.startswith(
        "## ✓ Requirements by provider"
    )


def test_a_run_that_was_not_judged_is_judged_and_left_as_it_is(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "unjudged", INFO)
    run.write(run.plan_json, PLAN)
    before = sorted(path.name for path in run.root.iterdir())
    results = judged_run(run.root).results
    assert len(results.verdicts) == len(PLAN.judgements)
    assert sorted(path.name for path in run.root.iterdir()) == before


def test_the_users_own_kubelet_is_known_from_the_settings_of_the_run(tmp_path: Path) -> None:
    info = msgspec.structs.replace(INFO, settings={"kubelet_binary": "/src/kubelet"})
    publish(RunDir.create(tmp_path / "own", info), NEWER)
    assert judged_run(tmp_path / "own").kubelet_binary == "/src/kubelet"


def test_what_is_no_run_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing-here: run\.json cannot be read"):
        judged_run(tmp_path / "nothing-here")
    (runs["kind"] / "results.json").write_text("{", encoding="utf-8")
    result = crashloop("compare", runs["newer"], runs["kind"])
    assert isinstance(result.exception, UsageError)
    assert "results.json is damaged" in str(result.exception)


def test_two_formats_at_once_and_a_page_that_cannot_be_written_are_refused(runs: dict[str, Path]) -> None:
    refused = crashloop("compare", "--json", "--markdown", runs["older"], runs["newer"])
    assert str(refused.exception) == ("--json and --markdown: both go to standard output, so only one can be printed.")
    refused = crashloop("compare", "--by=version", "--html", runs["older"] / "no" / "folder.html", runs["older"])
    assert isinstance(refused.exception, UsageError)
    assert "folder.html: cannot be written (No such file or directory)." in str(refused.exception)
