"""`crashloop run` owns its terminal: a live line while it runs, nothing of pytest's, and a word about misspelt options."""

import pytest

from crashloop.cli.run_terminal import is_own, progress
from crashloop.cli.runs import _refuse_misspelt
from crashloop.errors import UsageError


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
