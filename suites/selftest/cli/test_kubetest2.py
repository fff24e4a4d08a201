"""The tester of kubetest2 is a run on the cluster that kubetest2 names, with its results among the artifacts."""

import sys
from pathlib import Path

import pytest

from crashloop.cli import kubetest2


def test_the_run_is_written_among_the_artifacts(tmp_path: Path) -> None:
    assert kubetest2.run_directory({"ARTIFACTS": str(tmp_path)}) == tmp_path / "crashloop"
    assert kubetest2.run_directory({}) == Path("_artifacts/crashloop").absolute()


def test_arguments_after_the_dashes_are_those_of_a_run() -> None:
    given = kubetest2.arguments(["--requirement", "CAP-3"], Path("/a/crashloop"))
    assert given == ["run", "--provider=existing", "--run-dir=/a/crashloop", "--requirement", "CAP-3"]


@pytest.mark.parametrize("code", [0, 1])
def test_testgrid_finds_the_verdicts_whatever_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int
) -> None:
    def judged() -> None:
        (run_dir,) = (Path(each.partition("=")[2]) for each in sys.argv if each.startswith("--run-dir="))
        run_dir.mkdir()
        (run_dir / "junit.xml").write_text("<testsuites/>", encoding="utf-8")
        raise SystemExit(code)

    monkeypatch.setenv("ARTIFACTS", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["kubetest2-tester-crashloop", "--requirement=CAP-3"])
    monkeypatch.setattr(kubetest2, "crashloop", judged)
    with pytest.raises(SystemExit) as ended:
        kubetest2.main()
    assert ended.value.code == code
    assert (tmp_path / "junit_crashloop.xml").read_text(encoding="utf-8") == "<testsuites/>"


def test_without_verdicts_there_is_no_file_for_testgrid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARTIFACTS", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["kubetest2-tester-crashloop"])
    monkeypatch.setattr(kubetest2, "crashloop", lambda: sys.exit(2))
    with pytest.raises(SystemExit):
        kubetest2.main()
    assert list(tmp_path.iterdir()) == []
