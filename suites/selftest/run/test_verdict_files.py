"""Each scenario of a run is judged once, and its verdicts are read by all who need them; `analyze` alone trusts none of them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from filelock import FileLock

from crashloop.history.event import Channel, Kind
from crashloop.history.statuses import READY_TO_START
from crashloop.run.analysis import analyze, conclude
from crashloop.run.judging import Judged, judge_once, judge_scenario
from crashloop.rundir import RunDir
from crashloop.spec.plan import Judgement
from crashloop.spec.scenario import PodScenario
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import CRASHING, GOOD, renamed
from suites.selftest.kit.histories import READY, History
from suites.selftest.kit.run_dirs import ASKED, a_run, record

COUNTED = Judgement(requirement="RULES-22", scenario="crashing")
OTHER = Judgement(requirement="BACKOFF-4", scenario="other")


def good(of: PodScenario = CRASHING) -> History:
    """A history that decides every requirement, also whether the pod is said to be ready, and to have its sandbox."""
    sandbox = {"container_id": "sandbox-0", "phase": "started"}
    history = History(of).add(0.3, Channel.RUNTIME, Kind.SANDBOX, sandbox, pod=True).lives("app", *GOOD)
    return history.status(29, {}, conditions=[*READY, {"type": READY_TO_START, "status": "True"}]).ends(30)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """A run of two scenarios, the first with two judgements."""
    run = a_run(tmp_path, ASKED, COUNTED, OTHER)
    record(run, good())
    record(run, good(renamed(CRASHING, "other")))
    return run


def keep_other_verdicts(run: RunDir) -> Judged:
    """Leave verdicts on `crashing` that its history does not bear out."""
    right = judge_scenario(run, run.plan(), "crashing")
    wrong = tuple(msgspec.structs.replace(each, outcome=Outcome.FAIL, findings=("Kept.",)) for each in right.verdicts)
    kept = msgspec.structs.replace(right, verdicts=wrong)
    run.verdicts_dir.mkdir(exist_ok=True)
    run.write(run.verdicts("crashing"), kept)
    return kept


def test_all_judgements_on_a_scenario_are_made_together_and_kept(run: RunDir) -> None:
    judged = judge_once(run, run.plan(), "crashing")
    assert [each.requirement for each in judged.verdicts] == ["BACKOFF-4", "RULES-22"]
    assert judged == judge_scenario(run, run.plan(), "crashing")
    assert msgspec.json.decode(run.verdicts("crashing").read_bytes(), type=Judged) == judged
    assert not run.verdicts("other").exists()


def test_verdicts_that_were_kept_are_not_made_again(run: RunDir) -> None:
    kept = keep_other_verdicts(run)
    assert judge_once(run, run.plan(), "crashing") == kept


def test_a_process_waits_for_the_one_that_judges(run: RunDir) -> None:
    run.verdicts_dir.mkdir()
    with ThreadPoolExecutor() as other_process:
        with FileLock(run.verdicts_dir / ".crashing.lock"):
            waiting = other_process.submit(judge_once, run, run.plan(), "crashing")
            kept = keep_other_verdicts(run)
        assert waiting.result() == kept


def test_the_results_of_a_run_hold_the_verdicts_that_were_kept_and_judge_what_is_missing(run: RunDir) -> None:
    kept = keep_other_verdicts(run)
    verdicts = conclude(run).verdicts
    assert [each for each in verdicts if each.scenario == "crashing"] == list(kept.verdicts)
    assert [(each.outcome, each.findings) for each in verdicts if each.scenario == "other"] == [(Outcome.PASS, ())]


def test_judging_again_trusts_no_verdict_that_was_kept(run: RunDir) -> None:
    before = analyze(run)
    keep_other_verdicts(run)
    assert analyze(run) == before
    assert {each.outcome for each in before.verdicts} == {Outcome.PASS}


def test_the_results_are_the_same_whoever_judged(run: RunDir) -> None:
    judge_once(run, run.plan(), "crashing")
    assert conclude(run) == analyze(run)


def test_verdicts_on_an_unfinished_history_are_not_kept(run: RunDir) -> None:
    record(run, good(), lines=-1)
    judged = judge_once(run, run.plan(), "crashing")
    assert {each.outcome for each in judged.verdicts} == {Outcome.INCONCLUSIVE}
    assert not run.verdicts("crashing").exists()
    record(run, good())
    assert {each.outcome for each in conclude(run).verdicts} == {Outcome.PASS}


@pytest.mark.parametrize("content", [b"", b'{"ended": null, "verd', b'{"verdicts": 3}'])
def test_a_damaged_file_is_made_again(run: RunDir, content: bytes) -> None:
    judged = judge_once(run, run.plan(), "crashing")
    run.verdicts("crashing").write_bytes(content)
    assert judge_once(run, run.plan(), "crashing") == judged
    assert msgspec.json.decode(run.verdicts("crashing").read_bytes(), type=Judged) == judged


def test_only_verdicts_are_left_behind(run: RunDir) -> None:
    judge_once(run, run.plan(), "crashing")
    judge_once(run, run.plan(), "other")
    conclude(run)
    assert sorted(path.name for path in run.verdicts_dir.iterdir()) == ["crashing.json", "other.json"]


def test_a_run_without_kept_verdicts_is_judged_whole(run: RunDir) -> None:
    assert conclude(run) == analyze(run)
    assert not run.verdicts_dir.exists()


def test_the_verdict_of_a_comparison_is_kept_once_all_its_histories_are_sealed(run: RunDir) -> None:
    both = Judgement(requirement="CAP-5", scenario="both", compared=("crashing", "other"))
    plan = msgspec.structs.replace(run.plan(), judgements=(both,))
    run.write(run.plan_json, plan)
    sealed = run.history("other").read_bytes()
    run.history("other").write_bytes(b"".join(sealed.splitlines(keepends=True)[:-1]))
    judge_once(run, plan, "both")
    assert not run.verdicts("both").exists()
    run.history("other").write_bytes(sealed)
    judged = judge_once(run, plan, "both")
    assert msgspec.json.decode(run.verdicts("both").read_bytes(), type=Judged) == judged
