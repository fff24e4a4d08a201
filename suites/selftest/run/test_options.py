"""What the options of the suites refuse, before anything is started."""

import subprocess
import sys
from pathlib import Path

import pytest

from crashloop.requirements import load_requirements

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("number", [-1, len(load_requirements()) + 1], ids=["negative", "more-than-there-are"])
def test_at_least_is_a_number_of_requirements_that_the_catalogue_has(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-m", "pytest", "suites/conformance", "-p", "no:cacheprovider", "-n", "0", "-k", "CAP-3"]
    options = ["--run-dir", str(tmp_path / "run"), "--at-least", str(number)]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=False)
    most = len(load_requirements())
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"--at-least {number}: expected 0 to {most}, the number of requirements in the catalogue." in done.stderr
    assert not (tmp_path / "run").exists()
