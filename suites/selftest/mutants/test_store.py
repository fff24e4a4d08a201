"""Results outlast a run, by kubelet."""

from pathlib import Path

from mutants.mutant import Mutant
from mutants.result import Control, Kill, Result
from mutants.store import Store

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
