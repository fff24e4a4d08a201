"""A requirement that the user names is judged, or refused with the scope that judges it."""

import pytest

from crashloop.errors import UsageError
from crashloop.run.planning import require_within
from crashloop.spec.requirement import Scope

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
