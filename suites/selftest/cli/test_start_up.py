"""A command starts with what it needs: guarded by what it imports and parses, because time depends on the machine.

What the environment of the user's shell says to other programs changes no command.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
_PROGRAM = """
import json, sys
sys.argv = ["crashloop", *sys.argv[1:]]
from crashloop.cli import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""

UNUSED = {
    ("--help",): {"rich", "numpy", "pydantic", "pytest", "jinja2", "crashloop.requirements", "crashloop.run.planning"},
    ("--version",): {"rich", "numpy", "pydantic", "pytest", "jinja2", "crashloop.requirements"},
    ("list", "--topic", "CAP"): {"numpy", "pytest", "jinja2", "crashloop.slo", "crashloop.model", "crashloop.checks"},
    ("explain", "CAP-3"): {
        "numpy",
        "pytest",
        "jinja2",
        "crashloop.slo",
        "crashloop.checks",
        "crashloop.report.results",
    },
    ("predict", "--max", "10s"): {
        "pytest",
        "jinja2",
        "crashloop.checks",
        "crashloop.report.results",
        "crashloop.cluster.local",
    },
    ("run", "--topic", "CAP", "--dry-run"): {
        "hypothesis",
        "syrupy",
        "locust",
        "suites.conformance.test_pulls",
        "suites.conformance.test_releases",
    },
}


@pytest.mark.parametrize("arguments", UNUSED, ids=" ".join)
def test_a_command_imports_nothing_that_it_does_not_use(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    imported = set(json.loads(done.stderr.splitlines()[-1]))
    assert not imported & UNUSED[arguments]


def printed(*arguments: str, **environment: str) -> tuple[int, str]:
    """Exit code and output of a command with these variables."""
    done = subprocess.run(
        [sys.executable, "-c", "from crashloop.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("columns", ["0", "00", ""])
def test_a_terminal_that_knows_no_width_prints(columns: str) -> None:
    code, output = printed("predict", "--max", "10s", "--nodes", "3", COLUMNS=columns)
    assert code == 0
    assert "restarts/s" in output


def test_settings_for_the_users_own_pytest_do_not_reach_a_run() -> None:
    settings = {
        "PYTEST_ADDOPTS": "--no-such-option",
        "PYTEST_PLUGINS": "no_such_plugin",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    code, _ = printed("run", "--requirement", "CAP-3", "--dry-run", **settings)
    assert code == 0
