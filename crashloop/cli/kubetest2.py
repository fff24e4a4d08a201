"""`kubetest2-tester-crashloop`: the tester `crashloop` of kubetest2, which gives it a kubeconfig and a folder for artifacts.

Source: sigs.k8s.io/kubetest2 pkg/app/app.go. A tester is a program on PATH; its arguments are those after `--`, and its
environment has ARTIFACTS and, from most deployers, KUBECONFIG.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from crashloop.cli import main as crashloop

ARTIFACTS = "_artifacts"
"""kubetest2's own default."""
JUNIT = "junit_crashloop.xml"
"""TestGrid reads `junit_*.xml` of the artifacts."""


def main() -> None:
    """Judge the cluster that kubetest2 made; exits as `crashloop run` does."""
    run_dir = run_directory(os.environ)
    sys.argv[1:] = arguments(sys.argv[1:], run_dir)
    try:
        crashloop()
    finally:
        if (run_dir / "junit.xml").is_file():
            shutil.copy(run_dir / "junit.xml", run_dir.with_name(JUNIT))


def run_directory(environ: Mapping[str, str]) -> Path:
    """Where the run is written: among the artifacts."""
    return Path(environ.get("ARTIFACTS") or ARTIFACTS).absolute() / "crashloop"


def arguments(given: Sequence[str], run_dir: Path) -> list[str]:
    """The arguments of crashloop: a run on a cluster that exists, with what was given after `--`."""
    return ["run", "--provider=existing", f"--run-dir={run_dir}", *given]
