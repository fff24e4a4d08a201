"""The command line as a process of its own, away from the home and the runs of whoever runs the self-tests."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def crashloop_run(folder: Path, *arguments: str, cwd: Path | None = None) -> tuple[int, str]:
    """Exit code and output of `crashloop run`, by default in the checkout."""
    return crashloop(folder, "run", *arguments, cwd=cwd)


def crashloop(folder: Path, *arguments: str, cwd: Path | None = None) -> tuple[int, str]:
    """The same of any command."""
    command = [sys.executable, "-c", "from crashloop.cli import main; main()", *arguments]
    environment = os.environ | {"CRASHLOOP_RUNS_DIR": str(folder / "runs"), "HOME": str(folder)}
    environment.pop("KUBECONFIG", None)
    done = subprocess.run(
        command, cwd=cwd or ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    return done.returncode, done.stdout + done.stderr
