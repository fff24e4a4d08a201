"""The tester of kubetest2 is a run on the cluster that kubetest2 names, with its results among the artifacts."""

import os
import subprocess
from pathlib import Path

import pytest

TESTER = Path(__file__).parents[3] / "contrib" / "kubetest2-tester-crashloop"
RUN = """#!/bin/sh
echo "$@"
[ "$WRITES" = yes ] && mkdir -p "$ARTIFACTS/crashloop" && echo "<testsuites/>" >"$ARTIFACTS/crashloop/junit.xml"
exit "$CODE"
"""


def judged(folder: Path, code: int, writes: str) -> tuple[int, str]:
    """Exit code and output with a program in place of crashloop that says its arguments."""
    program = folder / "crashloop"
    program.write_text(RUN, encoding="utf-8")
    program.chmod(0o755)
    variables = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "ARTIFACTS": f"{folder}/of it",
        "CODE": str(code),
        "WRITES": writes,
    }
    done = subprocess.run(
        [TESTER, "--requirement", "CAP-3"], env=variables, stdout=subprocess.PIPE, text=True, check=False
    )
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize("code", [0, 1])
def test_testgrid_finds_the_verdicts_whatever_the_exit_code(tmp_path: Path, code: int) -> None:
    said = f"run --provider=existing --run-dir={tmp_path}/of it/crashloop --requirement CAP-3"
    assert judged(tmp_path, code, "yes") == (code, said)
    assert (tmp_path / "of it" / "junit_crashloop.xml").read_text(encoding="utf-8") == "<testsuites/>\n"


def test_without_verdicts_there_is_no_file_for_testgrid(tmp_path: Path) -> None:
    assert judged(tmp_path, 2, "no")[0] == 2
    assert not (tmp_path / "of it").exists()
