"""A mutant is killed by a FAIL that the kubelet without a mutant does not have, and by nothing else.

Results outlast a run, by kubelet, and those of a bug its kubelet too.
A kubelet that crashed is recognized by its log, wherever that is now.
"""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.provider import Node
from crashloop.rundir import RunDir, RunInfo
from crashloop.verdict import Outcome, Verdict, VerdictMode
from mutants.bugs import Bug, Place
from mutants.data import Replacement
from mutants.live import last_words
from mutants.mutant import Mutant
from mutants.result import DEATH, Control, Fate, Kill, Result, Seen, control_of, with_seen
from mutants.store import Store
from suites.selftest.kit.recording_site import cluster_info

NOTHING = Result(id="Next-1-1-drop")
CONTROLS = {"crashing": Control(keeps=("BACKOFF-2", "RULES-22"), fails=("BACKOFF-3",))}


def verdict(
    requirement: str,
    outcome: Outcome,
    finding: str = "",
    *,
    deviation: str | None = None,
    mode: VerdictMode = VerdictMode.GATE,
) -> Verdict:
    return Verdict(
        requirement=requirement,
        scenario="crashing--m1",
        profile="max-2s--m1",
        outcome=outcome,
        findings=(finding,) if finding else (),
        deviation=deviation,
        mode=mode,
    )


def crashing(*verdicts: Verdict, death: str | None = None) -> tuple[Seen, ...]:
    return (Seen(scenario="crashing", verdicts=verdicts, death=death),)


def test_a_fail_kills() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.FAIL, "too early"), verdict("RULES-22", Outcome.PASS))
    result = with_seen(NOTHING, seen, CONTROLS)
    assert result.kills == (Kill(requirement="BACKOFF-2", scenario="crashing", finding="too early"),)
    assert result.fate is Fate.KILLED


def test_a_fail_beside_an_inconclusive_verdict_kills() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.FAIL, "too early"), verdict("RULES-22", Outcome.INCONCLUSIVE, "gap"))
    assert with_seen(NOTHING, seen, CONTROLS).fate is Fate.KILLED


def test_a_fail_that_the_kubelet_itself_has_too_kills_nobody() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.PASS), verdict("BACKOFF-3", Outcome.FAIL, "late"))
    assert with_seen(NOTHING, seen, CONTROLS).fate is Fate.SURVIVED


def test_a_fail_where_the_kubelet_itself_showed_too_little_kills() -> None:
    assert with_seen(NOTHING, crashing(verdict("RULES-28", Outcome.FAIL)), CONTROLS).fate is Fate.KILLED


def test_a_fail_on_a_scenario_that_the_kubelet_itself_never_met_kills_nobody() -> None:
    result = with_seen(NOTHING, crashing(verdict("BACKOFF-2", Outcome.FAIL, "too early")), {})
    assert result.fate is Fate.UNDECIDED
    assert result.undecided == {"crashing": "the kubelet without a mutant was not judged"}


def test_only_passes_mean_that_it_survived() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.PASS), verdict("RULES-22", Outcome.PASS))
    result = with_seen(NOTHING, seen, CONTROLS)
    assert (result.fate, result.scenarios) == (Fate.SURVIVED, ("crashing",))


def test_too_little_of_what_the_kubelet_itself_does_not_show_either_means_nothing() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.PASS), verdict("RULES-28", Outcome.INCONCLUSIVE, "0 delays seen"))
    assert with_seen(NOTHING, seen, CONTROLS).fate is Fate.SURVIVED


def test_missing_evidence_is_undecided_until_the_scenario_is_met_again() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.INCONCLUSIVE, "the watch was lost"))
    undecided = with_seen(NOTHING, seen, CONTROLS)
    assert undecided.undecided == {"crashing": "the watch was lost"}
    assert with_seen(undecided, crashing(verdict("BACKOFF-2", Outcome.PASS)), CONTROLS).fate is Fate.SURVIVED


def test_what_every_kubelet_is_known_to_break_says_nothing_about_a_mutant() -> None:
    seen = crashing(
        verdict("RULES-22", Outcome.PASS), verdict("RESET-4", Outcome.FAIL, "known", deviation="forgets-early")
    )
    assert with_seen(NOTHING, seen, CONTROLS).fate is Fate.SURVIVED


def test_a_kubelet_that_dies_is_killed() -> None:
    result = with_seen(NOTHING, crashing(verdict("BACKOFF-2", Outcome.ERROR), death="node m1: exit code 2"), CONTROLS)
    assert result.kills == (Kill(requirement=DEATH, scenario="crashing", finding="node m1: exit code 2"),)


def test_the_control_keeps_what_it_passes_and_fails_what_accuses_it() -> None:
    seen = crashing(
        verdict("BACKOFF-2", Outcome.PASS),
        verdict("RESET-4", Outcome.FAIL, deviation="forgets-early"),
        verdict("RULES-17", Outcome.FAIL),
        verdict("RULES-28", Outcome.INCONCLUSIVE),
    )
    assert control_of(seen) == {"crashing": Control(keeps=("BACKOFF-2", "RESET-4"), fails=("RULES-17",))}


def test_a_control_that_keeps_nothing_is_none() -> None:
    assert control_of(crashing(verdict("BACKOFF-2", Outcome.INCONCLUSIVE))) == {}


MUTANT = Mutant(number=1, id="Next-1-1-drop", function="Next", line=1, operator="drop", before="x", after="")
KILLED = Result(id=MUTANT.id, kills=(Kill(requirement="BACKOFF-2", scenario="crashing", finding="too early"),))


def test_a_result_is_there_again(tmp_path: Path) -> None:
    Store(tmp_path, "one").keep(KILLED)
    assert Store(tmp_path, "one").result(MUTANT) == KILLED


def test_a_mutant_of_another_kubelet_has_met_nothing(tmp_path: Path) -> None:
    Store(tmp_path, "one").keep(KILLED)
    assert not Store(tmp_path, "another").result(MUTANT).met


def test_what_the_kubelet_itself_does_is_there_again(tmp_path: Path) -> None:
    assert Store(tmp_path, "one").controls() == {}
    Store(tmp_path, "one").keep_controls({"crashing": Control(keeps=("BACKOFF-2",))})
    Store(tmp_path, "one").keep_controls({"ending": Control(keeps=("RULES-4",))})
    assert Store(tmp_path, "one").controls() == {
        "crashing": Control(keeps=("BACKOFF-2",)),
        "ending": Control(keeps=("RULES-4",)),
    }


def bug(number: int, after: str) -> Bug:
    changes = (Replacement(before="if a {", after=after),)
    place = Place(module="m", path="a.go", function="F", changes=changes)
    return Bug(
        number=number,
        bug="It does not restart.",
        releases="1.30",
        fix="7",
        expected="RULES-1",
        scenarios=("crashing",),
        edits=(place,),
    )


def store_of(tmp_path: Path, *bugs: Bug) -> Store:
    return Store(tmp_path, "bugs", {each.id: each.stored_as for each in bugs})


def test_a_new_entry_keeps_what_was_seen_of_the_others_and_another_edit_does_not(tmp_path: Path) -> None:
    one, seen = bug(1, "if false {"), msgspec.structs.replace(KILLED, id="kubernetes-1")
    mutant = msgspec.structs.replace(MUTANT, id=one.id)
    store_of(tmp_path, one).keep(seen)
    assert store_of(tmp_path, bug(2, "if true {"), one).result(mutant) == seen
    assert store_of(tmp_path, msgspec.structs.replace(one, missing="A hook.", releases="1.31")).result(mutant) == seen
    assert not store_of(tmp_path, bug(1, "if true {")).result(mutant).met


CRASHED = """\
E1122 panic.go:336] "Observed a panic" panic="nil pointer dereference"
panic: runtime error: nil pointer dereference [recovered, repanicked]
goroutine 1 [running]:
"""


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    run = RunDir.create(
        tmp_path / "run", RunInfo(suite="mutants", started=datetime(2026, 1, 1, tzinfo=UTC), crashloop_version="1")
    )
    node = Node(name="m1", profile="p", runtime_socket="", kubelet_log=str(tmp_path / "live.log"))
    run.write(run.cluster_json, cluster_info(node, kubeconfig=""))
    return run


def test_the_log_of_a_node_that_is_up_tells(run: RunDir, tmp_path: Path) -> None:
    (tmp_path / "live.log").write_text(CRASHED)
    assert last_words(run, "m1") == "panic: runtime error: nil pointer dereference [recovered, repanicked]"


def test_the_log_that_a_node_has_left_tells(run: RunDir) -> None:
    (run.logs_dir / "m1").mkdir(parents=True)
    (run.logs_dir / "m1" / "kubelet.log").write_text(CRASHED)
    assert last_words(run, "m1") == "panic: runtime error: nil pointer dereference [recovered, repanicked]"


def test_a_panic_that_the_kubelet_survived_is_no_crash(run: RunDir, tmp_path: Path) -> None:
    (tmp_path / "live.log").write_text(CRASHED.splitlines()[0])
    assert last_words(run, "m1") is None


def test_without_a_log_there_are_no_last_words(run: RunDir) -> None:
    assert last_words(run, "m1") is None
