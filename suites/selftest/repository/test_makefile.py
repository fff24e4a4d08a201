"""What the targets of the Makefile say where they cannot do their work."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("runs", ["", "runs/one", "runs/one runs/other runs/third"])
def test_a_comparison_needs_two_runs(runs: str) -> None:
    done = subprocess.run(
        ["make", "--silent", "--assume-old=python", "diff", f"RUNS={runs}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[:2] == [
        f"make diff compares two runs; below runs/, or named by RUNS, are: {len(runs.split())}.",
        '`make conformance` makes one; RUNS="runs/A runs/B" names two.',
    ]
