"""The page counts what happened, and shows every survivor."""

import pytest
from syrupy.assertion import SnapshotAssertion

from mutants.data import Function, Known, SourceFile, Sources
from mutants.mutant import LeftOut, Listing, Mutant
from mutants.page import Report, headline, to_markdown
from mutants.result import Kill, Result

NAMES = ("killed", "hole", "surprise", "equivalent", "undecided", "unfinished", "not-met")


def mutant(name: str, number: int) -> Mutant:
    return Mutant(
        number=number, id=name, function="Next", line=number, operator="bound", before="a || b", after="a && b"
    )


MUTANTS = tuple(mutant(name, number) for number, name in enumerate(NAMES, start=1))
KILL = Kill(requirement="BACKOFF-2", scenario="crashing", finding="too early")


def report(equivalent: dict[str, str], results: dict[str, Result] | None = None) -> Report:
    return Report(
        version="1.37.1",
        sources=Sources(
            elsewhere=(),
            files=(SourceFile(module="m", path="backoff.go", functions=(Function(name="Next", battery="curve"),)),),
        ),
        listing=Listing(
            mutants=MUTANTS,
            left_out=(
                LeftOut(id="x", reason="declared and not used: random"),
                LeftOut(id="y", reason="missing return"),
            ),
        ),
        chosen=MUTANTS,
        results=results
        or {
            "killed": Result(id="killed", kills=(KILL,)),
            "hole": Result(id="hole", scenarios=("crashing",)),
            "surprise": Result(id="surprise", scenarios=("crashing",)),
            "equivalent": Result(id="equivalent", scenarios=("crashing",)),
            "undecided": Result(id="undecided", undecided={"crashing": "the watch was lost"}),
            "unfinished": Result(id="unfinished", scenarios=("crashing",)),
        },
        unfinished=frozenset({"unfinished"}),
        known=Known(release="1.37", equivalent=equivalent, holes={"hole": "a life of 600 s"}),
    )


ARGUED = report({"equivalent": "the value is never read"})


def test_the_page(snapshot: SnapshotAssertion) -> None:
    assert to_markdown(ARGUED) == snapshot


def test_the_score_counts_as_survivor_who_is_neither_killed_nor_equivalent() -> None:
    assert headline(ARGUED) == (
        "1 of 6 mutants were killed (17%), 2 survived, 1 are undecided, 2 have not met all of their scenarios yet; "
        "1 more are equivalent."
    )
    assert ARGUED.score == pytest.approx(1 / 6)


def test_a_survivor_that_nobody_wrote_about_is_a_surprise() -> None:
    assert [each.id for each in ARGUED.surprises] == ["surprise"]


def test_a_kill_contradicts_the_argument_that_a_mutant_is_equivalent() -> None:
    contradicted = report({"killed": "the value is never read"})
    assert not contradicted.equivalent
    assert [each.id for each in contradicted.contradicted] == ["killed"]
    assert headline(contradicted).startswith("1 of 7 mutants were killed")
