"""The measuring scripts say what they measure before they measure it."""

import runpy
import sys
from pathlib import Path

import pytest

from bench.pods_per_cpu_second import CRASHLOOP, KUBE_BURNER_ITSELF, Cost, Made, figures, kube_burner_of
from crashloop.errors import UsageError

BENCH = Path(__file__).parents[3] / "bench"


@pytest.mark.parametrize(
    "script",
    [*sorted(BENCH.glob("*.py")), *sorted(BENCH.glob("*/__main__.py"))],
    ids=lambda path: str(path.relative_to(BENCH)),
)
def test_a_measuring_script_shows_its_help_and_ends(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: ")


def executable(path: Path) -> Path:
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_variable_names_a_kube_burner_before_path_does(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    on_path, named = executable(tmp_path / "bin" / "kube-burner"), executable(tmp_path / "burner-2")
    path = str(tmp_path / "bin")
    assert kube_burner_of({"PATH": path, "KUBE_BURNER": str(named)}) == named
    assert kube_burner_of({"PATH": path, "KUBE_BURNER": ""}) == on_path
    assert kube_burner_of({"PATH": str(tmp_path)}) is None


@pytest.mark.parametrize("kind", ["missing", "folder", "no-program"])
def test_a_named_kube_burner_that_cannot_be_started_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "no-program").touch(mode=0o644)
    named = tmp_path / kind
    with pytest.raises(UsageError) as raised:
        kube_burner_of({"PATH": "", "KUBE_BURNER": str(named)})
    assert str(raised.value) == f"KUBE_BURNER={named}: no executable file; expected the path of kube-burner."


def test_it_is_refused_before_a_cluster_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBE_BURNER", str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "argv", ["pods_per_cpu_second"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(BENCH / "pods_per_cpu_second.py"), run_name="__main__")
    assert ended.value.code == 2
    assert f"KUBE_BURNER={tmp_path / 'nowhere'}: no executable file" in capsys.readouterr().err


def cost(pods: int, cpu_s: float) -> Cost:
    return Cost(Made(pods), cpu_s=cpu_s, took_s=10.0)


def test_what_a_further_pod_costs_leaves_the_start_of_a_tool_out() -> None:
    """One takes 1 s to start and 2 ms a pod, the other 0.5 s and 4 ms."""
    found = list(
        figures({CRASHLOOP: (cost(200, 1.4), cost(1000, 3.0)), KUBE_BURNER_ITSELF: (cost(200, 1.3), cost(1000, 4.5))})
    )
    shown = {each.quantity: round(each.value, 3) for each in found}
    assert shown["further pods created and deleted per CPU second by kube-burner"] == 250
    assert (shown["ratio, all in"], shown["ratio of further pods"]) == (1.5, 2)


def test_without_kube_burner_there_is_no_ratio() -> None:
    found = list(figures({CRASHLOOP: (cost(200, 1.4), cost(1000, 3.0))}))
    assert [each.value for each in found] == pytest.approx([1000 / 3, 500])
    assert all(each.target is None for each in found)
