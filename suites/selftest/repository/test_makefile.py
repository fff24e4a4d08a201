"""What the targets of the Makefile say where they cannot do their work."""

import re
import subprocess
from pathlib import Path

import msgspec
import pytest
import yaml

from crashloop.run.options import OPTIONS
from suites.selftest.kit.report_example import example_results
from tools.action_outputs import outputs

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
    assert len(writers) == 5


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


def stand_in(folder: Path, *codes: int) -> Path:
    """A folder of programs whose `crashloop` ends with these codes, one after the other, and keeps its arguments."""
    program = folder / "crashloop"
    ends = " ".join(map(str, codes))
    program.write_text(
        f'#!/bin/sh\necho "$@" >>{folder}/said\nn=$(wc -l <{folder}/said)\nset -- {ends}\nshift $((n - 1))\nexit $1\n'
    )
    program.chmod(0o755)
    return folder


def judged(folder: Path, target: str, *variables: str) -> "subprocess.CompletedProcess[str]":
    given = [f"BIN={folder}", "PYTEST_ARGS=--topic CAP", *variables]
    return subprocess.run(
        ["make", "--silent", "--assume-old=setup", target, *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("target", ["conformance", "conformance-full"])
@pytest.mark.parametrize(
    ("codes", "variable", "ended", "said"),
    [
        ((0,), "INCONCLUSIVE=fail", 0, ""),
        ((1,), "INCONCLUSIVE=ok", 2, ""),
        ((70,), "INCONCLUSIVE=retry", 2, ""),
        ((3,), "INCONCLUSIVE=fail", 2, "INCONCLUSIVE=retry judges once more, INCONCLUSIVE=ok ends with 0."),
        ((3,), "INCONCLUSIVE=ok", 0, "INCONCLUSIVE (3): evidence is missing"),
        ((3, 0), "INCONCLUSIVE=retry", 0, "INCONCLUSIVE: judged once more."),
        ((3, 1), "INCONCLUSIVE=retry", 2, "INCONCLUSIVE: judged once more."),
        ((3, 3), "INCONCLUSIVE=retry", 0, "nothing accuses Kubernetes"),
        ((3,), "INCONCLUSIVE=maybe", 2, "INCONCLUSIVE=maybe: expected ok, retry or fail."),
    ],
)
def test_a_run_that_is_left_open_is_said_in_words_and_passes_where_that_is_asked_for(
    target: str, codes: tuple[int, ...], variable: str, ended: int, said: str, tmp_path: Path
) -> None:
    done = judged(stand_in(tmp_path, *codes), target, variable)
    assert done.returncode == ended, done.stderr
    assert said in done.stderr
    calls = (tmp_path / "said").read_text().splitlines()
    assert len(calls) == len(codes)
    assert all(each.startswith("run ") and each.endswith("--topic CAP") for each in calls)


@pytest.mark.parametrize(("codes", "ended"), [((3, 3), 0), ((3, 1), 2), ((1,), 2), ((0,), 0)])
def test_the_quick_run_is_tried_once_more(codes: tuple[int, ...], ended: int, tmp_path: Path) -> None:
    assert judged(stand_in(tmp_path, *codes), "quick").returncode == ended
    assert len((tmp_path / "said").read_text().splitlines()) == len(codes)


def test_the_action_tells_what_the_newest_run_found(tmp_path: Path) -> None:
    assert list(outputs(tmp_path)) == ["outcome=ERROR", "fail-count=0", "inconclusive-count=0"]
    (tmp_path / "latest").mkdir()
    (tmp_path / "latest/results.json").write_bytes(msgspec.json.encode(example_results()))
    told = dict(each.split("=") for each in outputs(tmp_path))
    named = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["outputs"]
    assert told.keys() == named.keys() - {"runs"}
    assert told["outcome"] in {"PASS", "FAIL", "INCONCLUSIVE", "ERROR"}


SNIPPETS = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/ci.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_the_snippets_of_the_page_call_what_there_is(snippet: str) -> None:
    """Each of their `make` targets exists, and `crashloop run` takes each of their options."""
    assert yaml.safe_load(snippet)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", snippet)) <= targets
    known = {each.name for each in OPTIONS}
    called = re.findall(r"(?:crashloop run|PYTEST_ARGS=|arguments:)(.*)", snippet)
    assert {word.split("=")[0] for line in called for word in re.findall(r"--[a-z-]+", line)} <= known
