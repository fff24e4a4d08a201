"""Results outlast a run, by kubelet, and those of a bug its kubelet too."""

from pathlib import Path

import msgspec

from mutants.bugs import Bug, Place
from mutants.data import Replacement
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
