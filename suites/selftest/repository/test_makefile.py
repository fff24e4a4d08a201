"""What the targets of the Makefile say where they cannot do their work."""

import re
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


def test_one_target_writes_everything_that_is_generated_without_a_run() -> None:
    """Every generator that CONTRIBUTING.md names, and every one that a generated file of the repository names as its writer."""
    done = subprocess.run(
        ["make", "--dry-run", "--assume-old=python", "generated"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    in_target = set(re.findall(r"python (-m tools\..+)", done.stdout))
    named = set(re.findall(r"`python (-m tools\.[^`]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert in_target == {each for each in named if " RUN" not in each}
    heads = [
        "\n".join(path.read_text(encoding="utf-8").splitlines()[:5])
        for path in (*ROOT.glob("docs/*.md"), *ROOT.glob("crashloop/*/*.yaml"))
    ]
    writers = {
        found[1] for head in heads if (found := re.search(r"(?:Written|Generated) by `?python (-m tools\.\w+)", head))
    }
    assert writers <= {each.split(" --")[0] for each in in_target}
    assert len(writers) == 4


@pytest.mark.parametrize("workflow", [path.name for path in (ROOT / ".github/workflows").glob("*.yml")])
def test_a_workflow_gives_no_option_that_its_target_has(workflow: str) -> None:
    """`crashloop run` refuses an option of one value that is given twice."""
    text = (ROOT / ".github/workflows" / workflow).read_text(encoding="utf-8")
    targets = re.findall(r"PYTEST_ARGS make (\S+)\n\s+env:\n(?:\s+#.*\n)*\s+PYTEST_ARGS: (.+)", text)
    for target, given in targets:
        done = subprocess.run(
            ["make", "--dry-run", "--assume-old=python", target, "PYTEST_ARGS="],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        own = {word for line in done.stdout.splitlines() if "/crashloop run" in line for word in line.split()}
        assert not own & {word for word in given.split() if word.startswith("-")}, target
