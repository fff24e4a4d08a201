"""What the environment of the user's shell says to other programs changes no command."""

import os
import subprocess
import sys

import pytest


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
