"""Each run judges a kubelet that is wrong for certain in its own evidence, and is ERROR if that one passes."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from crashloop.history.recording import Recording
from crashloop.report.conformance import conformance_document
from crashloop.report.markdown import to_markdown
from crashloop.run import analysis
from crashloop.run.analysis import analyze
from crashloop.rundir import RunDir
from crashloop.spec.plan import Judgement, Plan
from crashloop.verdict import ExitCode, Outcome, Verdict
from sim.host import BUSY, CALM, COARSE, NO_JOURNAL, NO_RUNTIME, HostModel
from suites.selftest.history.test_stretched import SCENARIOS
from suites.selftest.kit.run_dirs import a_run
from tools.trials import history_of, profile_of

SCENARIO = SCENARIOS["counted-for-70s-stock"]


def recorded(tmp_path: Path, host: HostModel, name: str = "run") -> RunDir:
    asked = Judgement(requirement="BACKOFF-2", scenario=SCENARIO.name)
    (tmp_path / name).mkdir()
    run = a_run(tmp_path / name, asked, scenarios=(SCENARIO,), profiles=(profile_of(SCENARIO),))
    lines = [msgspec.json.encode(event) + b"\n" for event in history_of(SCENARIO, host=host)]
    run.history(SCENARIO.name).write_bytes(b"".join(lines))
    return run


@pytest.mark.parametrize("host", [CALM, BUSY, COARSE, NO_JOURNAL], ids=lambda host: host.name)
def test_a_wrong_kubelet_is_refused_in_the_evidence_of_any_host(tmp_path: Path, host: HostModel) -> None:
    results = analyze(recorded(tmp_path, host))
    assert results.control is not None
    assert (results.control.scenario, results.control.outcome) == (SCENARIO.name, Outcome.FAIL)
    assert results.control.sentence in to_markdown(conformance_document(results))


def says(outcome: Outcome) -> Callable[[Plan, str, Recording], tuple[Verdict, ...]]:
    """A judge that always says so."""
    return lambda _, scenario, __: (Verdict(requirement="BACKOFF-2", scenario=scenario, profile="", outcome=outcome),)


def test_a_control_that_the_evidence_leaves_open_is_said_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "judge_recorded", says(Outcome.INCONCLUSIVE))
    results = analyze(recorded(tmp_path, CALM))
    assert results.exit_code == ExitCode.OK
    assert results.control is not None
    assert results.control.sentence.endswith("40 % shorter was left open by BACKOFF-2.")


def test_a_run_that_does_not_refuse_it_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "judge_recorded", says(Outcome.PASS))
    results = analyze(recorded(tmp_path, CALM))
    assert results.exit_code == ExitCode.ERROR
    assert results.verdicts[0].findings == (
        "A copy of counted-for-70s-stock with delays that are 40 % shorter was not refused by BACKOFF-2. "
        "No PASS of this run means anything.",
    )


def test_without_the_runtimes_events_there_is_no_control_and_no_error(tmp_path: Path) -> None:
    results = analyze(recorded(tmp_path, NO_RUNTIME))
    assert results.control is not None
    assert results.control.outcome is None
    assert results.control.sentence == "No recording has a delay that could be shortened."
    assert results.verdicts[0].outcome is not Outcome.ERROR
