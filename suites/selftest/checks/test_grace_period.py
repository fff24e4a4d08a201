"""A container that ignores SIGTERM has the grace period of the probe that killed it, or of its pod."""

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import GRACE_PERIOD_S, Container, ContainerKind, Pod, Probe, ProbeKind, RestartPolicy
from crashloop.spec.program import KILLED
from crashloop.spec.scenario import PodScenario
from crashloop.verdict import Outcome
from sim.pod import stamp
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History, ns


def stubborn(*, grace_s: int | None = 8, kind: ProbeKind = ProbeKind.LIVENESS) -> Container:
    return app(probes=(Probe(kind=kind, pattern="FFF", grace_s=grace_s),), exit_code_on_term=KILLED)


def killed(exit_s: float | None, of: Container, *, ends_s: float = 60) -> History:
    """A life from 1 s on whose probe fails for the third time at 4 s, and when SIGKILL ends it."""
    history = History(scenario(of)).lives("app", (1.0, exit_s, KILLED))
    for number in range(3):
        history.note(2.0 + number, "app", 0, f"{of.probes[0].kind}.{number}", "F")
    return history.ends(ends_s)


@pytest.mark.parametrize("kind", [ProbeKind.LIVENESS, ProbeKind.STARTUP])
def test_a_kill_after_the_grace_period_of_the_probe_is_right(kind: ProbeKind) -> None:
    answer = checked("probe-grace", killed(12.3, stubborn(kind=kind)))
    assert told(answer) == []
    assert answer.facts == {"kills": 1}


def test_a_kill_after_the_grace_period_of_the_pod_is_right_where_the_probe_has_none() -> None:
    assert told(checked("probe-grace", killed(6.3, stubborn(grace_s=None)))) == []


def test_a_kill_before_the_grace_period_of_the_probe_has_passed_is_a_fail() -> None:
    history = killed(6.3, stubborn())
    lines = [history.line_of(Kind.NOTED, 2), history.line_of(Kind.EXITED, channel=Channel.RUNTIME)]
    assert told(checked("probe-grace", history)) == [
        'FAIL: "app" was ended 2.3 s after failure 3 in a row of its liveness probe '
        f"(history lines {lines[0]} and {lines[1]}); it had 8 s of grace."
    ]


def test_a_kill_long_after_the_grace_period_is_a_fail() -> None:
    history = killed(34.3, stubborn(grace_s=4))
    lines = [history.line_of(Kind.NOTED, 2), history.line_of(Kind.EXITED, channel=Channel.RUNTIME)]
    assert told(checked("probe-grace", history)) == [
        'FAIL: "app" ran on for 30.3 s after failure 3 in a row of its liveness probe '
        f"(history lines {lines[0]} and {lines[1]}); it had 4 s of grace."
    ]


def test_a_container_that_is_not_killed_is_a_fail() -> None:
    history = killed(None, stubborn())
    assert told(checked("probe-grace", history)) == [
        f'FAIL: "app" ran on for 56 s after failure 3 in a row of its liveness probe '
        f"(history line {history.line_of(Kind.NOTED, 2)}); it had 8 s of grace."
    ]


def test_a_late_kill_during_a_stall_is_inconclusive() -> None:
    history = History(scenario(stubborn(grace_s=4))).lives("app", (1.0, 30.0, KILLED)).stall(7, 20)
    for number in range(3):
        history.note(2.0 + number, "app", 0, f"liveness.{number}", "F")
    assert checked("probe-grace", history.ends(60)).outcome is Outcome.INCONCLUSIVE


def test_a_container_that_ends_on_sigterm_shows_nothing_of_a_grace_period() -> None:
    ending = app(probes=(Probe(pattern="FFF", grace_s=8),))
    assert told(checked("probe-grace", killed(4.3, ending))) == [
        "INCONCLUSIVE: 0 kills seen, 1 needed: the scenario was complete."
    ]


def test_an_end_that_may_have_gone_unseen_is_inconclusive() -> None:
    history = killed(None, stubborn()).gap(Channel.RUNTIME, 6, 8)
    unseen = f"runtime lost for 2 s (history line {history.line_of(Kind.GAP)}: 410 Gone)"
    assert told(checked("probe-grace", history)) == [
        f'INCONCLUSIVE: the end of "app" could have gone unseen: {unseen}.'
    ]


def deleted(exit_s: float | None) -> History:
    """A pod with 2 s of grace that is deleted at 5 s, and when SIGKILL ends its container."""
    history = History(scenario(stubborn(grace_s=25))).lives("app", (1.0, exit_s, KILLED)).intervention(5, "delete-pod")
    return history.ends(60)


def test_a_deletion_gives_the_grace_period_of_the_pod() -> None:
    assert told(checked("pod-grace", deleted(7.4))) == []


def test_a_deletion_that_gives_the_grace_period_of_a_probe_is_a_fail() -> None:
    history = deleted(30.4)
    line = history.line_of(Kind.EXITED, channel=Channel.RUNTIME)
    assert told(checked("pod-grace", history)) == [
        f'FAIL: "app" ran on for 25.4 s after the deletion of its pod (history line {line}); it had 2 s of grace.'
    ]


def test_a_deletion_without_grace_is_a_fail() -> None:
    history = deleted(5.2)
    line = history.line_of(Kind.EXITED, channel=Channel.RUNTIME)
    assert told(checked("pod-grace", history)) == [
        f'FAIL: "app" was ended 0.2 s after the deletion of its pod (history line {line}); it had 2 s of grace.'
    ]


@pytest.mark.parametrize("action", ["edit-static-pod", "renew-static-pod"])
def test_a_change_of_a_static_pods_file_gives_its_grace_period(action: str) -> None:
    """kubernetes/kubernetes#98103. What begins afterwards is of the pod that comes then."""
    made = scenario(app(exit_code_on_term=KILLED), owner=StaticPod())
    for exit_s, lived in ((7.4, None), (5.3, "0.3 s")):
        history = History(made).lives("app", (1.0, exit_s, KILLED), (9.0, None, 0)).intervention(5, action).ends(60)
        line = history.line_of(Kind.EXITED, channel=Channel.RUNTIME)
        said = f"after the change of the file of its pod (history line {line}); it had 2 s of grace."
        assert told(checked("pod-grace", history)) == ([f'FAIL: "app" was ended {lived} {said}'] if lived else [])


def is_to_go(*containers: Container, grace_s: int) -> PodScenario:
    """A pod that is deleted 5 s after it was created."""
    deletion = Intervention(trigger=Trigger(after_s=5), action=InterventionKind.DELETE_POD)
    pod = Pod(containers=containers, grace_s=grace_s)
    return msgspec.structs.replace(scenario(*containers), pod=pod, interventions=(deletion,))


def removed(exit_s: float, gone_s: float | None, of: Container | None = None, *, api_took_s: float = 0.03) -> History:
    """A pod with 30 s of grace that is deleted at 5 s, when its container ends, and when its object is gone."""
    history = History(is_to_go(of or app(), grace_s=30))
    ending = {"timestamp": stamp(ns(5), 30), "grace_s": 30}
    history.lives("app", (1.0, exit_s, 143), status=False).status(1.3, {"app": history.running("app", 0, 1.0)})
    said = {"resource_version": "2", "status": {"phase": "Running"}, "deletion": ending}
    history.add(5.1, Channel.API, Kind.STATUS, said, pod=True)
    if gone_s is not None:
        history.add(gone_s, Channel.API, Kind.DELETED, {"resource_version": "3"}, pod=True)
    return history.api_controls(60, took_s=api_took_s).ends(60)


def test_a_pod_that_is_gone_soon_after_its_containers_is_right() -> None:
    assert told(checked("gone", removed(5.4, 6.0))) == []


def test_a_deleted_pod_that_stays_is_a_fail() -> None:
    history = removed(5.4, None)
    assert told(checked("gone", history)) == [
        f"FAIL: a deleted pod was there 54.6 s after the end of its containers (history line {history.line_of(Kind.STATUS, 1)}); "
        "30 s is the longest."
    ]


def test_a_deleted_pod_that_stays_where_the_api_server_is_slow_is_open() -> None:
    """The kubelet writes the last statuses of its pods one after the other."""
    (sentence,) = told(checked("gone", removed(5.4, None, api_took_s=3.0)))
    assert sentence.startswith("INCONCLUSIVE: a deleted pod was there 54.6 s after the end of its containers ")


def test_a_container_that_exits_on_sigterm_and_runs_to_the_end_of_its_grace_period_is_a_fail() -> None:
    (sentence,) = told(checked("gone", removed(35.2, 36.0)))
    assert sentence.startswith("FAIL: a container ran on for 30.2 s after the deletion of its pod (history lines ")
    assert told(checked("gone", removed(35.2, 36.0, stubborn()))) == []


def test_a_container_that_ignores_sigterm_and_outlasts_its_grace_period_is_a_fail() -> None:
    (sentence,) = told(checked("gone", removed(50.0, 51.0, stubborn())))
    assert sentence.startswith("FAIL: a container ran on for 45 s after the deletion of its pod (history lines ")
    assert sentence.endswith("; 42 s is the longest.")


def by_force(exit_s: float | None, *, runs_on: bool = True) -> History:
    """A pod whose object goes at 5 s while its runtime is away until 10 s, and when its container ends."""
    history = History(is_to_go(app(), grace_s=GRACE_PERIOD_S)).lives("app", (1.0, exit_s, 143), status=False)
    history.status(1.3, {"app": history.running("app", 0, 1.0)})
    history.intervention(4.0, "restart-runtime", ended_s=10.0, down_s=6.0)
    history.add(5.1, Channel.API, Kind.DELETED, {"resource_version": "3"}, pod=True)
    history.gap(Channel.RUNTIME, 4.0, 10.5, running=["app-0"] if runs_on else [])
    return history.ends(60)


def test_a_pod_deleted_by_force_that_ends_once_its_runtime_is_back_is_right() -> None:
    assert told(checked("gone", by_force(12.0))) == []
    assert [each for each in told(checked("last-exit", by_force(12.0))) if each.startswith("FAIL")] == []


def test_a_pod_deleted_by_force_that_runs_on_is_a_fail_if_it_has_outlasted_the_gap() -> None:
    line = by_force(None).line_of(Kind.CREATED, channel=Channel.RUNTIME)
    ran_on = f"a container ran on for 50 s after its runtime and kubelet were back (history line {line}); it exits on SIGTERM."
    assert told(checked("gone", by_force(None))) == [f"FAIL: {ran_on}"]
    (sentence,) = told(checked("gone", by_force(None, runs_on=False)))
    assert sentence.startswith("INCONCLUSIVE: a container ran on for 50 s ")


def test_a_container_that_begins_after_the_end_of_its_deleted_pod_is_a_fail() -> None:
    history = History(is_to_go(app(), grace_s=GRACE_PERIOD_S)).lives(
        "app", (1.0, 5.4, 143), (6.0, 6.5, 143), status=False
    )
    history.add(5.1, Channel.API, Kind.DELETED, {"resource_version": "3"}, pod=True).ends(60)
    line = history.line_of(Kind.CREATED, 1, channel=Channel.RUNTIME)
    assert told(checked("gone", history)) == [
        f"FAIL: a container of a deleted pod began (history line {line}) after others of it were ended."
    ]


COMPANY = (
    Container(name="first", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS),
    Container(name="last", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS),
    app(),
)


def in_turn(**ends_s: float) -> History:
    """A pod of two sidecars and another container that is deleted at 5 s, and when each ends."""
    history = History(is_to_go(*COMPANY, grace_s=10))
    for each in COMPANY:
        history.lives(each.name, (1.0, ends_s[each.name], 143))
    said = {
        "resource_version": "2",
        "status": {"phase": "Running"},
        "deletion": {"timestamp": stamp(ns(5), 10), "grace_s": 10},
    }
    history.intervention(5, "delete-pod").add(5.1, Channel.API, Kind.STATUS, said, pod=True)
    return history.add(8.0, Channel.API, Kind.DELETED, {"resource_version": "3"}, pod=True).ends(20)


def test_sidecars_that_end_after_the_others_the_last_first_are_right() -> None:
    assert told(checked("gone", in_turn(app=5.2, last=5.3, first=5.4))) == []


@pytest.mark.parametrize(
    ("ends_s", "early", "late"),
    [
        ({"app": 6.2, "last": 5.3, "first": 6.4}, "last", "app"),
        ({"app": 5.2, "last": 6.4, "first": 5.4}, "first", "last"),
    ],
    ids=["before-the-application", "in-the-order-of-the-starts"],
)
def test_a_sidecar_that_ends_before_its_turn_is_a_fail(ends_s: dict[str, float], early: str, late: str) -> None:
    history = in_turn(**ends_s)
    lines = [history.line_of(Kind.EXITED, channel=Channel.RUNTIME, container=each) for each in (early, late)]
    ahead = f"{ends_s[late] - ends_s[early]:g} s before"
    assert told(checked("gone", history)) == [
        f'FAIL: sidecar "{early}" was ended {ahead} "{late}" (history lines {lines[0]} and {lines[1]}); '
        "it was to end after it."
    ]


def test_a_sidecar_waits_no_longer_than_the_grace_period() -> None:
    assert told(checked("gone", in_turn(app=14.6, last=14.2, first=14.2))) == []


def test_a_deleted_container_that_ends_sooner_than_its_pre_stop_hook_is_a_fail() -> None:
    history = removed(6.0, 8.0, app(pre_stop_s=3)).intervention(5, "delete-pod")
    line = history.line_of(Kind.EXITED, channel=Channel.RUNTIME)
    assert told(checked("gone", history)) == [
        f'FAIL: "app" ended 1 s after the deletion of its pod (history line {line}); its preStop hook takes 3 s.'
    ]
