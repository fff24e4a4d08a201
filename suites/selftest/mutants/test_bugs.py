"""The list of upstream's bugs: what an entry needs, what becomes of its edits, and the page from stored results."""

from typing import Any

import msgspec
import pytest

import suites.conformance
from crashloop.errors import UsageError
from crashloop.requirements import load_requirements
from crashloop.settings import Versions
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion
from fixtures.requirements import declared_in
from mutants.bugs import battery_of, bugs_of, known_of, load_bugs, numbered, sources_of
from mutants.bugs_page import headline, to_markdown
from mutants.mutant import LeftOut, Listing, Mutant
from mutants.page import Report
from mutants.result import Kill, Result

VERSION = KubernetesVersion.parse(Versions().kubernetes)
SUITE = {each.scenario.name: each.scenario for each in declared_in(suites.conformance)}


def entry(number: int, **changes: Any) -> dict[str, Any]:
    place = {"module": "m", "path": "a.go", "function": "F", "changes": [{"before": "a", "after": "b"}]}
    text = {"bug": "It does not restart.", "releases": "1.30", "fix": "7", "expected": "RULES-1"}
    return {"number": number, **text, "scenarios": ["crashing"], "edits": [place], **changes}


@pytest.mark.parametrize("lacking", ["fix", "number", "releases", "expected", "scenarios", "edits"])
def test_an_entry_that_lacks_something_is_refused_with_its_name(lacking: str) -> None:
    wrong = entry(2)
    del wrong[lacking]
    with pytest.raises(UsageError, match=rf"list\.yaml, entry 2 \(number (2|missing)\): .*`{lacking}`"):
        bugs_of([entry(1), wrong], "list.yaml")


def test_an_empty_fix_and_a_number_that_stands_twice_are_refused() -> None:
    with pytest.raises(UsageError, match=r"entry 1 \(number 1\): fix is empty"):
        bugs_of([entry(1, fix="")], "list.yaml")
    with pytest.raises(UsageError, match=r"entry 2 \(number 1\): the number stands twice"):
        bugs_of([entry(1), entry(1)], "list.yaml")


def test_a_release_without_a_list_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no list for Kubernetes 1\.33\.1; there is one for 1\.37"):
        load_bugs(KubernetesVersion(1, 33, 1))


def test_the_list_names_scenarios_and_requirements_of_the_suite() -> None:
    for bug in load_bugs(VERSION):
        assert all(isinstance(SUITE[name], PodScenario) for name in bug.scenarios), bug.number
        assert bug.expected in load_requirements(), bug.number


def test_bugs_of_one_function_stand_together_and_keep_their_numbers() -> None:
    (file,) = sources_of(bugs_of([entry(1), entry(2)], "list.yaml")).files
    (function,) = file.functions
    assert [(each.number, each.id) for each in function.edits] == [(1, "kubernetes-1"), (2, "kubernetes-2")]


def test_the_expected_scenarios_come_first_and_no_scenario_comes_twice() -> None:
    (bug,) = bugs_of([entry(1)], "list.yaml")
    steps = battery_of(bug, quick=["a", "crashing"], full=["a", "crashing", "b"]).steps(full=True)
    assert steps == (("crashing",), ("a",), (), ("b",))


BUGS = bugs_of([entry(number, missing="A hook." if number == 2 else "") for number in range(1, 7)], "list.yaml")
KILLS = tuple(Kill(requirement=name, scenario="crashing", finding="too early") for name in ("RULES-4", "RULES-28"))
MUTANTS = tuple(
    Mutant(number=number, id=f"kubernetes-{number}", function="F", line=1, operator="edit", before="a", after="b")
    for number in range(1, 6)
)
REPORT = Report(
    version="1.37.1",
    sources=sources_of(BUGS),
    listing=Listing(mutants=MUTANTS, left_out=(LeftOut(id="kubernetes-6", reason='"a" stands 0 times in F'),)),
    chosen=MUTANTS,
    results={
        "kubernetes-1": Result(id="kubernetes-1", kills=KILLS),
        "kubernetes-2": Result(id="kubernetes-2", scenarios=("crashing",)),
        "kubernetes-3": Result(id="kubernetes-3", undecided={"crashing": "the watch was lost"}),
        "kubernetes-4": Result(id="kubernetes-4", scenarios=("crashing",)),
    },
    unfinished=frozenset({"kubernetes-4", "kubernetes-5"}),
    known=known_of(BUGS, "1.37.1"),
)


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (1, "**yes**, at quick: RULES-4, RULES-28 on `crashing` (expected: RULES-1)"),
        (2, "**no**, on `crashing`; expected: RULES-1. Missing: A hook."),
        (3, "undecided: `crashing`: the watch was lost"),
        (4, "not yet, on `crashing`; expected: RULES-1."),
        (5, "not run; RULES-1 ought to notice it."),
        (6, 'cannot be put back: "a" stands 0 times in F'),
    ],
)
def test_the_page_says_of_every_bug_what_became_of_it(number: int, says: str) -> None:
    (row,) = [line for line in to_markdown(BUGS, REPORT, ("crashing",)).splitlines() if f"k/k#{number}]" in line[:9]]
    link = "[k/k#{0}](https://github.com/kubernetes/kubernetes/issues/{0})".format
    assert row == f"| {link(number)} | It does not restart. | 1.30 | {link(7)} | {says} |"


def test_the_headline_counts_every_bug_once() -> None:
    assert headline(to_markdown(BUGS, REPORT, ())) == (
        "Kubernetes 1.37.1: of 6 bugs caught: 1; passed all scenarios: 1; passed those met so far: 1; undecided: 1; not run: 1; "
        "impossible to put back: 1."
    )


def test_a_report_of_one_bug_leaves_the_other_rows_as_they_are_with_the_release_that_they_are_of() -> None:
    earlier = to_markdown(BUGS[:5], REPORT, ("crashing",))
    alone = msgspec.structs.replace(
        REPORT,
        version="1.37.2",
        listing=Listing(mutants=MUTANTS[3:4], left_out=()),
        chosen=MUTANTS[3:4],
        results={"kubernetes-4": Result(id="kubernetes-4", kills=KILLS[1:])},
        unfinished=frozenset(),
    )
    page = to_markdown(BUGS, alone, ("crashing",), earlier)
    (*_, first, second, third, fourth, fifth, sixth) = (line.split(" | ")[-1] for line in page.splitlines())
    assert first == "**yes**, at quick: RULES-4, RULES-28 on `crashing` (expected: RULES-1) (Kubernetes 1.37.1) |"
    assert (second[:6], third[:9], fifth[-21:]) == ("**no**", "undecided", "(Kubernetes 1.37.1) |")
    assert fourth == "**yes**, at quick: RULES-28 on `crashing` (expected: RULES-1) |"
    assert sixth == "not run; RULES-1 ought to notice it. |"
    assert headline(page).startswith("Kubernetes 1.37.2: of 6 bugs caught: 2; passed all scenarios: 1;")
    assert to_markdown(BUGS, alone, ("crashing",), page) == page


def test_bugs_are_chosen_by_their_numbers() -> None:
    assert numbered(BUGS, ()) == BUGS
    assert numbered(BUGS, (4, 2)) == (BUGS[1], BUGS[3])
    with pytest.raises(UsageError, match=r"bugs: no entry has the number 8, 9\."):
        numbered(BUGS, (9, 4, 8))


def test_a_bug_whose_missing_stimulus_is_stated_is_no_surprise() -> None:
    assert REPORT.surprises == ()
