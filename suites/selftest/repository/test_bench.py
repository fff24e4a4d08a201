"""The measuring scripts say what they measure before they measure it."""

import runpy
import sys
from pathlib import Path

import pytest

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
