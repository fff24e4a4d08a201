"""`crashloop run` shows the options of the suite, and hands them to pytest with the settings of this project."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.cli.runs import named_tests, selects
from crashloop.cluster.providers import PROVIDERS
from crashloop.errors import UsageError
from crashloop.requirements import load_requirements
from crashloop.resources import HOME, SUITES
from crashloop.run.options import OF_PYTEST, OPTIONS, SCOPES, as_arguments
from crashloop.run.options import PROVIDERS as OFFERED
from crashloop.spec.plan import Plan
from crashloop.spec.requirement import Scope
from crashloop.spec.version import DEFAULT_VERSION
from crashloop.verdict import ExitCode
from fixtures.owner import write_plan
from suites.selftest.kit.existing_kit import crashloop_run

CAP = SUITES / "conformance" / "test_cap.py"
DEFAULT_NODE = f"v{DEFAULT_VERSION}".replace(".", "-")


def test_scopes_and_providers_are_those_that_exist() -> None:
    assert tuple(scope.value for scope in Scope) == SCOPES
    assert OFFERED == PROVIDERS


def test_every_option_is_shown_with_its_choices(tmp_path: Path) -> None:
    status, output = crashloop_run(tmp_path, "--help")
    assert status == ExitCode.OK
    assert [option.name for option in (*OPTIONS, *OF_PYTEST) if option.name not in output] == []
    assert "<quick|full|soak|versions" in output  # the table breaks the line after it
    assert "Exit codes: 0 nothing failed, 1 FAIL" in output


def test_only_what_was_given_is_passed_on() -> None:
    given = dict.fromkeys((option.field for option in (*OPTIONS, *OF_PYTEST)), None)
    given |= {"scope": "full", "keep": True, "skip": ["CAP-3", "RULES"], "k": "x and y"}
    expected = ["--scope=full", "--skip=CAP-3", "--skip=RULES", "--keep", "-k", "x and y"]
    assert as_arguments((*OPTIONS, *OF_PYTEST), given) == expected


def test_an_option_with_an_existing_path_keeps_the_settings_of_pytest(tmp_path: Path) -> None:
    status, output = crashloop_run(
        tmp_path,
        "--collect-only",
        "--requirement",
        "CAP-3",
        "--kubelet-binary",
        "/bin/true",
        "test_cap.py",
        cwd=CAP.parent,
    )
    assert status == ExitCode.OK, output
    assert "configfile: pyproject.toml" in output
    assert "2 selected" in output


@pytest.mark.parametrize(
    ("cwd", "argument"),
    [
        (SUITES.parent, "suites/conformance/test_cap.py"),
        (SUITES, "conformance/test_cap.py::test_x"),
        (CAP.parent, "test_cap.py"),
        (Path("/"), "suites/conformance/test_cap.py"),
        (Path("/"), str(CAP)),
    ],
    ids=["from the checkout", "from a folder of it", "from its own folder", "from elsewhere", "absolute"],
)
def test_a_file_of_tests_is_found_however_it_is_named(
    monkeypatch: pytest.MonkeyPatch, cwd: Path, argument: str
) -> None:
    monkeypatch.chdir(cwd)
    found = named_tests(argument)
    assert found.partition("::")[0] == str(CAP)
    assert selects(found)


@pytest.mark.parametrize("argument", ["-x", "--tb=short", "CAP-3 and max-2s", "no:cacheprovider"])
def test_other_arguments_are_passed_on_as_they_are(argument: str) -> None:
    assert named_tests(argument) == argument
    assert not selects(argument)


def test_requirements_are_selected_exactly(tmp_path: Path) -> None:
    arguments = ("--requirement", "BACKOFF-2", "--topic", "cap", "--skip", "CAP-3")
    status, output = crashloop_run(tmp_path, "--collect-only", "-q", *arguments)
    assert status == ExitCode.OK, output
    chosen = set(re.findall(r"\[([A-Z]+-\d+)-", output))
    assert "BACKOFF-2" in chosen
    assert {name.partition("-")[0] for name in chosen} == {"BACKOFF", "CAP"}
    assert not {name for name in chosen if name.startswith("BACKOFF-2") and name != "BACKOFF-2"}
    assert "CAP-3" not in chosen


def test_a_run_without_tests_is_a_wrong_usage(tmp_path: Path) -> None:
    status, _ = crashloop_run(tmp_path, str(CAP), "-k", "no_test_of_this_name")
    assert status == ExitCode.USAGE
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "said", "processes"),
    [
        (("-k", "CAP and and"), "Wrong expression passed to '-k': CAP and and: at column 9", "2"),
        (("-m", "(("), "Wrong expression passed to '-m': ((: at column 3", "0"),
    ],
    ids=["-k", "-m"],
)
def test_a_wrong_expression_is_the_only_error(
    tmp_path: Path, arguments: tuple[str, ...], said: str, processes: str
) -> None:
    status, output = crashloop_run(tmp_path, *arguments, "-n", processes, str(CAP))
    assert (status, output.count("crashloop: ")) == (ExitCode.USAGE, 1), output
    assert f"crashloop: {said}" in output
    assert "kubelet profile" not in output
    assert "nothing was selected" not in output
    assert not (tmp_path / "runs").exists()


def refusal(*arguments: str) -> str:
    """Why `crashloop run` refuses them, in this process: before pytest starts."""
    done = CliRunner().invoke(app, ["run", *arguments])
    assert isinstance(done.exception, UsageError), done.output
    return str(done.exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--run-dir", ""), "--run-dir: the value is empty; a folder was expected."),
        (("--run-dir", str(CAP)), f"--run-dir {CAP}: it is a file; a folder was expected."),
        (("--kubernetes-version", "1.50.0"), "--kubernetes-version: version is 1.50.0;"),
        (("--feature-gate", "NoSuchGate=true"), f"Kubernetes {DEFAULT_VERSION} does not have that gate."),
        (("--bin-dir", "/nowhere"), "--bin-dir /nowhere: no such folder"),
        (("--requirement", "CAP-999"), "CAP-999"),
        (("--topic", "CAPS"), "CAPS"),
        (
            ("--at-least", "-1"),
            f"--at-least -1: expected 0 to {len(load_requirements())}, the number of requirements in",
        ),
        (
            ("--at-least", "9999"),
            f"--at-least 9999: expected 0 to {len(load_requirements())}, the number of requirements",
        ),
        (("--node-image", "own"), "--node-image: only for --provider kind, not local."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_no_run_could_use_is_refused_before_pytest_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pytest, "main", lambda *_, **__: pytest.fail("pytest was started"))
    assert said in refusal(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_pytest_itself_refuses_them_once_and_leaves_nothing(tmp_path: Path) -> None:
    """For runs that `pytest suites/conformance` starts, also with several processes."""
    command = [sys.executable, "-m", "pytest", str(CAP), "-k", "max-2s", "-n", "2", "--bin-dir", "/nowhere"]
    environment = os.environ | {"CRASHLOOP_RUNS_DIR": str(tmp_path / "runs")}
    done = subprocess.run(command, cwd=HOME, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.USAGE
    assert (done.stdout + done.stderr).count("--bin-dir /nowhere: no such folder") == 1
    assert not (tmp_path / "runs").exists()


def test_a_run_directory_in_which_nothing_can_be_made_is_refused() -> None:
    plan = Plan(
        suite="conformance",
        provider="local",
        kubernetes_version="1.37.1",
        scope="quick",
        profiles=(),
        scenarios=(),
        judgements=(),
    )
    with pytest.raises(UsageError, match="run directory /proc/nowhere: nothing can be written there"):
        write_plan(Path("/proc/nowhere"), plan, {})


def test_a_dry_run_shows_nodes_and_time_and_starts_nothing(tmp_path: Path) -> None:
    status, output = crashloop_run(tmp_path, "--requirement", "CAP-3", "--dry-run", "-n", "2", str(CAP))
    assert status == ExitCode.OK, output
    assert "2 verdicts on 1 requirement; 2 nodes, 26 container starts" in output
    assert "Expected time: " in output
    assert not (tmp_path / "runs").exists()


def test_a_crash_within_pytest_is_no_verdict(tmp_path: Path) -> None:
    plugin = tmp_path / "crashing.py"
    plugin.write_text("def pytest_collection_finish():\n    raise RuntimeError('of ours')\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CRASHLOOP_RUNS_DIR": str(tmp_path / "runs")}
    command = [
        sys.executable,
        "-c",
        "from crashloop.cli import main; main()",
        "run",
        "-p",
        "crashing",
        "--topic",
        "CAP",
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "INTERNALERROR" in done.stdout
    assert done.returncode == ExitCode.ERROR


@pytest.mark.parametrize(
    ("api_server", "oldest", "newest"),
    [(DEFAULT_VERSION, "v1-34-4", DEFAULT_NODE), ("1.36.4", "v1-33-13", "v1-36-4")],
)
def test_a_run_on_several_versions_has_the_kubelets_that_its_api_server_may_have(
    tmp_path: Path, api_server: str, oldest: str, newest: str
) -> None:
    chosen = ("--scope", "versions", "--kubernetes-version", api_server, "-k", "BACKOFF-2", "--dry-run")
    status, output = crashloop_run(tmp_path, *chosen)
    assert status == ExitCode.OK
    nodes = {line.split()[0] for line in output.splitlines() if line.strip().startswith("stock-v1-")}
    assert (min(nodes), max(nodes), len(nodes)) == (f"stock-{oldest}", f"stock-{newest}", 4)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a"], "1 run; a change is between two."),
        (["a", "b", "c"], "3 runs; a change is between two."),
        (["a", "b", "--by", "version", "--values-count"], "--values-count: only for --by change, not version."),
        (["a", "b", "--json", "--markdown"], "--json and --markdown: both go to standard output"),
    ],
    ids=range(4),
)
def test_a_comparison_that_cannot_be_is_refused(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["compare", *arguments])
    assert said in str(done.exception)
