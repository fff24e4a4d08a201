"""RestartAllContainers takes every container along, and what it hides is a deviation."""

import re
from functools import cache

import pytest

from crashloop.checks.judge import judge, run_checkers
from crashloop.deviations import load_deviations
from crashloop.history.event import Channel, Kind
from crashloop.model.lives import Lived
from crashloop.model.variants import DOCUMENTED, RESTART_ALL_HIDES_EXIT_CODE
from crashloop.restarts.model_input import observed
from crashloop.restarts.restart_all import replacements, resets_of
from crashloop.spec.pod import Action, ContainerKind, Probe, RestartPolicy, restart_in
from crashloop.spec.program import HOLDS, KILLED, Life, LifeEnd, Program, exits_with, runs
from crashloop.spec.scenario import Until
from crashloop.verdict import Outcome
from sim.faults import DistinctionFault
from sim.host import HOSTS, SLOW_HOSTS, HostModel
from suites.selftest.kit.cases import app, case, checked, question, resetting, scenario, told
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.histories import History
from tools.trials import Trial, recordings_of, verdict_of

RESTART_ALL = scenario(
    app(runs((1, 0), (1, 0)), name="setup", kind=ContainerKind.INIT),
    resetting(runs((3, 42)), name="source"),
    app(HOLDS, name="neighbour"),
    policy=RestartPolicy.NEVER,
    until=Until(restarts={"source": 1, "neighbour": 1}),
)
STEP = "all containers were to restart: restart rule RestartAllContainers In [42] matches exit code 42."


def restarting_all(*, setup: bool = True, neighbour: bool = True, code: int = 42) -> History:
    """The source exits at 5 s; all are ended, init runs again, all start again. Or some are left out."""
    history = History(RESTART_ALL)
    history.lives("setup", (0.5, 1.5, 0), *([(6.5, 7.5, 0)] if setup else []), phase="Pending")
    history.lives("source", (2.0, 5.0, 42), status=False)
    history.status(5.2, {"source": history.exited("source", 0, 2.0, 5.0, 42)})
    history.lives("neighbour", (2.1, 6.0, 137), (8.1, None, 0)) if neighbour else history.lives(
        "neighbour", (2.1, None, 0)
    )
    history.lives("source", (8.0, None, 0), first=1, status=False)
    last = {"terminated": {"exitCode": code, "reason": "RestartingAllContainers"}}
    history.status(8.3, {"source": {**history.running("source", 1, 8.0), "lastState": last}})
    return history.ends(20)


def test_accepts_that_all_restart() -> None:
    assert told(checked("restart-decision", restarting_all())) == []


def test_a_neighbour_left_running_is_a_fail() -> None:
    history = restarting_all(neighbour=False)
    ended = history.line_of(Kind.EXITED, 0, channel=Channel.RUNTIME, container="source")
    again = history.line_of(Kind.CREATED, 1, channel=Channel.RUNTIME, container="source")
    assert told(checked("restart-decision", history)) == [
        'INCONCLUSIVE: 0 exits of "neighbour" seen, 1 needed: the scenario was complete.',
        f'FAIL: "source" exited and was restarted without "neighbour" (history lines {ended} and {again}); {STEP}',
    ]


def test_an_init_container_that_does_not_run_again_is_a_fail() -> None:
    (finding,) = told(checked("restart-decision", restarting_all(setup=False)))
    assert finding.startswith('FAIL: "source" exited and was restarted without "setup" (history lines')
    assert finding.endswith(STEP)


@pytest.mark.parametrize(
    ("restart_count", "container_id", "faults"),
    [(1, "", 0), (2, "", 1), (1, "containerd://source-0", 1)],
    ids=["counted-once", "counted-twice", "of-an-instance"],
)
def test_a_reset_that_the_pods_end_cut_short_is_counted_before_its_start(
    restart_count: int, container_id: str, faults: int
) -> None:
    history = History(RESTART_ALL).lives("source", (2.0, 5.0, 42), status=False)
    ended = {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown", "containerID": container_id}}
    history.status(6.0, {"source": {"name": "source", "restartCount": restart_count, "state": ended}})
    findings = told(checked("restart-count", history.ends(20)))
    said = f'FAIL: the status said restartCount {restart_count} of "source" (history line {history.line_of(Kind.STATUS, 0)})'
    assert [each for each in findings if each.startswith("FAIL")] == [f"{said} when 0 restarts had been seen."] * faults


def test_a_hidden_exit_code_breaks_the_promise_and_fits_the_deviation() -> None:
    asked = question(restarting_all(code=137), "last-exit")
    promised = run_checkers(asked, DOCUMENTED)
    assert promised.outcome is Outcome.FAIL
    assert promised.findings[0].sentence.startswith('a status says exit code 137 of instance 0 of "source"')
    assert promised.findings[0].sentence.endswith("; it exited with 42.")
    assert run_checkers(asked, frozenset({RESTART_ALL_HIDES_EXIT_CODE})).findings == ()


def test_a_shown_exit_code_keeps_the_promise_and_contradicts_the_deviation() -> None:
    asked = question(restarting_all(), "last-exit")
    assert run_checkers(asked, DOCUMENTED).findings == ()
    assert run_checkers(asked, frozenset({RESTART_ALL_HIDES_EXIT_CODE})).findings[0].sentence.endswith("; 137 was due.")


def test_what_else_a_slow_api_server_leaves_open_is_not_the_deviations() -> None:
    """No status says that the source has ended until 15 s after its exit; then it runs again, with a hidden exit code."""
    history = History(RESTART_ALL).lives("setup", (0.5, 1.5, 0), (6.5, 7.5, 0), status=False)
    history.lives("source", (2.0, 5.0, 42), (8.0, None, 0), status=False)
    history.lives("neighbour", (2.1, 6.0, 137), (8.1, None, 0), status=False)
    first = {"source": history.running("source", 0, 2.0), "neighbour": history.running("neighbour", 0, 2.1)}
    history.status(2.5, first | {"setup": history.exited("setup", 0, 0.5, 1.5, 0)})
    last = {"lastState": {"terminated": {"exitCode": 137, "reason": "RestartingAllContainers"}}}
    again = {"source": history.running("source", 1, 8.0), "neighbour": history.running("neighbour", 1, 8.1)}
    again["setup"] = history.exited("setup", 1, 6.5, 7.5, 0)
    history.status(20.0, {name: each | last for name, each in again.items()})
    verdict = judge(question(history.ends(40), "last-exit", name="RULES-22"), load_deviations())
    assert (verdict.outcome, verdict.deviation) == (Outcome.INCONCLUSIVE, None)
    open_, doubt = verdict.findings
    assert open_ == "RULES-22: deviation restart-all-hides-exit-code may be why the promise was not kept; that is open."
    assert doubt.startswith('RULES-22: instance 0 of "source" was said to be running until 15 s after its exit')


BESIDE_A_LOOP = scenario(
    *(each for each in RESTART_ALL.pod.containers if each.name == "source"),
    app(exits_with(1, times=9), name="loop"),
    name="beside-a-loop",
)


def restarting_beside_a_loop(*, removal_seen: bool) -> History:
    """The source exits at 5 s; by the sync under way the loop restarts at 5.3 s; both are removed at 5.6 s and started again."""
    history = History(BESIDE_A_LOOP)
    history.lives("source", (1.0, 5.0, 42), (7.0, None, 0))
    history.lives("loop", (1.1, 4.4, 1), (5.4, 5.5, 137), (7.1, 8.1, 1), (8.6, None, 1))
    if removal_seen:
        history.runtime(5.6, Kind.REMOVED, "source", "source-0")
    return history.ends(30)


def ended_by_restart_all(history: History) -> list[bool]:
    told_of = case(history)
    return [each.restart_all for each in observed(told_of, told_of.pod, "loop") if isinstance(each, Lived)]


def test_a_restart_between_the_trigger_and_the_removal_was_not_by_the_restart_all() -> None:
    assert ended_by_restart_all(restarting_beside_a_loop(removal_seen=True)) == [False, True, False, False]


def test_a_removal_that_nobody_saw_leaves_open_which_of_two_restarts_it_caused() -> None:
    assert ended_by_restart_all(restarting_beside_a_loop(removal_seen=False)) == []


def test_a_removal_that_nobody_saw_is_certain_of_the_only_restart_meanwhile() -> None:
    history = History(BESIDE_A_LOOP)
    history.lives("source", (1.0, 5.0, 42), (7.0, None, 0), runtime=False)
    history.lives("loop", (1.1, 5.5, 137), (7.1, 8.1, 1), (8.6, None, 1), runtime=False).ends(30)
    assert ended_by_restart_all(history) == [True, False, False]


def test_what_was_restarted_by_which_trigger_is_worked_out_once_for_all_judgements() -> None:
    judged = case(restarting_all())
    assert len(resets_of(judged, judged.pod)) == 1
    assert resets_of(judged, judged.pod) is resets_of(judged, judged.pod)
    assert replacements(judged, judged.pod, "app") is replacements(judged, judged.pod, "app")
    by_shipped = case(restarting_all(), deviations=frozenset({RESTART_ALL_HIDES_EXIT_CODE}))
    assert replacements(judged, judged.pod, "app") == replacements(by_shipped, by_shipped.pod, "app")


def loop_that_waits(*, removed: bool) -> History:
    """The loop waits from 4.4 s on; the source exits at 5 s and starts again at 6 s, the loop at 7.1 s."""
    history = History(BESIDE_A_LOOP)
    history.lives("source", (1.0, 5.0, 42), (6.0, None, 0))
    history.lives("loop", (1.1, 2.1, 1), (2.4, 4.4, 1), (7.1, None, 1))
    if removed:
        history.runtime(5.6, Kind.REMOVED, "loop", "loop-1")
    return history.runtime(5.6, Kind.REMOVED, "source", "source-0").ends(30)


def test_a_container_that_waits_is_removed_with_the_others() -> None:
    assert told(checked("restart-decision", loop_that_waits(removed=True))) == []


def test_a_container_that_is_left_to_its_delay_is_a_fail() -> None:
    history = loop_that_waits(removed=False)
    ended = history.line_of(Kind.EXITED, 0, channel=Channel.RUNTIME, container="source")
    again = history.line_of(Kind.CREATED, 1, channel=Channel.RUNTIME, container="source")
    assert told(checked("restart-decision", history)) == [
        f'FAIL: "source" exited and was restarted without "loop" (history lines {ended} and {again}); {STEP}'
    ]


def test_a_removal_that_may_have_gone_unseen_accuses_nobody() -> None:
    history = loop_that_waits(removed=False).gap(Channel.RUNTIME, 5.4, 5.8)
    assert told(checked("restart-decision", history)) == []


@pytest.mark.parametrize("removed", [True, False])
def test_a_kill_that_restarts_all_is_shown_by_its_removal_where_its_container_does_not_run_again(
    *, removed: bool
) -> None:
    """A probe has the source killed at 5 s, with the code that restarts all; the pod is deleted before its turn comes again."""
    killed = resetting(runs((30, 1)), name="source", exit_code_on_term=42, probes=(Probe(fails_after_s=1),))
    setup = app(runs((1, 0), (1, 0)), name="setup", kind=ContainerKind.INIT)
    history = History(scenario(setup, killed, policy=RestartPolicy.NEVER, until=Until(restarts={"source": 1})))
    history.lives("setup", (0.5, 1.5, 0), phase="Pending").lives("source", (2.0, 5.0, 42))
    if removed:
        history.runtime(5.6, Kind.REMOVED, "setup", "setup-0").runtime(5.6, Kind.REMOVED, "source", "source-0")
    history.lives("setup", (6.5, 7.2, 143), first=1, status=False).intervention(7.0, "delete-pod").ends(20)
    found = any(
        '"setup" exited with 0 and was restarted' in each for each in told(checked("restart-decision", history))
    )
    assert found is not removed


@pytest.mark.parametrize(("lost", "outcome"), [(True, Outcome.INCONCLUSIVE), (False, Outcome.FAIL)])
def test_a_sigkill_that_restarts_all_may_have_gone_unseen(*, lost: bool, outcome: Outcome) -> None:
    """Nothing of its own tells the end of the source, which the runtime's events lack from 4 s to 7 s as well."""
    ends = Program((Life(run_s=3, exit_code=KILLED, times=9, end=LifeEnd.SIGNAL),))
    rules = (restart_in(KILLED, action=Action.RESTART_ALL_CONTAINERS),)
    source = app(ends, name="source", restart_policy=RestartPolicy.NEVER, rules=rules)
    setup = app(runs((1, 0), (1, 0)), name="setup", kind=ContainerKind.INIT)
    history = History(scenario(setup, source, policy=RestartPolicy.NEVER, until=Until(restarts={"source": 1})))
    history.lives("setup", (0.5, 1.5, 0), phase="Pending").lives("source", (2.0, None, 0))
    history.lives("setup", (5.5, 6.5, 0), first=1, runtime=False, status=False)
    if lost:
        history.gap(Channel.RUNTIME, 4.0, 7.0)
    history.lives("source", (8.0, None, 0), first=1).ends(20)
    found = run_checkers(question(history, "restart-decision"), DOCUMENTED)
    said = [each.outcome for each in found.findings if '"setup" exited with 0 and was restarted' in each.sentence]
    assert said == [outcome]


@cache
def without_grace() -> Trial:
    return next(each for each in trials() if each.requirement.id == "RAC-20")


def test_the_grace_period_of_the_pod_is_none_of_a_restart_of_all() -> None:
    heeds = recordings_of(without_grace().scenario, frozenset({DistinctionFault.RESET_HEEDS_GRACE}))
    (finding,) = verdict_of(without_grace().requirement, without_grace().scenario, *heeds).findings
    assert re.fullmatch(
        r'RAC-20: "stubborn" ran on for 30\.\d+ s after the exit that triggers RestartAllContainers '
        r"\(history lines \d+ and \d+\); 10 s is the longest\.",
        finding,
    )


@pytest.mark.parametrize("host", [*HOSTS, *SLOW_HOSTS], ids=lambda host: host.name)
def test_a_right_kubelet_is_never_too_late_to_end_what_heeds_no_signal(host: HostModel) -> None:
    for seed in range(3):
        recordings = recordings_of(without_grace().scenario, host=host, seed=seed)
        verdict = verdict_of(without_grace().requirement, without_grace().scenario, *recordings)
        assert verdict.outcome in (Outcome.PASS, Outcome.INCONCLUSIVE), verdict.findings
