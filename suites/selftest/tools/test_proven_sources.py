"""The whole proof is made anew after a change of anything that it depends on."""

import subprocess
import sys
from pathlib import Path

import pytest

from suites.selftest.kit.proof import SHARE, share_of
from tools.proven_sources import PROOF, RECORDED, RULES, are_proven, digest, files, record

FOR_READING = {"cluster", "errors", "resources", "slo", "yaml_text"}
"""What profiles and requirements are read with; no verdict on a simulated history depends on it."""
JUDGING = ("checks.judge", "checks.everywhere", "checks.kinds", "deviations", "requirements", "profiles")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with one file in each source, of which the whole proof was recorded."""
    for name in (*RULES, *PROOF):
        path = tmp_path / name if Path(name).suffix else tmp_path / name / "inner" / "file.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (tmp_path / RECORDED).parent.mkdir(exist_ok=True)
    record(tmp_path)
    return tmp_path


def test_what_was_recorded_is_proven(root: Path) -> None:
    assert are_proven(root)


@pytest.mark.parametrize("source", [*RULES, *PROOF])
def test_any_changed_source_is_to_be_proven_anew(root: Path, source: str) -> None:
    changed = next(path for path in files(root) if path.relative_to(root).as_posix().startswith(source))
    changed.write_text("changed", encoding="utf-8")
    assert not are_proven(root)


def test_a_further_source_is_to_be_proven_as_well(root: Path) -> None:
    (root / "sim/further.py").write_text("", encoding="utf-8")
    assert not are_proven(root)


def test_a_merge_leaves_two_digests_of_which_either_counts_for_its_own_sources_only(root: Path) -> None:
    both = f"{digest(root)}\n{'0' * 64}\n"
    (root / RECORDED).write_text(both, encoding="utf-8")
    assert are_proven(root)
    (root / "sim/inner/file.py").write_text("of the other side", encoding="utf-8")
    assert not are_proven(root)


def test_a_checkout_without_a_record_is_to_be_proven(root: Path) -> None:
    (root / RECORDED).unlink()
    assert not are_proven(root)


def test_a_source_that_is_gone_is_named(root: Path) -> None:
    (root / "crashloop/verdict.py").unlink()
    with pytest.raises(FileNotFoundError, match=r"crashloop/verdict\.py: tools/proven_sources\.py names it;"):
        digest(root)


def test_runs_of_every_seed_try_each_case_once() -> None:
    assert sorted(case for seed in range(SHARE) for case in share_of(range(100), seed)) == list(range(100))


def test_everything_that_judges_and_simulates_is_a_source() -> None:
    """As imported by a process that does nothing else."""
    imports = "; ".join(["import sim", *(f"import crashloop.{name}" for name in JUDGING)])
    told = f"{imports}; import sys; print(*(n for n in sys.modules if n.startswith('crashloop.')))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[1] for name in done.stdout.split()} - FOR_READING
    known = {Path(name).stem for name in RULES}
    assert loaded - known == set(), "tools/proven_sources.py lacks them"
