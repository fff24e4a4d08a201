"""Tests of somebody else, which pytest runs in a folder and a process of their own."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent


def session(
    folder: Path, tests: str, *arguments: str, kubeconfig: str = "/nowhere/config", timeout_s: float = 280
) -> tuple[int, str]:
    """Exit code and output of pytest on these tests, with that $KUBECONFIG."""
    (folder / "test_theirs.py").write_text(dedent(tests), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {
        "KUBECONFIG": kubeconfig
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:locust", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
