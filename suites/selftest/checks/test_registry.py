"""Every checker is found by its name, says what it needs, and passes nothing of which it has seen too little."""

from collections.abc import Iterator
from typing import Any

import pytest

from crashloop.checks.checker import Checker, Holds, Need, Seen, checker, gathered
from crashloop.checks.finding import Finding
from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Channel, Kind
from crashloop.requirements import load_requirements
from crashloop.restarts.case import Case
from crashloop.spec.requirement import State
from crashloop.spec.scenario import ApiScenario
from suites.selftest.kit.cases import CRASHING, GOOD, OF_PODS, case, good
from suites.selftest.kit.histories import History

CATALOGUE = load_requirements()
COUNTED = {name: needs for name, each in CHECKERS.items() if (needs := [n for n in each.needs if isinstance(n, Need)])}
"""What the frame counts for each checker."""


def test_every_checker_that_judges_a_requirement_exists_and_each_judges_one() -> None:
    judged = [each for each in CATALOGUE.values() if each.state is State.JUDGED]
    assert {name for each in judged for name in (*each.checkers, *each.everywhere)} == CHECKERS.keys()


@pytest.mark.parametrize("name", sorted(CHECKERS))
def test_a_checker_is_named_after_what_it_checks(name: str) -> None:
    assert CHECKERS[name].find.__name__ == f"check_{name.replace('-', '_')}"


def test_a_parameter_that_asks_for_a_number_asks_a_checker_that_counts_it() -> None:
    unknown = [
        (each.id, parameter)
        for each in CATALOGUE.values()
        for parameter in each.parameters
        if parameter.startswith("min_")
        and not any(
            parameter in str(need) or (isinstance(need, Need) and need.parameter == parameter)
            for name in (*each.checkers, *each.everywhere)
            for need in CHECKERS[name].needs
        )
    ]
    assert unknown == []


def nothing_seen(**least: Any) -> Case:
    """A pod that was made and did nothing, where the requirement asks for at least one of everything."""
    return case(History(CRASHING).without(Kind.NODE).ends(1), **least)


@pytest.mark.parametrize("name", sorted(COUNTED))
def test_no_checker_passes_what_it_has_seen_too_little_of(name: str) -> None:
    asked = {need.parameter: max(need.least, 1) for need in COUNTED[name]}
    seen = nothing_seen(**asked)
    answer = CHECKERS[name]([seen, seen] if CHECKERS[name].compares else seen)
    assert {each.outcome.value for each in answer.findings} == {"INCONCLUSIVE"}


@pytest.mark.parametrize("name", sorted(name for name, each in CHECKERS.items() if each.watch))
def test_a_lost_watch_may_have_hidden_what_a_checker_would_object_to(name: str) -> None:
    history = History(CRASHING).lives("app", *GOOD).gap(Channel.API, 4.0, 4.5).ends(40)
    (finding,) = CHECKERS[name](case(history)).findings
    assert finding.outcome.value == "INCONCLUSIVE"
    assert f", and with it perhaps {CHECKERS[name].watch}." in finding.sentence


def rule(_: Any, __: Seen) -> Iterator[Finding]:
    """Nothing MUST happen."""
    yield from ()


@pytest.mark.parametrize(
    ("needs", "options", "because"),
    [
        ((), {}, "checker x: it says of no evidence that it needs it"),
        ((Need("exits", 1, "exit"), Need("exits", 2, "exit")), {}, "checker x: two needs have one name"),
        (("an answer",), {"reads": ApiScenario}, "checker x: only one that reads a pod"),
        (("two pods",), {"compares": True, "holds": Holds.LOADS}, "checker x: only one that reads a pod"),
        (("an answer",), {"reads": ApiScenario, "holds": Holds.DECLARED, "watch": "a status"}, "checker x: only one"),
    ],
    ids=["no needs", "one name", "holds", "compares", "watches"],
)
def test_a_checker_that_could_not_be_one_is_refused_with_its_name(
    needs: tuple[Need | str, ...], options: dict[str, Any], because: str
) -> None:
    with pytest.raises(ValueError, match=because):
        checker("x", *needs, **options)(rule)


def test_a_rule_without_a_promise_is_refused() -> None:
    def silent(_: Any, __: Seen) -> Iterator[Finding]:
        yield from ()

    with pytest.raises(ValueError, match="checker x: its docstring has no MUST or SHOULD"):
        checker("x", "an exit")(silent)


def test_a_count_without_a_need_is_a_fault_of_the_checker() -> None:
    def counting(_: Any, seen: Seen) -> Iterator[Finding]:
        """An exit MUST be counted."""
        seen["exits"] += 1
        yield from ()

    made: Checker[Any] = checker("x", "an exit")(counting)
    with pytest.raises(KeyError, match="exits is counted, and no need of that name is declared"):
        made(case(good()))


def test_two_checkers_of_one_name_are_refused() -> None:
    class First:
        one: Checker[Any] = checker("x", "an exit")(rule)

    class Second:
        other: Checker[Any] = checker("x", "another")(rule)

    with pytest.raises(ValueError, match="checker x: two have that name"):
        gathered(First, Second)


def test_what_holds_for_every_pod_reads_one_pod() -> None:
    assert {name for name, each in CHECKERS.items() if each.holds > Holds.DECLARED} <= OF_PODS.keys()
