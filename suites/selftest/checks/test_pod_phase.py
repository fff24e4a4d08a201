"""The checker of the pod's phase: what each status says must follow from the containers, and the last is the final."""

import msgspec
import pytest

from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Channel, Kind
from crashloop.model.variants import RESTART_ALL_STAYS_RUNNING
from crashloop.spec.pod import Container, ContainerKind, Probe, ProbeKind, RestartPolicy
from crashloop.spec.program import HOLDS, runs
from crashloop.spec.scenario import Until
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import CRASHING, GOOD, STAYS_FAILED, app, case, checked, good, resetting, scenario, told
from suites.selftest.kit.histories import History, stamp

DONE = scenario(app(runs((1, 0))), policy=RestartPolicy.NEVER, until=Until(exits={"app": 1}, phase="Succeeded"))


def failing(*statuses: tuple[float, str], ends_s: float = 40) -> History:
    """One life that fails for good, with these phases said."""
    history = History(STAYS_FAILED).lives("app", (0.5, 1.5, 1), status=False)
    for at_s, phase in statuses:
        history.counts(at_s, "app", 0, phase=phase)
    return history.ends(ends_s)


def test_accepts_running_throughout_a_crash_loop() -> None:
    answer = checked("pod-phase", good())
    assert told(answer) == []
    assert answer.facts == {"phases": ["Running"]}


def test_accepts_the_way_to_failed() -> None:
    assert told(checked("pod-phase", failing((0.1, "Pending"), (0.9, "Running"), (2.0, "Failed")))) == []


def test_a_status_may_lag_behind() -> None:
    assert told(checked("pod-phase", failing((0.9, "Pending"), (8.0, "Running"), (12.0, "Failed")))) == []


def test_a_final_phase_while_a_restart_is_due_is_a_fail() -> None:
    history = (
        History(CRASHING).lives("app", *GOOD, status=False).counts(1, "app", 0).counts(6.8, "app", 2, phase="Failed")
    )
    said = history.counts(9, "app", 3).ends(30).line_of(Kind.STATUS, 1)
    ended = history.line_of(Kind.EXITED, 2, channel=Channel.RUNTIME)
    assert told(checked("pod-phase", history)) == [
        f"FAIL: the pod's phase was said to be Failed (history lines {ended} and {said}); Running was due."
    ]


def test_a_phase_that_nobody_said_while_a_container_waited_is_open_where_the_sentence_is_about_it() -> None:
    history = History(CRASHING).lives("app", *GOOD, status=False).counts(1, "app", 0).counts(9, "app", 3).ends(30)
    assert told(checked("pod-phase", history)) == []
    assert told(checked("pod-phase", history, min_shown_waits=1)) == [
        "INCONCLUSIVE: 0 waits for a restart with a status seen, 1 needed: the scenario was complete."
    ]
    assert told(checked("pod-phase", good(), min_shown_waits=2)) == []


def test_the_wrong_final_phase_is_a_fail() -> None:
    history = failing((0.9, "Running"), (2.0, "Succeeded"))
    (finding,) = told(checked("pod-phase", history))
    assert finding.startswith("FAIL: the pod's phase was said to be Succeeded (history lines")
    assert finding.endswith("; Running or Failed was due.")


def test_a_phase_that_stays_behind_is_a_fail() -> None:
    history = failing((0.9, "Running"))
    (line,) = (history.line_of(Kind.STATUS, 0),)
    assert told(checked("pod-phase", history)) == [
        f"FAIL: the pod's phase was last said to be Running (history line {line}); Failed was due."
    ]


@pytest.mark.parametrize(
    ("held_share", "kubelet_share", "outcome"),
    [
        (0.7, None, Outcome.FAIL),
        (0.9, None, Outcome.INCONCLUSIVE),
        (0.9, 0.7, Outcome.FAIL),
        (0.9, 0.9, Outcome.INCONCLUSIVE),
    ],
    ids=["enough", "too-little", "enough-for-the-kubelet", "too-little-for-the-kubelet"],
)
def test_a_host_that_leaves_ten_seconds_in_a_minute_leaves_enough_for_a_phase(
    held_share: float, kubelet_share: float | None, outcome: Outcome
) -> None:
    history = History(STAYS_FAILED).lives("app", (0.5, 1.5, 1), status=False)
    history.waited_us = round(held_share * 1e6)
    history.kubelet_us = None if kubelet_share is None else round(kubelet_share * 1e6)
    assert checked("pod-phase", history.counts(0.9, "app", 0, phase="Running").ends(64)).outcome is outcome


def test_a_final_phase_that_had_no_time_to_arrive_is_inconclusive() -> None:
    history = failing((0.9, "Running"), ends_s=9)
    (finding,) = told(checked("pod-phase", history))
    assert finding.startswith("INCONCLUSIVE: the pod's phase was last said to be Running")
    assert finding.endswith("and it had 7.5 s to say so: the scenario was complete.")


def test_a_pod_that_was_not_watched_to_its_end_is_inconclusive() -> None:
    history = History(STAYS_FAILED).lives("app", (0.5, None, 1)).ends(5, "interrupted")
    (finding,) = told(checked("pod-phase", history))
    assert finding.endswith("Failed was due, but its containers had not come that far: the recording was interrupted.")
    assert finding.startswith("INCONCLUSIVE: ")


def test_a_final_phase_lost_in_a_watch_gap_is_inconclusive() -> None:
    history = History(STAYS_FAILED).lives("app", (0.5, 1.5, 1), status=False).counts(0.9, "app", 0)
    (finding,) = told(checked("pod-phase", history.gap(Channel.API, 1, 39).ends(40)))
    assert finding.startswith("INCONCLUSIVE: ")
    assert "the watch was lost meanwhile" in finding


def test_a_wrong_phase_is_inconclusive_where_an_instance_could_have_gone_unseen() -> None:
    history = History(STAYS_FAILED).lives("app", (0.5, 1.5, 1), status=False)
    history.counts(20, "app", 1).gap(Channel.RUNTIME, 5, 19).gap(Channel.JOURNAL, 2, 40)
    (finding,) = told(checked("pod-phase", history.ends(40)))
    assert finding.startswith("INCONCLUSIVE: the pod's phase was said to be Running")


@pytest.mark.parametrize(
    ("said", "outcome"),
    [({}, Outcome.FAIL), ({"reason": "OutOfcpu"}, Outcome.INCONCLUSIVE)],
    ids=["by-itself", "for-another-reason"],
)
def test_a_pod_cannot_have_failed_while_no_container_has_exited_whatever_evidence_is_missing(
    said: dict[str, str], outcome: Outcome
) -> None:
    never_ran = {"app": {"name": "app", "restartCount": 0, "state": {"waiting": {"reason": "ContainerCreating"}}}}
    history = History(STAYS_FAILED).status(1, never_ran, phase="Failed", **said)
    history.gap(Channel.RUNTIME, 0, 39).gap(Channel.JOURNAL, 0, 39).ends(40)
    line = history.line_of(Kind.STATUS)
    found = checked("pod-phase", history)
    assert found.outcome is outcome
    if outcome is Outcome.FAIL:
        assert told(found) == [
            f"FAIL: the pod's phase was said to be Failed (history line {line}); Pending was due. "
            "That status shows no exit of any container."
        ]


def test_without_a_status_the_phase_is_inconclusive() -> None:
    assert told(checked("pod-phase", failing())) == [
        "INCONCLUSIVE: no pod status was seen, one that says Failed needed: the scenario was complete."
    ]


INIT = scenario(
    app(runs((1, 0)), name="setup", kind=ContainerKind.INIT),
    app(runs((1, 0))),
    policy=RestartPolicy.NEVER,
    until=Until(phase="Succeeded"),
)


def test_accepts_pending_until_the_init_container_is_done() -> None:
    history = History(INIT).lives("setup", (0.5, 1.5, 0), phase="Pending")
    history.lives("app", (2.0, 3.0, 0), status=False).counts(2.3, "app", 0).counts(3.4, "app", 0, phase="Succeeded")
    assert told(checked("pod-phase", history.ends(20))) == []


def test_running_before_the_init_container_is_done_is_a_fail() -> None:
    history = History(INIT).lives("setup", (0.5, 15.5, 0), phase="Running").ends(40)
    (finding, *_) = told(checked("pod-phase", history))
    assert finding.startswith("FAIL: the pod's phase was said to be Running")
    assert finding.endswith("; Pending was due.")


def test_a_phase_behind_one_that_was_shown_is_a_fail_however_slow_the_way_of_a_status() -> None:
    history = (
        History(CRASHING).lives("app", *GOOD, status=False).counts(1, "app", 0).counts(1.8, "app", 0, phase="Pending")
    )
    said = history.ends(30).line_of(Kind.STATUS, 1)
    (finding,) = told(checked("pod-phase", history))
    assert finding.startswith("FAIL: the pod's phase was said to be Pending (history lines")
    assert finding.endswith(f"{said}); Running was due.")


RESETS = scenario(
    resetting(runs((2, 42))),
    policy=RestartPolicy.NEVER,
)


def pending_after_reset(*, removed_s: float | None = None) -> History:
    """An exit at 3 s that restarts all containers, at 8 s; in between the pod is Pending."""
    history = History(RESETS).lives("app", (1.0, 3.0, 42), status=False)
    history.counts(1.5, "app", 0).counts(5.0, "app", 0, phase="Pending")
    if removed_s is not None:
        history.runtime(removed_s, Kind.REMOVED, "app", "app-0")
    history.lives("app", (8.0, None, 0), first=1, status=False).counts(8.5, "app", 1)
    return history


def test_a_pod_whose_containers_were_removed_to_begin_again_is_pending() -> None:
    assert told(checked("pod-phase", pending_after_reset(removed_s=3.5).ends(40))) == []


def test_a_removal_that_was_lost_makes_a_pod_pending_too() -> None:
    history = pending_after_reset().gap(Channel.RUNTIME, 3.2, 6.0)
    assert told(checked("pod-phase", history.ends(40))) == []


def test_pending_without_a_removal_that_would_have_been_seen_is_a_fail() -> None:
    (finding,) = told(checked("pod-phase", pending_after_reset().ends(40)))
    assert finding.startswith("FAIL: the pod's phase was said to be Pending")


def test_a_removal_after_the_next_start_resets_nothing() -> None:
    (finding,) = told(checked("pod-phase", pending_after_reset(removed_s=9.0).ends(40)))
    assert finding.startswith("FAIL: the pod's phase was said to be Pending")


def by_journal(waited_us: int | None) -> History:
    """A container that is said to run at 2 s, and whose program stamps its start at 42 s; nothing of the runtime is seen."""
    history = History(CRASHING).without(Kind.SANDBOX).lives("app", (42.0, None, 0), runtime=False, status=False)
    history.waited_us = waited_us
    return history.counts(0.2, "app", 0, phase="Pending").counts(2.0, "app", 0).ends(80)


def test_a_program_without_a_cpu_stamps_its_start_late() -> None:
    assert told(checked("pod-phase", by_journal(950_000))) == []
    (finding,) = told(checked("pod-phase", by_journal(100_000)))
    assert finding.startswith("FAIL: the pod's phase was said to be Running")


def test_a_status_that_a_minute_without_a_cpu_held_up_is_open() -> None:
    history = History(STAYS_FAILED).lives("app", (0.5, 1.5, 1), status=False).counts(75, "app", 0, phase="Running")
    history.waited_us = 900_000
    history.counts(76, "app", 0, phase="Failed").ends(80)
    (finding,) = told(checked("pod-phase", history))
    assert finding.startswith("INCONCLUSIVE: the pod's phase was said to be Running")


@pytest.mark.parametrize(("cleared_s", "says"), [(74.0, "INCONCLUSIVE"), (50.0, "FAIL")])
def test_a_late_status_is_open_while_the_runtime_had_not_told_of_the_exit(cleared_s: float, says: str) -> None:
    history = History(STAYS_FAILED).lives("app", (0.5, 1.5, 1), status=False).counts(75, "app", 0, phase="Running")
    history.runtime(cleared_s, Kind.CLEARED, "app", "app-0").counts(76, "app", 0, phase="Failed").ends(80)
    assert [each.split(":")[0] for each in told(checked("pod-phase", history))] == [says]


def test_a_removal_without_a_rule_that_restarts_all_is_no_reason_for_pending() -> None:
    """As by `crictl rm --force`: what ran and is gone has ended, and its pod was Running."""
    history = History(CRASHING).lives("app", (0.5, 8.0, 137), (9.0, None, 0), status=False)
    history.runtime(8.05, Kind.REMOVED, "app", "app-0")
    history.counts(1.0, "app", 0).counts(8.5, "app", 0, phase="Pending").counts(9.5, "app", 1).ends(30)
    (finding,) = told(checked("pod-phase", history))
    assert finding.startswith("FAIL: the pod's phase was said to be Pending")


INITIALIZED = scenario(app(runs((2, 0), (9, 0)), name="setup", kind=ContainerKind.INIT), app())


def beside(phase: str, *running: str) -> History:
    """A status with that phase in which these containers run."""
    history = History(INITIALIZED)
    return history.status(2.0, {each: history.running(each, 0, 1.0) for each in running}, phase=phase).ends(10)


@pytest.mark.parametrize(("phase", "running"), [("Pending", ("setup",)), ("Running", ("app",)), ("Failed", ())])
def test_a_phase_that_the_containers_of_its_status_stand_for_is_right(phase: str, running: tuple[str, ...]) -> None:
    history = beside(phase, *running).counts(3, "app", 0, phase=phase)
    assert told(checked("phase-agrees", history)) == []


@pytest.mark.parametrize(
    ("phase", "of", "what"),
    [("Failed", "app", "container"), ("Succeeded", "setup", "container"), ("Running", "setup", "init container")],
)
def test_a_phase_that_a_container_of_its_own_status_contradicts_is_a_fail(phase: str, of: str, what: str) -> None:
    history = beside(phase, of)
    assert told(checked("phase-agrees", history)) == [
        f"FAIL: a status says that the pod's phase is {phase} (history line {history.line_of(Kind.STATUS)}); "
        f'its {what} "{of}" runs by it.'
    ]


@pytest.mark.parametrize(
    ("exits_s", "told_of"), [(1.99, []), (2.01, ["FAIL"]), (None, ["FAIL"])], ids=["ended", "ended later", "runs"]
)
def test_a_final_phase_beside_a_container_that_has_ended_since_the_look_is_right(
    exits_s: float | None, told_of: list[str]
) -> None:
    """The kubelet asks when it sends a status whether the pod has stopped: seen once on 1.37.2, of an ephemeral container."""
    history = beside("Failed", "app").lives("app", (0.5, exits_s, 1), status=False)
    assert [each.partition(":")[0] for each in told(checked("phase-agrees", history))] == told_of


def test_a_final_phase_beside_a_container_whose_end_nobody_could_see_is_open() -> None:
    history = beside("Failed", "app").lives("app", (0.5, None, 1), status=False).gap(Channel.RUNTIME, 1.0, 3.0)
    (finding,) = told(checked("phase-agrees", history))
    assert finding.startswith("INCONCLUSIVE: ")


@pytest.mark.parametrize(("at_s", "accused"), [(4.0, True), (6.0, False)])
def test_the_phase_of_a_pod_whose_deadline_has_passed_stays_as_it_was(at_s: float, accused: bool) -> None:
    """A RestartAllContainers had begun the initialisation again, and no final phase is stated while a container runs."""
    limited = msgspec.structs.replace(
        INITIALIZED,
        pod=msgspec.structs.replace(INITIALIZED.pod, active_deadline_s=5, restart_policy=RestartPolicy.NEVER),
    )
    history = History(limited)
    history.status(0.5, {"setup": history.running("setup", 0, 0.4)}, phase="Pending", startTime=stamp(0.0))
    history.status(at_s, {"setup": history.running("setup", 0, 0.4)}).ends(10)
    assert bool(told(checked("phase-agrees", history))) is accused


def sidecar(name: str) -> Container:
    probe = Probe(kind=ProbeKind.STARTUP, pattern="FFS", period_s=1)
    return Container(
        name=name, kind=ContainerKind.INIT, program=HOLDS, restart_policy=RestartPolicy.ALWAYS, probes=(probe,)
    )


def reset_behind(*sidecars: str, app_s: float) -> History:
    """All containers are removed at 6.3 s; the first sidecar starts again at 7 s, and each further one at 15 s."""
    history = History(scenario(*map(sidecar, sidecars), resetting(runs((3, 42)))))
    history.lives("app", (3.0, 6.0, 42), status=False)
    for number, name in enumerate(sidecars):
        history.lives(name, (0.5, 6.2, 143), status=False)
        history.lives(name, (15.0 if number else 7.0, None, 0), first=1, status=False)
    for name in ("app", *sidecars):
        history.runtime(6.3, Kind.REMOVED, name, f"{name}-0")
    return history.lives("app", (app_s, None, 0), first=1, status=False)


def said(history: History, *phases: tuple[float, str]) -> list[str]:
    for said_s, phase in ((5.0, "Running"), (6.9, "Running"), *phases):
        history.counts(said_s, "app", int(said_s > 6), phase=phase)
    history.api_controls(40).ends(40)
    found = CHECKERS["pod-phase"](case(history, deviations=frozenset({RESTART_ALL_STAYS_RUNNING})))
    return [each.partition(":")[0] for each in told(found)]


@pytest.mark.parametrize("is_answer_known", [True, False])
@pytest.mark.parametrize(("at_s", "told_of"), [(24.98, []), (19.0, ["FAIL"])], ids=["just before", "too early"])
def test_a_reset_pod_runs_from_its_sidecar_s_startup_probe_on(
    at_s: float, told_of: list[str], is_answer_known: bool
) -> None:
    """The kubelet states that before it creates the first application, as 1.37.2 did 17 ms before."""
    history = reset_behind("sidecar", app_s=25.0)
    if is_answer_known:
        history.note(24.9, "sidecar", 1, "startup.0", "S")
    assert said(history, (18.5, "Pending"), (at_s, "Running")) == told_of


@pytest.mark.parametrize(("phase", "told_of"), [("Running", []), ("Pending", ["FAIL"])])
def test_a_reset_pod_is_not_pending_any_more_once_its_sidecar_has_started(phase: str, told_of: list[str]) -> None:
    """Its application waits for its image, say."""
    history = reset_behind("sidecar", app_s=38.0).note(9.0, "sidecar", 1, "startup.0", "S")
    assert said(history, (8.0, "Pending"), (30.0, phase), (39.0, "Running")) == told_of


def test_a_reset_pod_runs_between_the_start_of_one_sidecar_and_that_of_the_next() -> None:
    history = reset_behind("first", "second", app_s=25.0)
    history.note(9.0, "first", 1, "startup.0", "S").note(24.9, "second", 1, "startup.0", "S")
    assert said(history, (8.0, "Pending"), (14.0, "Running"), (20.0, "Pending"), (26.0, "Running")) == []


def in_another_sandbox() -> History:
    """The sandbox goes at 6 s; the sidecar runs again from 8 s on, and has started at 19.9 s."""
    history = History(scenario(sidecar("sidecar"), app(HOLDS)))
    history.lives("sidecar", (1.0, 6.9, 143), (8.0, None, 0), status=False)
    history.lives("app", (3.0, 6.8, 143), (20.0, None, 0), status=False).intervention(6.0, "kill-sandbox")
    return history.note(2.9, "sidecar", 0, "startup.0", "S").note(19.9, "sidecar", 1, "startup.0", "S")


@pytest.mark.parametrize(("phase", "told_of"), [("Pending", []), ("Running", ["FAIL"])])
def test_a_pod_is_pending_until_its_sidecar_has_started_in_another_sandbox(phase: str, told_of: list[str]) -> None:
    """As of 1.33: kubernetes/kubernetes#127793."""
    assert said(in_another_sandbox(), (15.0, phase), (19.95, "Running"), (21.0, "Running")) == told_of


@pytest.mark.parametrize("is_watched", [True, False], ids=["watched", "not watched"])
def test_a_phase_that_lasts_has_to_be_said(*, is_watched: bool) -> None:
    """Also where no status comes meanwhile that says otherwise."""
    history = in_another_sandbox().counts(5.0, "app", 0).counts(19.95, "app", 0).counts(21.0, "app", 1)
    if not is_watched:
        history.gap(Channel.API, 10.0, 15.0)
    (finding,) = told(checked("pod-phase", history.api_controls(40).ends(40)))
    assert finding.startswith("FAIL: the pod was Pending for 1" if is_watched else "INCONCLUSIVE: the pod was Pending")
    assert ", and no status said so." in finding


@pytest.mark.parametrize("is_gone", [True, False], ids=["its sandbox went before its start", "its sandbox is there"])
def test_what_was_created_and_never_ran_has_ended_with_its_sandbox(*, is_gone: bool) -> None:
    history = History(CRASHING).runtime(0.5, Kind.CREATED, "app", "never-ran")
    if is_gone:
        gone = {"container_id": "sandbox-0", "phase": "exited", "exit_code": 137}
        history.add(1.0, Channel.RUNTIME, Kind.SANDBOX, gone, pod=True)
    history.counts(14.0, "app", 0, phase="Running").lives("app", (20, 21, 1), status=False).ends(40)
    found = [each for each in told(checked("pod-phase", history)) if "was said to be Running" in each]
    assert bool(found) is not is_gone


def rejected(restarted_s: float) -> History:
    """A pod that has succeeded at 1.5 s, and that the kubelet after the one of that time rejects."""
    history = History(DONE).lives("app", (0.5, 1.5, 0), status=False).counts(0.9, "app", 0)
    history.intervention(restarted_s, "restart-kubelet", ended_s=restarted_s + 2)
    history.node(restarted_s + 1, started_s=restarted_s + 1)
    history.status(restarted_s + 8, {}, phase="Failed", reason="NodeAffinity")
    return history.api_controls(40).ends(40)


def test_a_kubelet_that_was_ended_at_once_could_not_say_that_its_pod_had_succeeded() -> None:
    (finding,) = told(checked("pod-phase", rejected(2.5)))
    assert finding.startswith("INCONCLUSIVE: the pod's phase was said to be Failed (history lines")
    assert " was due. The kubelet was ended before it could state the phase (history line" in finding


def test_a_kubelet_had_the_time_to_say_that_its_pod_had_succeeded() -> None:
    (finding,) = told(checked("pod-phase", rejected(12.0)))
    assert finding.startswith("FAIL: the pod's phase was said to be Failed (history lines")
    assert finding.endswith("; Succeeded was due.")


@pytest.mark.parametrize("later", ["DeadlineExceeded", "", "Evicted"])
def test_a_pod_that_has_ended_keeps_its_reason(later: str) -> None:
    """kubernetes/kubernetes#103785."""
    history = History(CRASHING).lives("app", (1.0, 3.0, 1), status=False)
    for at_s, reason in ((4, "DeadlineExceeded"), (5, later)):
        history.status(at_s, {"app": history.exited("app", 0, 1.0, 3.0, 1)}, phase="Failed", reason=reason)
    history.ends(60)
    lines = [history.line_of(Kind.STATUS, number) for number in (0, 1)]
    given = f"{later} as the reason" if later else "no reason"
    said = (
        f"FAIL: a status gives {given} of the phase Failed (history lines {lines[0]} and {lines[1]}); "
        "it was DeadlineExceeded before."
    )
    assert told(checked("phase-agrees", history)) == ([] if later == "DeadlineExceeded" else [said])
