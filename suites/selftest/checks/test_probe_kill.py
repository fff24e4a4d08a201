"""A failing probe kills after as many failures in a row as its threshold says: neither before nor much later."""

import msgspec

from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Channel, Kind
from crashloop.model.variants import PROBE_FAILURES_GO_ON
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Handler, Probe, ProbeKind
from crashloop.spec.program import KILLED
from crashloop.spec.scenario import PodScenario
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import app, case, checked, scenario, told
from suites.selftest.kit.histories import History, stamp

PROBED = scenario(app(probes=(Probe(pattern="FFF"),)))


def asked(
    answers: str,
    *,
    exit_s: float | None,
    of: str = "liveness",
    ends_s: float = 30,
    every_s: float = 1.0,
    pod: PodScenario = PROBED,
) -> History:
    """A life from 1 s on that is asked once a second, and how it ends."""
    history = History(pod).status(0.5, {}, phase="Pending", startTime=stamp(0)).lives("app", (1.0, exit_s, 143))
    for number, answer in enumerate(answers):
        history.note(2.0 + number * every_s, "app", 0, f"{of}.{number}", answer)
    return history.ends(ends_s)


def test_accepts_a_kill_at_the_threshold() -> None:
    answer = checked("probe-kill", asked("FFSFFF", exit_s=7.3))
    assert told(answer) == []
    assert answer.facts == {"kills": 1, "spared": 1, "probe_answers": 6}


def test_a_kill_before_the_threshold_is_a_fail() -> None:
    history = asked("FF", exit_s=3.3)
    lines = [
        history.line_of(Kind.CREATED, channel=Channel.RUNTIME),
        history.line_of(Kind.EXITED, channel=Channel.RUNTIME),
    ]
    assert told(checked("probe-kill", history)) == [
        f'FAIL: "app" was ended after 2 failures in a row of its liveness probe (history lines {lines[0]} and {lines[1]}); '
        "3 were to be needed."
    ]


def test_failures_that_a_success_parts_do_not_add_up() -> None:
    assert 'FAIL: "app" was ended after 2 failures in a row' in str(
        told(checked("probe-kill", asked("FFSF", exit_s=5.3)))
    )


def test_a_kill_that_is_late_or_never_comes_is_a_fail() -> None:
    for exit_s in (8.0, None):
        (finding,) = told(checked("probe-kill", asked("FFF", exit_s=exit_s)))
        assert finding.startswith('FAIL: "app" ran on for ')
        assert finding.endswith("it was to be killed within 2 s.")


def test_a_question_after_the_last_failure_is_a_fail() -> None:
    history = asked("FFFF", exit_s=5.5)
    lines = [history.line_of(Kind.NOTED, number) for number in (2, 3)]
    assert told(checked("probe-kill", history)) == [
        f'FAIL: "app" failed its liveness probe 3 times in a row and was asked again (history lines {lines[0]} and {lines[1]}); '
        "it was to be killed."
    ]


def test_a_kill_without_grace_is_a_fail() -> None:
    history = History(PROBED).lives("app", (1.0, 4.2, 137))
    for number in range(3):
        history.note(2.0 + number, "app", 0, f"liveness.{number}", "F")
    history.ends(30)
    lines = [history.line_of(Kind.NOTED, 2), history.line_of(Kind.EXITED, channel=Channel.RUNTIME)]
    assert told(checked("probe-kill", history)) == [
        f'FAIL: "app" was ended by SIGKILL 0.2 s after failure 3 in a row of its liveness probe (history lines {lines[0]} and '
        f"{lines[1]}); it had 2 s to end by itself."
    ]


def test_a_kill_without_grace_of_what_ignores_sigterm_is_a_fail() -> None:
    stubborn = scenario(app(probes=(Probe(pattern="FFF"),), exit_code_on_term=KILLED))
    history = History(stubborn).lives("app", (1.0, 4.2, KILLED))
    for number in range(3):
        history.note(2.0 + number, "app", 0, f"liveness.{number}", "F")
    assert 'FAIL: "app" was ended by SIGKILL 0.2 s after failure 3' in str(
        told(checked("probe-kill", history.ends(30)))
    )


def test_a_late_kill_during_a_stall_is_inconclusive() -> None:
    history = History(PROBED).lives("app", (1.0, 9.0, 143)).stall(4.5, 4)
    for number in range(3):
        history.note(2.0 + number, "app", 0, f"liveness.{number}", "F")
    assert checked("probe-kill", history.ends(30)).outcome is Outcome.INCONCLUSIVE


def stalled(answers: str, *, exit_s: float, stall_s: float) -> Outcome:
    """A life from 1 s on whose host stands still from 2.5 s on."""
    history = History(PROBED).lives("app", (1.0, exit_s, 143)).stall(2.5, stall_s)
    for number, answer in enumerate(answers):
        history.note(2.0 + number / 4, "app", 0, f"liveness.{number}", answer)
    return checked("probe-kill", history.ends(30)).outcome


def test_an_early_kill_on_a_host_that_stalls_is_inconclusive() -> None:
    assert stalled("FF", exit_s=4.5, stall_s=1) is Outcome.INCONCLUSIVE
    assert stalled("F", exit_s=4.5, stall_s=1.5) is Outcome.INCONCLUSIVE


def test_a_stall_explains_no_more_late_answers_than_it_has_time_for() -> None:
    assert stalled("F", exit_s=3.9, stall_s=0.8) is Outcome.FAIL


def test_an_early_kill_that_the_host_held_up_is_inconclusive() -> None:
    assert stalled("F", exit_s=6.9, stall_s=4) is Outcome.INCONCLUSIVE


def test_a_life_has_no_more_late_answers_than_it_has_time_for() -> None:
    """The kubelet gives each answer a second; two would have taken longer than this life."""
    assert stalled("F", exit_s=2.9, stall_s=5) is Outcome.FAIL


def test_an_answer_that_comes_too_late_is_a_failure() -> None:
    late = scenario(app(probes=(Probe(pattern="SSS", answers_after_s=1.5),)))
    history = History(late).lives("app", (1.0, 8.0, 143))
    for number in range(3):
        history.note(2.0 + 1.5 * number, "app", 0, f"liveness.{number}", "S")
    assert told(checked("probe-kill", history.ends(30))) == []


def test_a_startup_probe_that_succeeded_kills_no_more() -> None:
    startup = scenario(app(probes=(Probe(kind=ProbeKind.STARTUP, pattern="SFF", failure_threshold=2),)))
    history = History(startup).lives("app", (1.0, None, 0)).note(2.0, "app", 0, "startup.0", "S").ends(30)
    assert told(checked("probe-kill", history, min_kills=0)) == []


def test_failures_before_a_restart_do_not_count_but_in_the_kubelet() -> None:
    history = History(PROBED).lives("app", (1.0, 3.5, 1), (4.0, 5.3, 143), (5.6, None, 0))
    for at_s, life, number in ((2.0, 0, 0), (3.0, 0, 1), (5.0, 1, 0)):
        history.note(at_s, "app", life, f"liveness.{number}", "F")
    history.note(6.0, "app", 2, "liveness.0", "S").ends(9)
    assert 'FAIL: "app" was ended after 1 failure in a row of its liveness probe' in str(
        told(checked("probe-kill", history))
    )
    shipped = CHECKERS["probe-kill"](case(history, deviations=frozenset({PROBE_FAILURES_GO_ON})))
    assert told(shipped) == []


def test_failures_that_no_exit_cut_off_show_nothing_of_the_next_life() -> None:
    history = History(PROBED).lives("app", (1.0, 3.6, 1), (4.0, None, 0))
    for number, answer in enumerate("FF"):
        history.note(2.0 + number, "app", 0, f"liveness.{number}", answer)
    assert told(checked("probe-kill", history.ends(9), min_kills=0, min_cut_off=1)) == []
    history = History(PROBED).lives("app", (1.0, 4.6, 1), (5.0, None, 0))
    for number, answer in enumerate("FFS"):
        history.note(2.0 + number, "app", 0, f"liveness.{number}", answer)
    assert told(checked("probe-kill", history.ends(9), min_kills=0, min_cut_off=1)) == [
        "INCONCLUSIVE: 0 runs of failures that the end of a life cut off seen, 1 needed: the scenario was complete."
    ]


def cut_off(handler: Handler, *, kill_after: int) -> list[str]:
    """Two failures, and a third under way as the first life ends; a life that is killed after so many further ones."""
    probe = Probe(pattern="FFFF", failure_threshold=4, answers_after_s=0.5, handler=handler)
    killed_s = 6.6 + kill_after
    history = History(scenario(app(probes=(probe,)))).lives("app", (1.0, 4.2, 1), (6.0, killed_s, 143))
    for number in range(3):
        history.note(2.0 + number, "app", 0, f"liveness.{number}", "F")
    for number in range(kill_after):
        history.note(7.0 + number, "app", 1, f"liveness.{number}", "F")
    return told(CHECKERS["probe-kill"](case(history.ends(30), deviations=frozenset({PROBE_FAILURES_GO_ON}))))


def test_a_command_that_its_container_does_not_outlive_may_count_as_a_failure_or_not() -> None:
    assert cut_off(Handler.EXEC, kill_after=1) == []
    assert cut_off(Handler.EXEC, kill_after=2) == []
    assert "and was asked again" in str(cut_off(Handler.EXEC, kill_after=3))


def test_a_request_that_its_container_does_not_outlive_is_a_failure() -> None:
    assert cut_off(Handler.HTTP, kill_after=1) == []
    assert "and was asked again" in str(cut_off(Handler.HTTP, kill_after=2))


def test_the_deadline_of_its_pod_ends_a_container_before_the_threshold() -> None:
    """The deadline is at 3 s."""
    pod = msgspec.structs.replace(PROBED, pod=msgspec.structs.replace(PROBED.pod, active_deadline_s=3))
    for exit_s, accused in ((3.3, False), (2.5, True)):
        history = asked("FF", exit_s=exit_s, pod=pod)
        assert ("FAIL" in str(told(checked("probe-kill", history)))) is accused


HOOKED = scenario(app(probes=(Probe(pattern="FFF"),), pre_stop_s=1))


def test_a_container_that_ends_after_its_pre_stop_hook_is_right() -> None:
    assert told(checked("probe-kill", asked("FFF", exit_s=5.3, pod=HOOKED))) == []


def test_a_container_that_ends_sooner_than_its_pre_stop_hook_is_a_fail() -> None:
    history = asked("FFF", exit_s=4.3, pod=HOOKED)
    last, ended = history.line_of(Kind.NOTED, 2), history.line_of(Kind.EXITED, channel=Channel.RUNTIME)
    assert told(checked("probe-kill", history)) == [
        'FAIL: "app" ended 0.3 s after failure 3 in a row of its liveness probe '
        f"(history lines {last} and {ended}); its preStop hook takes 1 s."
    ]


def test_a_kill_that_comes_with_a_restart_of_the_kubelet_alone_is_a_fail() -> None:
    """Failures count anew then, and probes are asked no sooner: nothing else is judged of such a pod."""
    restart = Intervention(trigger=Trigger(after_s=10), action=InterventionKind.RESTART_KUBELET)
    restarted = msgspec.structs.replace(PROBED, interventions=(restart,))
    history = asked("FFSSSS", exit_s=12.3, pod=restarted).intervention(10.0, "restart-kubelet", down_s=2)
    (finding,) = told(checked("probe-kill", history))
    assert finding.startswith('FAIL: "app" was ended after 2 failures in a row of its liveness probe ')
    late = asked("FFFFFFF", exit_s=None, pod=restarted).intervention(3.0, "restart-kubelet", down_s=2)
    assert not any(each.startswith("FAIL") for each in told(checked("probe-kill", late)))
