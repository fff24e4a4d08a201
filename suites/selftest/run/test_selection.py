"""Requirements are chosen by their exact id or topic.

A requirement that the user names is judged, or refused with the scope that judges it.
"""

from typing import Any

import pytest

from crashloop.errors import UsageError
from crashloop.requirements import load_requirements
from crashloop.run.planning import require_within
from crashloop.run.selection import Selection
from crashloop.spec.requirement import Scope, State

CATALOGUE = load_requirements()


def chosen(**options: Any) -> set[str]:
    selection = Selection.of(CATALOGUE, **options)
    return {each.id for each in CATALOGUE.values() if selection.has(each)}


def test_without_an_option_everything_is_chosen() -> None:
    assert chosen() == set(CATALOGUE)


def test_an_id_is_not_a_prefix() -> None:
    assert chosen(requirements=["backoff-2"]) == {"BACKOFF-2"}


def test_requirements_and_topics_add_up() -> None:
    assert chosen(requirements=["BACKOFF-2"], topics=["CAP"], skipped=["CAP-3"]) == {
        "BACKOFF-2",
        *(each.id for each in CATALOGUE.values() if each.topic == "CAP" and each.id != "CAP-3"),
    }


def test_a_topic_can_be_left_out() -> None:
    assert {CATALOGUE[name].topic for name in chosen(skipped=["CAP"])} == {
        each.topic for each in CATALOGUE.values()
    } - {"CAP"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"requirements": ["CAP-33"]}, "--requirement 'CAP-33': the catalogue has none of that name; did you mean CAP-3?"),
        ({"topics": ["NOTHING-LIKE-IT"]}, "--topic 'NOTHING-LIKE-IT': the catalogue has none of that name; `crashloop list`"),
        ({"skipped": ["RULE"]}, "--skip 'RULE': the catalogue has none of that name; did you mean RULES?"),
    ],
    ids=["requirement", "topic", "skip"],
)  # fmt: skip
def test_an_unknown_name_is_refused_with_a_near_one(options: dict[str, list[str]], message: str) -> None:
    with pytest.raises(UsageError, match="the catalogue has none") as refused:
        chosen(**options)
    assert str(refused.value).startswith(message)


def test_a_requirement_without_a_test_is_refused() -> None:
    untestable = next(each.id for each in CATALOGUE.values() if each.state is State.UNTESTABLE)
    with pytest.raises(UsageError, match=f"--requirement {untestable}: no test judges it; it is untestable."):
        chosen(requirements=[untestable])


SCOPES = {
    "CAP-3": {Scope.QUICK, Scope.FULL},
    "PROBE-27": {Scope.FULL},
    "RESET-5": {Scope.SOAK},
    "SKEW-1": {Scope.VERSIONS},
}


@pytest.mark.parametrize(
    ("named", "scope"),
    [
        ((), Scope.QUICK),
        (("CAP-3",), Scope.QUICK),
        (("CAP-3", "PROBE-27"), Scope.FULL),
        (("SKEW-1",), Scope.VERSIONS),
        (("VAL-1",), Scope.QUICK),
    ],
    ids=["none", "partly-wider", "wide-enough", "versions", "without-tests-here"],
)
def test_what_the_scope_holds_is_judged(named: tuple[str, ...], scope: Scope) -> None:
    require_within(named, SCOPES, scope)


@pytest.mark.parametrize(
    ("named", "scope", "message"),
    [
        (
            "PROBE-27",
            Scope.QUICK,
            "--requirement PROBE-27: nothing of scope quick judges it.\nRun it with --scope full.",
        ),
        ("RESET-5", Scope.FULL, "--requirement RESET-5: nothing of scope full judges it.\nRun it with --scope soak."),
        (
            "CAP-3",
            Scope.VERSIONS,
            "--requirement CAP-3: nothing of scope versions judges it.\nRun it with --scope quick.",
        ),
    ],
)
def test_what_no_test_of_the_scope_judges_is_refused(named: str, scope: Scope, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        require_within(["CAP-3", named], SCOPES, scope)
    assert str(refused.value) == message
