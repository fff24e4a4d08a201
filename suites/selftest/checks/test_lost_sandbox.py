"""What follows from the loss of a sandbox or a record: restarts that do not come, or too soon, or at all, and hidden exits."""

import msgspec
import pytest

from crashloop.checks.judge import judge, run_checkers
from crashloop.deviations import load_deviations
from crashloop.history.event import Channel, Kind
from crashloop.model.variants import (
    DOCUMENTED,
    FORGOTTEN_RUNS_AGAIN,
    NEVER_GETS_NO_SANDBOX,
    SANDBOX_FORGETS_DELAY,
    SANDBOX_HIDES_EXIT,
    SANDBOX_REPEATS_NEVER,
    SUCCESS_GETS_NO_SANDBOX,
)
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, ContainerKind, RestartPolicy, restart_in
from crashloop.spec.program import HOLDS, KILLED, exits_with, runs
from crashloop.spec.scenario import PodScenario, Until
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import STOCK, app, question, scenario
from suites.selftest.kit.histories import History

KILL = (Intervention(trigger=Trigger(after_s=5), action=InterventionKind.KILL_SANDBOX),)
SIDECAR = Container(name="sidecar", kind=ContainerKind.INIT, program=HOLDS, restart_policy=RestartPolicy.ALWAYS)


def lost(*containers: Container) -> PodScenario:
    return msgspec.structs.replace(scenario(*containers, until=Until(restarts={"app": 1})), interventions=KILL)


def purged(*, killed: bool = True) -> History:
    """The sandbox goes at 5 s; the sidecar ends at 5.9 s, is removed, and starts again at 6.5 s without a last state."""
    history = History(lost(SIDECAR, app(HOLDS))).lives("sidecar", (1.0, 5.9, 143), status=False)
    history.intervention(5.0, "kill-sandbox", outcome="ok" if killed else "failed")
    history.runtime(6.0, Kind.REMOVED, "sidecar", "sidecar-0").lives("sidecar", (6.5, None, 0), first=1, status=False)
    return history.status(6.6, {"sidecar": {**history.running("sidecar", 1, 6.5), "lastState": {}}}).ends(40)


def test_an_exit_that_went_with_the_sandbox_is_missing() -> None:
    history = purged()
    found = run_checkers(question(history, "last-exit"), DOCUMENTED)
    assert found.outcome is Outcome.FAIL
    assert found.findings[0].sentence == (
        f'a status of "sidecar" (history line {history.line_of(Kind.STATUS)}) shows no last exit; restart 1 was running.'
    )


@pytest.mark.parametrize(("killed", "outcome"), [(True, Outcome.PASS), (False, Outcome.FAIL)], ids=["lost", "kept"])
def test_only_the_loss_of_a_sandbox_explains_it(killed: bool, outcome: Outcome) -> None:
    found = run_checkers(question(purged(killed=killed), "last-exit"), frozenset({SANDBOX_HIDES_EXIT}))
    assert found.outcome is outcome


def succeeded(*, killed_s: float) -> History:
    """A success at 2 s that a rule is to follow with a restart, which does not come."""
    ruled = app(exits_with(0), restart_policy=RestartPolicy.ON_FAILURE, rules=(restart_in(0),))
    history = History(lost(ruled)).lives("app", (1.0, 2.0, 0))
    return history.intervention(killed_s, "kill-sandbox").ends(100)


def test_a_restart_by_rule_that_does_not_come_is_found_and_explained_by_the_variant() -> None:
    history = succeeded(killed_s=2.1)
    exited = history.line_of(Kind.EXITED, 1, container="app")
    found = run_checkers(question(history, "restart-decision"), DOCUMENTED)
    assert [each.sentence for each in found.findings] == [
        f'restart 1 of "app" did not come within 98 s after the exit (history line {exited}); 0 s was due, and 2 s at the '
        "latest: restart rule Restart In [0] matches exit code 0."
    ]
    explained = run_checkers(question(history, "restart-decision"), frozenset({SUCCESS_GETS_NO_SANDBOX}))
    assert explained.outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("oom_s", "outcome"), [(2.0, Outcome.PASS), (1.5, Outcome.FAIL), (None, Outcome.FAIL)], ids=str
)
def test_a_sandbox_that_ends_where_the_memory_of_its_pod_runs_out_is_lost(
    oom_s: float | None, outcome: Outcome
) -> None:
    """A lack of memory ends the pause container as well on a busy host; the pod, under Never, gets no other sandbox."""
    ruled = app(exits_with(KILLED), restart_policy=RestartPolicy.NEVER, rules=(restart_in(KILLED),))
    pod = scenario(ruled, policy=RestartPolicy.NEVER, until=Until(restarts={"app": 1}))
    history = History(pod).lives("app", (1.0, 2.04, KILLED))
    for at_s, kind, phase in ((oom_s, Kind.OOM, ""), (2.05, Kind.SANDBOX, "exited")):
        if at_s is not None:
            history.add(at_s, Channel.RUNTIME, kind, {"container_id": "sandbox-0", "phase": phase}, pod=True)
    found = run_checkers(question(history.ends(100), "restart-decision"), frozenset({NEVER_GETS_NO_SANDBOX}))
    assert found.outcome is outcome


def unknown() -> History:
    """The same, with a status in between: 1.37.1 counts the sidecar as one that it could not locate."""
    lasts = {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}
    history = History(lost(SIDECAR, app(HOLDS))).lives("sidecar", (1.0, 5.9, 143), status=False)
    history.lives("app", (1.5, 5.8, 143), status=False)
    history.status(2.0, {"sidecar": history.running("sidecar", 0, 1.0), "app": history.running("app", 0, 1.5)})
    history.intervention(5.0, "kill-sandbox").runtime(6.0, Kind.REMOVED, "sidecar", "sidecar-0")
    waits = {"name": "sidecar", "restartCount": 1, "state": {"waiting": {"reason": "PodInitializing"}}}
    ended = {"name": "app", "restartCount": 0, "state": {"terminated": {"exitCode": 143}}}
    history.status(6.2, {"sidecar": {**waits, "lastState": lasts}, "app": ended}, phase="Pending")
    history.lives("sidecar", (6.5, None, 0), first=1, status=False)
    again = {**history.running("sidecar", 1, 6.5), "lastState": lasts}
    return history.status(6.7, {"sidecar": again}, phase="Pending").ends(12)


def test_what_is_stated_of_a_sidecar_between_two_sandboxes_is_found_and_explained_by_the_variant() -> None:
    history = unknown()
    between, after = history.line_of(Kind.STATUS, 1), history.line_of(Kind.STATUS, 2)
    exited = history.line_of(Kind.EXITED, container="sidecar", channel=Channel.RUNTIME)
    phase = run_checkers(question(history, "pod-phase"), DOCUMENTED)
    assert [each.sentence for each in phase.findings] == [
        f"the pod's phase was said to be Pending (history lines {exited} and {between}); Running was due."
    ]
    last = run_checkers(question(history, "last-exit"), DOCUMENTED)
    assert [each.sentence for each in last.findings] == [
        f'a status says exit code 137 of instance 0 of "sidecar" (history lines {exited} and {after}); it exited with 143.'
    ]
    for checker in ("pod-phase", "last-exit", "restart-count"):
        found = run_checkers(question(history, checker), frozenset({SANDBOX_HIDES_EXIT}))
        assert [each for each in found.findings if each.outcome is Outcome.FAIL] == []


NEVER = RestartPolicy.NEVER


def ended_under_never(*others: Container, pod: RestartPolicy = RestartPolicy.ALWAYS, killed_s: float = 6.0) -> History:
    """An end under Never at 2 s, and a further life from 8 s to 9 s."""
    done = app(exits_with(0, times=2), restart_policy=NEVER)
    declared = msgspec.structs.replace(lost(done, *others), until=Until(exits={"app": 1}))
    declared = msgspec.structs.replace(declared, pod=msgspec.structs.replace(declared.pod, restart_policy=pod))
    history = History(declared).lives("app", (1.0, 2.0, 0)).intervention(killed_s, "kill-sandbox")
    return history.lives("app", (8.0, 9.0, 0), first=1).ends(100)


def test_what_has_ended_under_never_is_found_to_run_again_and_explained_by_the_variant() -> None:
    history = ended_under_never()
    exited, again = history.line_of(Kind.EXITED, 1, container="app"), history.line_of(Kind.CREATED, 1, container="app")
    found = run_checkers(question(history, "restart-decision"), DOCUMENTED)
    assert [each.sentence for each in found.findings] == [
        f'"app" exited with 0 and was restarted (history lines {exited} and {again}); it was not to restart: container '
        "restart policy Never decides after exit code 0."
    ]
    explained = run_checkers(question(history, "restart-decision"), frozenset({SANDBOX_REPEATS_NEVER}))
    assert explained.outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("killed_s", "made_s", "accused"),
    [(1.9, 2.6, False), (1.9, 9.0, True), (2.1, 2.6, True)],
    ids=["meanwhile", "long-after-it", "ended-before"],
)
def test_a_success_while_another_sandbox_is_made_may_run_again(
    killed_s: float, made_s: float, *, accused: bool
) -> None:
    """The sync that made it may have seen the container run; one that had succeeded before it began stays as it is."""
    once = msgspec.structs.replace(lost(app(exits_with(0, times=2))), until=Until(exits={"app": 1}))
    once = msgspec.structs.replace(once, pod=msgspec.structs.replace(once.pod, restart_policy=RestartPolicy.ON_FAILURE))
    history = History(once).lives("app", (1.0, 2.0, 0)).intervention(killed_s, "kill-sandbox")
    for at_s, identity, phase in ((killed_s, "one", "exited"), (made_s, "two", "created")):
        history.add(at_s, Channel.RUNTIME, Kind.SANDBOX, {"container_id": identity, "phase": phase}, pod=True)
    history.lives("app", (made_s + 0.1, made_s + 1.1, 0), first=1).ends(100)
    found = run_checkers(question(history, "restart-decision"), DOCUMENTED)
    assert any("it was not to restart" in each.sentence for each in found.findings) is accused


@pytest.mark.parametrize(("exit_s", "accused"), [(4.9, False), (3.0, True)], ids=["waits", "is-due"])
def test_what_has_ended_under_never_and_waits_when_another_sandbox_comes_is_known_to_stay_down(
    exit_s: float, *, accused: bool
) -> None:
    """Only the sync that makes the sandbox, at 6 s, starts it again; a delay of 2 s that goes on then ends after it."""
    ruled = app(runs((1, 3), (30, 1)), restart_policy=NEVER, rules=(restart_in(3),))
    history = History(lost(ruled, app(HOLDS, name="beside"))).lives("app", (1.0, 2.0, 3), (2.3, exit_s, 1))
    history.intervention(5.0, "kill-sandbox").lives("beside", (1.1, 5.5, 143), (6.2, None, 0))
    for at_s, identity, phase in ((5.1, "one", "exited"), (6.0, "two", "created")):
        history.add(at_s, Channel.RUNTIME, Kind.SANDBOX, {"container_id": identity, "phase": phase}, pod=True)
    found = run_checkers(question(history.ends(100), "restart-decision"), frozenset({SANDBOX_REPEATS_NEVER}))
    assert any('restart 2 of "app" did not come' in each.sentence for each in found.findings) is accused


def unstated(*, until_s: float, stated: bool = True) -> History:
    """The end of "app" with its sandbox at 7 s is stated late: what has ended under Never runs again from 8 s to 28 s."""
    done = Container(name="done", program=exits_with(0, times=2), restart_policy=NEVER)
    history = History(msgspec.structs.replace(lost(done, app(HOLDS)), until=Until(exits={"done": 2})))
    history.lives("done", (1.0, 2.0, 0), status=False).intervention(6.0, "kill-sandbox")
    history.lives("app", (1.0, 7.0, 143), status=False)
    ended = {"done": history.exited("done", 0, 1.0, 2.0, 0)} if stated else {}
    history.status(7.1, {**ended, "app": history.running("app", 0, 1.0)})
    history.lives("done", (8.0, 28.0, 0), first=1, status=False).lives("app", (8.2, None, 0), first=1, status=False)
    last = {"lastState": history.exited("app", 0, 1.0, 7.0, 143)["state"]}
    return history.status(until_s, {"app": {**history.running("app", 1, 8.2), **last}}).ends(100)


@pytest.mark.parametrize(
    ("history", "until_s", "outcome"),
    [
        (unstated(until_s=29.0), 22, Outcome.PASS),
        (unstated(until_s=90.0), 83, Outcome.FAIL),
        (unstated(until_s=60.0, stated=False), 53, Outcome.FAIL),
    ],
    ids=["refused", "refused-no-more", "never-stated"],
)
def test_no_status_is_due_while_the_api_server_refuses_what_runs_again(
    history: History, until_s: int, outcome: Outcome
) -> None:
    judged = question(history, "last-exit")
    (stale,) = run_checkers(judged, DOCUMENTED).findings
    assert f'instance 0 of "app" was said to be running until {until_s} s after its exit' in stale.sentence
    assert run_checkers(judged, frozenset({SANDBOX_REPEATS_NEVER})).outcome is outcome


@pytest.mark.parametrize(("removed_s", "explained"), [(5.0, Outcome.PASS), (1.5, Outcome.FAIL)])
def test_what_runs_again_without_its_record_is_found_and_explained_if_that_was_of_its_end(
    removed_s: float, explained: Outcome
) -> None:
    kind, of = InterventionKind.REMOVE_CONTAINER, {"container": "app"}
    remove = Intervention(trigger=Trigger(after_s=removed_s), action=kind, arguments=of)
    declared = msgspec.structs.replace(scenario(app(exits_with(0)), policy=NEVER), interventions=(remove,))
    history = History(declared).lives("app", (1.0, 2.0, 0))
    history.intervention(removed_s, "remove-container", container="app").lives("app", (6.0, None, 0), first=1).ends(100)
    exited, again = history.line_of(Kind.EXITED, 1, container="app"), history.line_of(Kind.CREATED, 1, container="app")
    found = run_checkers(question(history, "restart-decision"), DOCUMENTED)
    assert [each.sentence for each in found.findings] == [
        f'"app" exited with 0 and was restarted (history lines {exited} and {again}); it was not to restart: pod restart policy '
        "Never decides after exit code 0."
    ]
    by_variant = run_checkers(question(history, "restart-decision"), frozenset({FORGOTTEN_RUNS_AGAIN}))
    assert by_variant.outcome is explained


@pytest.mark.parametrize(
    "history",
    [ended_under_never(SIDECAR), ended_under_never(pod=NEVER), ended_under_never(killed_s=20.0)],
    ids=["init-containers", "pod-under-never", "sandbox-lost-later"],
)
def test_where_the_kubelet_runs_nothing_again_the_variant_explains_nothing(history: History) -> None:
    found = run_checkers(question(history, "restart-decision"), frozenset({SANDBOX_REPEATS_NEVER}))
    assert found.outcome is Outcome.FAIL


def cut_short(
    *, removed: bool = True, killed: bool = True, kind: ContainerKind = ContainerKind.INIT, count: int = 1
) -> History:
    """The sandbox goes 3 s into a delay of 10 s, the exited instance a second later, and the next starts after 2 s more."""
    setup = Container(name="setup", kind=kind, program=exits_with(1, times=3))
    history = History(lost(setup, app(HOLDS))).lives("setup", (1.0, 2.0, 1), (2.5, 3.5, 1), status=False)
    history.intervention(6.5, "kill-sandbox", outcome="ok" if killed else "failed")
    if removed:
        history.runtime(7.5, Kind.REMOVED, "setup", "setup-1")
    history.lives("setup", (9.5, 10.5, 1), first=2, status=False)
    return history.status(9.6, {"setup": {**history.running("setup", 2, 9.5), "restartCount": count}}).ends(20)


def test_a_delay_that_the_loss_of_the_sandbox_cuts_short_is_found_and_explained_by_the_variant() -> None:
    history = cut_short()
    exited = history.line_of(Kind.EXITED, 3, container="setup")
    again = history.line_of(Kind.STARTED, 2, channel=Channel.RUNTIME, container="setup")
    found = run_checkers(question(history, "delays", profile=STOCK, min_delays=1), DOCUMENTED)
    assert [each.sentence for each in found.findings] == [
        f'restart 2 of "setup" came 6 s after the exit (history lines {exited} and {again}); 10 s was due: the counter says 10 s.'
    ]
    explained = run_checkers(
        question(history, "delays", profile=STOCK, min_delays=1), frozenset({SANDBOX_FORGETS_DELAY})
    )
    assert explained.outcome is Outcome.PASS


UNEXPLAINED = pytest.mark.parametrize(
    "history",
    [cut_short(removed=False), cut_short(killed=False), cut_short(kind=ContainerKind.REGULAR)],
    ids=["not-removed", "sandbox-kept", "regular"],
)


@UNEXPLAINED
def test_only_an_init_container_that_was_removed_for_a_new_sandbox_forgets_its_delay(history: History) -> None:
    found = run_checkers(question(history, "delays", profile=STOCK, min_delays=1), frozenset({SANDBOX_FORGETS_DELAY}))
    assert found.outcome is Outcome.FAIL


def test_a_count_that_begins_anew_is_found_and_explained_by_the_variant() -> None:
    history = cut_short()
    found = run_checkers(question(history, "restart-count"), DOCUMENTED)
    assert found.outcome is Outcome.FAIL
    assert 'the status said restartCount 1 of "setup" while the instance of restart 2 ran' in found.findings[0].sentence
    explained = run_checkers(question(history, "restart-count"), frozenset({SANDBOX_FORGETS_DELAY}))
    assert explained.outcome is Outcome.PASS


@UNEXPLAINED
def test_only_an_init_container_that_was_removed_for_a_new_sandbox_is_counted_anew(history: History) -> None:
    found = run_checkers(question(history, "restart-count"), frozenset({SANDBOX_FORGETS_DELAY}))
    assert found.outcome is Outcome.FAIL


def test_a_container_whose_sandbox_went_while_it_started_leaves_open_whether_the_pod_gets_another() -> None:
    """A pod under Never is known to get none; that its program has not run as planned does not make that news."""
    own = app(HOLDS, restart_policy=RestartPolicy.ALWAYS)
    of = lost(own)
    pod = msgspec.structs.replace(of.pod, restart_policy=RestartPolicy.NEVER)
    history = History(msgspec.structs.replace(of, pod=pod)).runtime(4.8, Kind.CREATED, "app", "app-0")
    history.intervention(5.0, "kill-sandbox").runtime(5.5, Kind.EXITED, "app", "app-0", 128)
    asked = question(history.ends(100), "restart-decision", name="X-1")
    assert judge(asked).outcome is Outcome.FAIL
    found = judge(asked, load_deviations())
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.findings[0] == (
        "X-1: deviation never-gets-no-second-sandbox may be why the promise was not kept; that is open."
    )
