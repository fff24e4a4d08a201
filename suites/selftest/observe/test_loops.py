"""Waits of crash loops are read from what statuses say, and what they do not say is not made up."""

import pytest

from crashloop.inference.loops import CrashLoops, LeftOut, StatedDelay, Wait
from suites.selftest.kit.observed_loops import ZERO_S, Json, pod, running, status, terminated, waiting


def waits(*statements: object, since_s: float = 0.0) -> list[tuple[int, int, int, bool, bool]]:
    """Restart, seconds, run before, seen whole and disturbed of every wait of the one loop."""
    loops = CrashLoops(since_s=ZERO_S + since_s)
    for each in statements:
        loops.take(each)  # type: ignore[arg-type]
    (found,) = loops.by_node()["worker"]
    return [(each.restart, each.seconds, each.ran_s, each.seen_whole, each.disturbed) for each in found.waits]


def test_a_running_container_tells_of_the_wait_before_its_start() -> None:
    assert waits(pod(status(3, running(50), terminated(20, 30)))) == [(3, 20, 10, True, False)]


def test_a_terminated_container_tells_of_the_wait_before_its_start_as_well() -> None:
    assert waits(pod(status(3, terminated(50, 51), terminated(20, 30)))) == [(3, 20, 10, True, False)]


def test_a_waiting_container_tells_of_no_wait_yet() -> None:
    said = pod(status(3, waiting("CrashLoopBackOff"), terminated(20, 30)))
    loops = CrashLoops(since_s=ZERO_S)
    loops.take(said)
    assert loops.by_node() == {}


def test_statements_that_repeat_a_wait_add_none() -> None:
    first = pod(status(3, running(50), terminated(20, 30)))
    again = pod(status(3, terminated(50, 60), terminated(20, 30)))
    assert len(waits(first, again, first)) == 1


def test_a_wait_that_began_before_we_looked_was_not_seen_whole() -> None:
    assert waits(pod(status(3, running(50), terminated(20, 30))), since_s=31) == [(3, 20, 10, False, False)]


@pytest.mark.parametrize("reason", ["CreateContainerConfigError", "ErrImagePull", "ImagePullBackOff"])
def test_a_failed_start_attempt_disturbs_the_wait_that_it_falls_into_and_no_other(reason: str) -> None:
    assert waits(
        pod(status(3, waiting(reason), terminated(20, 30))),
        pod(status(4, running(90), terminated(20, 30))),
        pod(status(5, running(200), terminated(90, 91))),
    ) == [(4, 60, 10, True, True), (5, 109, 1, True, False)]


@pytest.mark.parametrize(
    "change", [{"image": "i:2"}, {"resources": {"requests": {"cpu": "60m"}}}], ids=lambda c: next(iter(c))
)
def test_a_changed_container_has_a_new_counter(change: Json) -> None:
    assert waits(
        pod(status(3, running(50), terminated(20, 30))),
        pod(status(4, running(61), terminated(50, 60)), container=change),
    ) == [(3, 20, 10, True, False), (4, 1, 10, True, True)]


@pytest.mark.parametrize(
    "container",
    [
        {"livenessProbe": {"exec": {}, "failureThreshold": 2, "periodSeconds": 5}},
        {"startupProbe": {"exec": {}, "failureThreshold": 1, "initialDelaySeconds": 10}},
        {"restartPolicyRules": [{"action": "RestartAllContainers"}]},
    ],
    ids=["liveness", "startup", "restart-all"],
)
def test_containers_whose_restarts_need_not_wait_are_left_out_and_counted(container: Json) -> None:
    loops = CrashLoops(since_s=ZERO_S)
    for _ in range(2):
        loops.take(pod(status(3, running(50), terminated(20, 30)), container=container))
    assert loops.by_node() == {}
    assert sum(loops.left_out.values()) == 1


def test_restart_rules_that_restart_one_container_are_like_any_other_restart() -> None:
    rules: Json = {"restartPolicyRules": [{"action": "Restart"}], "restartPolicy": "Never"}
    assert len(waits(pod(status(3, running(50), terminated(20, 30)), container=rules))) == 1


@pytest.mark.parametrize(
    ("state", "last"),
    [
        (running(50), {"terminated": {"exitCode": 137, "reason": "RestartingAllContainers"}}),
        (
            {"terminated": {"exitCode": 128, "reason": "StartError", "startedAt": "1970-01-01T00:00:00Z"}},
            terminated(1, 2),
        ),
        (running(20), terminated(29, 30)),
        ({"running": {"startedAt": "yesterday"}}, terminated(1, 2)),
        ({"running": {}}, terminated(1, 2)),
    ],
    ids=["no-times", "never-started", "backwards", "no-time", "no-start"],
)
def test_what_makes_no_sense_is_no_wait(state: Json, last: Json) -> None:
    loops = CrashLoops(since_s=ZERO_S)
    loops.take(pod(status(3, state, last)))
    assert loops.by_node() == {}


def test_waits_that_follow_each_other_form_chains() -> None:
    loops = CrashLoops(since_s=ZERO_S)
    for restart in (3, 4, 7, 8, 9, 12):
        loops.take(pod(status(restart, running(restart * 100), terminated(restart * 100 - 60, restart * 100 - 50))))
    (loop,) = loops.by_node()["worker"]
    assert [[wait.restart for wait in chain] for chain in loop.chains] == [[3, 4], [7, 8, 9], [12]]


@pytest.mark.parametrize(
    ("ran_s", "seconds", "forgets"), [(500, 80, False), (500, 90, True), (601, 0, True), (10, 300, False)]
)
def test_a_counter_may_be_lost_once_run_and_wait_come_near_ten_minutes(ran_s: int, seconds: int, forgets: bool) -> None:
    assert Wait(restart=5, seconds=seconds, ran_s=ran_s, started_s=0, seen_whole=True).may_forget is forgets


def test_pods_without_a_node_and_containers_without_a_restart_are_no_loops() -> None:
    loops = CrashLoops(since_s=ZERO_S)
    loops.take(pod(status(0, running(50))))
    loops.take(pod(status(3, running(50), terminated(20, 30)), node=""))
    assert loops.by_node() == {}


PATIENT = {"livenessProbe": {"exec": {}, "initialDelaySeconds": 60}, "startupProbe": {"exec": {}}}


def test_a_life_that_is_too_short_for_any_probe_of_its_container_is_one_of_its_own() -> None:
    assert waits(pod(status(3, running(50), terminated(20, 30)), container=PATIENT)) == [(3, 20, 10, True, False)]


def test_a_life_that_a_probe_may_have_ended_and_a_free_restart_after_it_are_no_evidence() -> None:
    assert waits(
        pod(status(3, running(50), terminated(20, 30)), container=PATIENT),
        pod(status(4, running(90), terminated(50, 80)), container=PATIENT),
        pod(status(5, running(92), terminated(90, 91)), container=PATIENT),
        pod(status(6, running(104), terminated(92, 93)), container=PATIENT),
    ) == [(3, 20, 10, True, False), (4, 10, 30, True, True), (5, 1, 1, True, True), (6, 11, 1, True, False)]


def test_a_sidecar_is_a_crash_loop_like_any_other() -> None:
    sidecar = ({"name": "proxy", "restartPolicy": "Always"}, status(3, running(50), terminated(20, 30), name="proxy"))
    loops = CrashLoops(since_s=ZERO_S)
    loops.take(pod(status(0, running(50)), init=sidecar))
    assert [(loop.container, len(loop.waits)) for loop in loops.by_node()["worker"]] == [("proxy", 1)]


def test_an_init_container_is_counted_and_not_used() -> None:
    loops = CrashLoops(since_s=ZERO_S)
    loops.take(pod(init=({"name": "setup"}, status(3, running(50), terminated(20, 30), name="setup"))))
    assert (loops.by_node(), loops.left_out) == ({}, {LeftOut.INIT: 1})


@pytest.mark.parametrize(
    ("message", "stated"),
    [
        ("back-off 5m0s restarting failed container=app pod=web_ns(uid-web)", (StatedDelay(4, 300.0),)),
        ("back-off 2.5s restarting failed container=app pod=web_ns(uid-web)", (StatedDelay(4, 2.5),)),
        ("back-off soon restarting failed container=app", ()),
        ('Back-off pulling image "i:1"', ()),
        ("", ()),
    ],
)
def test_the_delay_that_the_kubelet_states_is_kept(message: str, stated: tuple[StatedDelay, ...]) -> None:
    loops = CrashLoops(since_s=ZERO_S)
    loops.take(pod(status(3, waiting("CrashLoopBackOff", message), terminated(20, 30))))
    assert tuple(each for loop in loops.by_node().get("worker", ()) for each in loop.stated) == stated
    assert (loops.restarting, loops.waiting) == (1, 1)
