"""What the one worker of a pod does meanwhile holds its other containers up, for as long as that takes and no longer."""

import msgspec
import pytest

from crashloop.checks.kinds import CHECKERS
from crashloop.model.variants import CLEAN_EXIT_AFTER_KILL_STOPS, RULES_MATCH_KILLS, SANDBOX_REPEATS_NEVER
from crashloop.restarts.lives import was_killed
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, Probe, RestartPolicy, restart_in
from crashloop.spec.program import HOLDS, KILLED, TERMINATED, exits_with
from crashloop.spec.scenario import PodScenario
from suites.selftest.kit.cases import app, case, checked, scenario, told
from suites.selftest.kit.histories import History

STUBBORN = Container(
    name="stubborn", program=HOLDS, exit_code_on_term=KILLED, pre_stop_s=2, probes=(Probe(failure_threshold=1),)
)
"""To end it takes 4 s: its hook, and what it has left after that."""


def beside_a_kill(created_s: float, *, ends: Container = STUBBORN) -> History:
    """An exit at 5 s, while something else is being ended until 8 s; the restart after it is due at once."""
    history = History(scenario(app(), ends))
    history.lives("stubborn", (1.0, 8.0, ends.exit_code_on_term), (8.2, None, 0), status=False)
    return history.lives("app", (1.0, 5.0, 1), (created_s, None, 0), status=False).ends(30)


def late(history: History) -> list[str]:
    return [each for each in told(checked("never-late", history)) if each.startswith("FAIL")]


def test_a_kill_that_takes_its_time_holds_up_the_other_containers() -> None:
    assert late(beside_a_kill(9.0)) == []


def test_a_kill_holds_nothing_up_for_longer_than_it_takes() -> None:
    (finding,) = late(beside_a_kill(12.0))
    assert 'FAIL: restart 1 of "app" was created 6.9 s after the exit' in finding


def test_what_ends_at_once_holds_nothing_up() -> None:
    at_once = msgspec.structs.replace(STUBBORN, exit_code_on_term=TERMINATED, pre_stop_s=0)
    (finding,) = late(beside_a_kill(9.0, ends=at_once))
    assert 'FAIL: restart 1 of "app" was created 3.9 s after the exit' in finding


@pytest.mark.parametrize(("killed_s", "findings"), [(7.0, 0), (11.0, 1)], ids=["after-the-other", "too-late"])
def test_a_kill_whose_exit_nobody_saw_holds_up_that_of_another_container(killed_s: float, findings: int) -> None:
    """Without runtime events: SIGKILL ends the stubborn one within 4 s of its last answer, of which its journal has no line."""
    probed = app(HOLDS, probes=(Probe(failure_threshold=1),))
    history = History(scenario(probed, STUBBORN)).lives(
        "app", (1.0, killed_s, 143), (11.2, None, 0), runtime=False, status=False
    )
    history.lives("stubborn", (1.0, None, 0), runtime=False, status=False)
    history.note(2.0, "stubborn", 0, "liveness.0", "F").note(3.0, "app", 0, "liveness.0", "F")
    history.lives("stubborn", (9.0, None, 0), first=1, runtime=False, status=False)
    found = told(checked("probe-kill", history.ends(30)))
    assert len([each for each in found if each.startswith('FAIL: "app" ran on for')]) == findings


@pytest.mark.parametrize(("created_s", "findings"), [(12.0, 0), (20.0, 1)], ids=["back", "long-back"])
def test_a_restart_waits_for_the_runtime_that_the_scenario_took_away(created_s: float, findings: int) -> None:
    away = Intervention(trigger=Trigger(after_s=5), action=InterventionKind.RESTART_RUNTIME, arguments={"down_s": 5.0})
    history = History(msgspec.structs.replace(scenario(app()), interventions=(away,)))
    history.intervention(5.1, "restart-runtime", arguments={"down_s": 5.0})
    assert len(late(history.lives("app", (1.0, 5.0, 1), (created_s, None, 0), status=False).ends(30))) == findings


@pytest.mark.parametrize(("lived_s", "killed"), [(3.0, True), (9.0, False)], ids=["too-short", "as-planned"])
def test_a_code_that_a_kill_has_too_is_its_own_after_its_time_alone(lived_s: float, killed: bool) -> None:
    alike = app(exits_with(1, after_s=9.0), exit_code_on_term=1, probes=(Probe(),))
    history = History(scenario(alike)).lives("app", (1.0, 1.0 + lived_s, 1), (20.0, None, 0), journal=False).ends(30)
    judged = case(history)
    (first, _) = judged.pod.instances("app")
    assert was_killed(judged, "app", 0, first) is killed


def ruled(policy: RestartPolicy) -> PodScenario:
    """A container under Never whose rule restarts it after a probe's kill, beside one that has ended for good."""
    killed = app(HOLDS, restart_policy=RestartPolicy.NEVER, rules=(restart_in(TERMINATED),), probes=(Probe(),))
    done = Container(name="done", program=exits_with(0), restart_policy=RestartPolicy.NEVER)
    return scenario(killed, done, policy=policy)


def test_a_kill_of_the_last_container_takes_the_sandbox_along() -> None:
    history = History(ruled(RestartPolicy.ALWAYS))
    history.lives("done", (1.0, 2.0, 0), (9.0, None, 0), status=False)
    history.lives("app", (1.0, 5.0, TERMINATED), (9.2, None, 0), status=False).ends(90)
    shipped = case(history, deviations=frozenset({RULES_MATCH_KILLS, SANDBOX_REPEATS_NEVER}))
    assert told(CHECKERS["restart-decision"](shipped)) == []
    assert 'FAIL: "done" exited with 0 and was restarted' in str(told(checked("restart-decision", history)))


def test_a_clean_exit_after_a_kill_ends_the_container_once_a_delay_is_due() -> None:
    alone = app(HOLDS, exit_code_on_term=0, probes=(Probe(),))
    history = History(scenario(alone, Container(name="beside", program=HOLDS), policy=RestartPolicy.ON_FAILURE))
    history.lives("beside", (1.0, None, 0), status=False)
    history.lives("app", (1.0, 5.0, 0), (5.2, 9.0, 0), (9.2, 10.0, 0), status=False).ends(120)
    shipped = case(history, deviations=frozenset({CLEAN_EXIT_AFTER_KILL_STOPS}))
    assert not any(each.startswith("FAIL") for each in told(CHECKERS["never-late"](shipped)))
    assert any("did not come within" in each for each in late(history))
