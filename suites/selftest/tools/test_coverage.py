"""What the catalogue calls judged is judged by a test, and docs/coverage.md says so."""

from pathlib import Path

import pytest

from crashloop.requirements import Topic, load_requirements, load_topics
from crashloop.run.planning import Declared
from crashloop.run.selection import Citation, requirements_with_tests
from crashloop.spec.requirement import Basis, Requirement, Scope, State
from suites.conformance.scenarios import crashing
from tools.coverage import (
    DOCUMENT,
    citations,
    disagreements,
    main,
    to_markdown,
    too_narrow,
)

SUITE = """
@requirement("CAP-3")
@pytest.mark.slow
def test_one(): ...

@fixtures.requirement("CAP-3")
@requirement("CAP-4")
def test_two(): ...

def test_without(): ...
"""
ONE = Citation("suites/conformance/test_cap.py", "test_one")
TWO = Citation("suites/conformance/test_cap.py", "test_two")


def suites(folder: Path, text: str) -> Path:
    path = folder / "suites" / "conformance" / "test_cap.py"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return folder / "suites"


def row(identifier: str, state: State = State.JUDGED, scope: Scope = Scope.QUICK) -> Requirement:
    return Requirement(
        id=identifier,
        sentence="A maximum MUST lower the delay | at once.",
        source='KEP-5593 "Conflict resolution"',
        basis=Basis.PROMISE,
        scope=scope,
        evidence="five delays",
        state=state,
        reason="" if state is State.JUDGED else "No scenario yet.",
    )


def test_the_catalogue_and_the_suites_agree() -> None:
    assert disagreements(load_requirements(), citations()) == ()


def test_a_row_and_a_check_are_cited_beside_the_tests() -> None:
    cited = citations()
    assert cited["LOAD-11"] == (Citation("manifests/slo/restarts.yaml", "healthy-neighbour-startup"),)
    assert cited["LOAD-16"][-1] == Citation("crashloop/stress/checks.py", "highest-rate")


def test_the_document_is_current() -> None:
    written = DOCUMENT.read_text(encoding="utf-8")
    assert written == to_markdown(load_topics(), citations()), "python -m tools.coverage --write"


def test_the_command_finds_nothing_to_say() -> None:
    assert main([]) == 0


def test_tests_are_found_by_their_decorator(tmp_path: Path) -> None:
    assert requirements_with_tests(suites(tmp_path, SUITE)) == {"CAP-3": (ONE, TWO), "CAP-4": (TWO,)}


def test_an_id_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"suites/conformance/test_cap\.py:1: @requirement begins with"):
        requirements_with_tests(suites(tmp_path, "@requirement(NAME)\ndef test_x(): ...\n"))


@pytest.mark.parametrize(
    ("requirement", "tests", "finding"),
    [
        pytest.param(
            row("CAP-3"),
            {},
            "CAP-3: the catalogue calls it judged, but no test and no SLO names it.",
            id="judged-by-no-test",
        ),
        pytest.param(
            row("CAP-3", State.PLANNED),
            {"CAP-3": (ONE,)},
            "CAP-3: the catalogue calls it planned, but suites/conformance/test_cap.py names it.",
            id="planned-but-tested",
        ),
        pytest.param(
            row("CAP-3", State.PLANNED),
            {"CAP-30": (ONE,)},
            "CAP-30: suites/conformance/test_cap.py names it, but the catalogue has no such requirement.",
            id="unknown-id",
        ),
    ],
)
def test_a_disagreement_is_one_sentence(
    requirement: Requirement, tests: dict[str, tuple[Citation, ...]], finding: str
) -> None:
    assert disagreements({requirement.id: requirement}, tests) == (finding,)


def watched_for(seconds: float, requirement: str = "CAP-3") -> Declared:
    return Declared(requirement, crashing("stock", restarts=3, at_most_s=seconds))


@pytest.mark.parametrize(
    ("scope", "declarations", "findings"),
    [
        pytest.param(Scope.QUICK, [watched_for(90)], [], id="as-long-as-the-scope"),
        pytest.param(Scope.QUICK, [watched_for(260), watched_for(90)], [], id="further-scenarios-for-wider-scopes"),
        pytest.param(Scope.FULL, [watched_for(90)], [], id="short-but-kept-for-the-full-scope"),
        pytest.param(
            Scope.QUICK,
            [watched_for(260), watched_for(91)],
            [
                "CAP-3: the catalogue says scope quick, which watches for 90 s at most; "
                "the shortest of its scenarios is watched for 91 s."
            ],
            id="none-is-short-enough",
        ),
        pytest.param(
            Scope.FULL,
            [watched_for(1201)],
            [
                "CAP-3: the catalogue says scope full, which watches for 1200 s at most; "
                "the shortest of its scenarios is watched for 1201 s."
            ],
            id="soak",
        ),
    ],
)
def test_a_scope_has_time_for_at_least_one_scenario(
    scope: Scope, declarations: list[Declared], findings: list[str]
) -> None:
    assert list(too_narrow({"CAP-3": row("CAP-3", scope=scope)}, declarations)) == findings


def test_the_document_counts_and_lists_every_requirement() -> None:
    topic = Topic(
        topic="CAP",
        title="The maximum",
        order=1,
        requirements=(row("CAP-3"), row("CAP-4", State.PLANNED), row("CAP-5", State.UNTESTABLE)),
    )
    lines = to_markdown((topic,), {"CAP-3": (ONE,)}).splitlines()
    assert "| CAP: The maximum | 1 | 0 | 1 | 1 | 3 |" in lines
    assert "| **All** | 1 | 0 | 1 | 1 | 3 |" in lines
    assert lines[-3:] == [
        f'| {identifier} | A maximum MUST lower the delay \\| at once. | KEP-5593 "Conflict resolution" | every release '
        f"| five delays (quick) | {judged_by} |"
        for identifier, judged_by in (
            ("CAP-3", "[test_one](../suites/conformance/test_cap.py)"),
            ("CAP-4", "planned: No scenario yet."),
            ("CAP-5", "untestable: No scenario yet."),
        )
    ]
