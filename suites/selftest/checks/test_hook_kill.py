"""A container whose postStart hook fails is killed soon after that."""

from crashloop.history.event import Kind
from crashloop.spec.program import hook_fails
from crashloop.spec.scenario import Until
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History, Life

HOOKED = scenario(app(hook_fails(times=2), post_start=True), until=Until(restarts={"app": 2}))


def hooked(*lives: Life) -> History:
    """Lives whose hooks note their runs 0.2 s after their starts; the first two of them fail."""
    history = History(HOOKED).lives("app", *lives)
    for number, (started_s, _, _) in enumerate(lives):
        history.note(started_s + 0.2, "app", number, "hook", "ran")
    return history.ends(60)


def test_accepts_an_exit_after_each_hook_that_fails() -> None:
    answer = checked("hook-kill", hooked((1, 1.3, 143), (2, 2.3, 143), (5, None, 0)), min_kills=2)
    assert told(answer) == []
    assert answer.facts == {"killed": {"app": 2}}


def test_a_container_that_runs_on_is_a_fail() -> None:
    history = hooked((1, 1.3, 143), (2, None, 0))
    assert told(checked("hook-kill", history)) == [
        'FAIL: instance 1 of "app" ran on for 57.8 s after its postStart hook had failed '
        f"(history line {history.line_of(Kind.NOTED, 1)}); it was to be killed."
    ]


def test_a_container_that_is_killed_late_is_a_fail() -> None:
    history = hooked((1, 31.2, 143), (32, 32.3, 143))
    noted, exited = history.line_of(Kind.NOTED, 0), history.line_of(Kind.EXITED, 0)
    (finding,) = told(checked("hook-kill", history))
    assert finding.startswith('FAIL: instance 0 of "app" ran on for 30 s after its postStart hook had failed')
    assert noted < exited


def test_a_host_that_stood_still_excuses_a_late_kill() -> None:
    history = History(HOOKED).lives("app", (1, 31.2, 143), (32, 32.3, 143)).stall(2, 25)
    history.note(1.2, "app", 0, "hook", "ran").note(32.2, "app", 1, "hook", "ran")
    (finding,) = told(checked("hook-kill", history.ends(60)))
    assert finding.startswith('INCONCLUSIVE: instance 0 of "app" ran on for 30 s after its postStart hook had failed')
