"""`crashloop run` owns its terminal: a live line while it runs, nothing of pytest's, and a word about misspelt options."""

from pathlib import Path

import pytest

from crashloop.cli.run_terminal import is_own, progress
from crashloop.cli.runs import _refuse_misspelt
from crashloop.errors import UsageError
from crashloop.resources import SUITES
from crashloop.verdict import ExitCode
from suites.selftest.kit import simulated_recorder
from suites.selftest.kit.existing_kit import crashloop, crashloop_run

CAP = SUITES / "conformance" / "test_cap.py"
"""Few tests, and so few imports of each process."""


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ((142, 316, 0, 0, 70.2), "142 of 316 verdicts, 0 FAIL, at most 1 min 10 s left"),
        ((3, 4, 1, 2, 0.0), "3 of 4 verdicts, 1 FAIL, 2 undecided, at most 0 s left"),
    ],
    ids=["calm", "with-findings"],
)
def test_the_live_line_has_verdicts_findings_and_time(counts: tuple[int, int, int, int, float], line: str) -> None:
    assert progress(*counts) == line


@pytest.mark.parametrize("argument", ["-q", "-vv", "--collect-only", "-rA"])
def test_who_asks_for_pytests_output_gets_it(argument: str) -> None:
    assert not is_own([argument])
    assert is_own(["suites/conformance/test_cap.py", "--maxfail=1"])


@pytest.mark.parametrize(
    ("given", "meant"),
    [("--requirements=CAP-3", "--requirement"), ("--kubelet-bin", "--kubelet-binary"), ("--topics", "--topic")],
    ids=["plural", "begin", "with-value"],
)
def test_a_misspelt_option_is_refused_with_the_one_that_was_meant(given: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"no such option\. Did you mean {meant}\?"):
        _refuse_misspelt(given)


@pytest.mark.parametrize(
    "given", ["--maxfail=1", "--k8s-kubeconfig=x", "--durations=5", "-x", "test_cap.py", "--tb=short"]
)
def test_options_of_pytest_and_its_plugins_pass(given: str) -> None:
    _refuse_misspelt(given)


@pytest.mark.parametrize("processes", ["0", "2"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--provider", "existing", "--kubeconfig", "/nowhere"), "kubeconfig /nowhere: there is no such file.\n"),
        (("--cluster", "nosuch"), "cluster 'nosuch': unknown on this host;"),
    ],
    ids=["before the session", "before the recorder"],
)
def test_an_error_is_the_only_message(tmp_path: Path, processes: str, arguments: tuple[str, ...], said: str) -> None:
    status, output = crashloop_run(tmp_path, *arguments, "-n", processes, str(CAP))
    assert status == ExitCode.USAGE
    assert output.strip().startswith(f"crashloop: {said}")
    assert "nothing was recorded" not in output
    assert "!!!" not in output


INTERRUPTED = "def pytest_runtest_setup():\n    raise KeyboardInterrupt\n"
"""A plugin that interrupts the run as Ctrl-C does, at its first test."""


def test_an_interrupted_run_says_so_and_ends_with_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "interrupting.py").write_text(INTERRUPTED, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    plugins = ("-p", simulated_recorder.__name__, "-p", "interrupting")
    status, output = crashloop_run(tmp_path, *plugins, "-n", "0", "--requirement", "RULES-4")
    assert status == ExitCode.INTERRUPTED, output
    assert "crashloop: interrupted; what was recorded is judged, and what was started is removed ...\n" in output
    assert "Exit code: 130\n" in output
    assert "KeyboardInterrupt" not in output
    (run,) = (each for each in (tmp_path / "runs").iterdir() if each.name != "latest")
    status, output = crashloop(tmp_path, "report", str(run))
    assert (status, "Exit code of the run: 0\n" in output) == (ExitCode.OK, True), output


def test_a_run_that_is_interrupted_while_it_chooses_tests_begins_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = "def pytest_collection_modifyitems():\n    raise KeyboardInterrupt\n"
    (tmp_path / "interrupting.py").write_text(hook, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    status, output = crashloop_run(tmp_path, "-p", "interrupting", "-n", "0", "--dry-run", str(CAP))
    assert (status, output.strip()) == (ExitCode.INTERRUPTED, "crashloop: interrupted.")
