"""A status states OOMKilled of a container that ran out of memory, and of no other."""

import pytest

from crashloop.history.event import Kind
from crashloop.spec.program import Program, exits_with, killed, out_of_memory
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

ENDS = (exits_with(1), killed(), out_of_memory())
GREEDY = scenario(app(Program(tuple(life for each in ENDS for life in each.lives)), memory_limit="32Mi"))
LIVES = ((0.5, 1.5, 1), (2.0, 3.0, 137), (5.3, 6.3, 137), (8.6, None, 0))


def stated(**reasons: str) -> History:
    """The exits of "app" with the reason that each instance is stated with, `of_2="Error"`; without one, the right one."""
    history = History(GREEDY)
    for number, (started_s, exited_s, code) in enumerate(LIVES):
        history.lives("app", (started_s, exited_s, code), first=number, status=False)
        if exited_s is None:
            continue
        report = history.exited("app", number, started_s, exited_s, code)
        report["state"]["terminated"]["reason"] = reasons.get(f"of_{number}", "OOMKilled" if number == 2 else "Error")
        history.status(exited_s + 0.3, {"app": report})
    return history.ends(30)


def test_accepts_the_reason_of_a_kill_for_memory_beside_other_ends() -> None:
    answer = checked("exit-reason", stated())
    assert told(answer) == []
    assert answer.facts == {"exits_for_memory": 1}


@pytest.mark.parametrize(
    ("number", "reason", "truth"),
    [
        pytest.param(0, "OOMKilled", "it did not run out of memory", id="own-exit"),
        pytest.param(1, "OOMKilled", "it did not run out of memory", id="sigkill"),
        pytest.param(2, "Error", "it ran out of memory", id="memory"),
    ],
)
def test_another_reason_is_a_fail(number: int, reason: str, truth: str) -> None:
    history = stated(**{f"of_{number}": reason})
    (finding,) = told(checked("exit-reason", history))
    exited, said = history.line_of(Kind.EXITED, number, container="app"), history.line_of(Kind.STATUS, number)
    assert exited < said
    assert finding.startswith(f'FAIL: a status states {reason} of instance {number} of "app" (history lines ')
    assert finding.endswith(f" and {said}); {truth}.")


def test_the_last_status_of_an_exit_decides() -> None:
    history = stated(of_2="Error")
    report = history.exited("app", 2, 5.3, 6.3, 137)
    report["state"]["terminated"]["reason"] = "OOMKilled"
    assert told(checked("exit-reason", history.status(6.9, {"app": report}))) == []
