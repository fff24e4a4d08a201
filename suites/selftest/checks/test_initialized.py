"""The conditions of a pod that say that its init containers are done, and that its sandbox is there."""

from typing import Any

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.pod import Container, ContainerKind, Probe, ProbeKind, RestartPolicy
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with, runs
from crashloop.spec.scenario import Mode
from suites.selftest.kit.cases import MAX_2S, app, checked, scenario, told
from suites.selftest.kit.histories import History

CRASHES = exits_with(1, times=3)
SETUP = app(runs((1, 0)), name="setup", kind=ContainerKind.INIT)
SIDECAR = app(CRASHES, name="sidecar", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS)
PROBED = msgspec.structs.replace(SIDECAR, probes=(Probe(kind=ProbeKind.STARTUP, pattern="FFS"),))
RESET_OFF = KubeletProfile(
    name="max-2s", config={**MAX_2S.config, "featureGates": {"RestartAllContainersOnContainerExits": False}}
)

WAITS: dict[str, Any] = {"state": {"waiting": {"reason": "PodInitializing"}}, "restartCount": 0}
BACKS_OFF: dict[str, Any] = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 2}
RUNS: dict[str, Any] = {"state": {"running": {}}, "restartCount": 2, "ready": True, "started": True}
ENDED: dict[str, Any] = {"state": {"terminated": {"exitCode": 1}}, "restartCount": 2}
DONE: dict[str, Any] = {"state": {"terminated": {"exitCode": 0}}, "restartCount": 0, "ready": True}


def said(
    *statuses: tuple[bool, dict[str, Any]], inits: tuple[Container, ...] = (SETUP, SIDECAR), **more: Any
) -> History:
    """Statuses one second apart, each with Initialized and the containers that have changed."""
    history = History(scenario(*inits, app(CRASHES))).lives("app", (1.0, None, 0), status=False)
    for number, (stated, containers) in enumerate(statuses, start=2):
        named = {name: {"name": name} | state for name, state in containers.items()}
        history.status(number, named, conditions=[{"type": "Initialized", "status": str(stated)}], **more)
    return history.ends(60)


FIRST = (False, {"setup": WAITS, "sidecar": WAITS, "app": WAITS})
READY = (True, {"setup": DONE, "sidecar": RUNS})


def test_a_pod_that_is_initialized_once_its_init_containers_are_done_is_right() -> None:
    down = (True, {"sidecar": BACKS_OFF, "app": BACKS_OFF})
    answer = checked("initialized", said(FIRST, (False, {"setup": DONE}), READY, (True, {"app": RUNS}), down))
    assert told(answer) == []
    assert answer.facts == {"statuses": 5, "after_restart": 1, "before": 2}


def test_a_pod_without_init_containers_is_initialized() -> None:
    history = said((True, {"app": WAITS}), (False, {"app": BACKS_OFF}), inits=())
    assert told(checked("initialized", history)) == [
        f"FAIL: a status says that Initialized of the pod is False (history line {history.line_of(Kind.STATUS, 1)}); "
        "it has no init containers."
    ]


@pytest.mark.parametrize("state", [RUNS, ENDED])
def test_a_restarted_container_makes_no_pod_uninitialized(state: dict[str, Any]) -> None:
    history = said(FIRST, READY, (False, {"sidecar": BACKS_OFF, "app": state}))
    assert told(checked("initialized", history)) == [
        f"FAIL: a status says that Initialized of the pod is False (history line {history.line_of(Kind.STATUS, 2)}); "
        '"app" has started.'
    ]


def test_a_pod_whose_containers_are_all_down_stays_initialized_where_all_can_restart() -> None:
    history = said(FIRST, READY, (False, {"sidecar": BACKS_OFF, "app": BACKS_OFF}))
    lines = [history.line_of(Kind.STATUS, number) for number in (1, 2)]
    assert told(checked("initialized", history)) == [
        f"FAIL: a status says that Initialized of the pod is False (history lines {lines[0]} and {lines[1]}); "
        "it was True before."
    ]
    assert told(checked("initialized", history, RESET_OFF)) == []


def test_a_pod_that_is_initialized_before_its_init_containers_is_a_fail() -> None:
    history = said((True, FIRST[1]))
    assert told(checked("initialized", history)) == [
        f"FAIL: a status says that Initialized of the pod is True (history line {history.line_of(Kind.STATUS)}); "
        '"setup" is not done.'
    ]


def test_init_containers_that_may_have_been_done_before_accuse_nobody() -> None:
    """A pod that has lost its sandbox runs them again."""
    history = said((True, FIRST[1]))
    history.add(0.9, Channel.RUNTIME, Kind.SANDBOX, {"container_id": "sandbox-1", "phase": "created"}, pod=True)
    assert told(checked("initialized", history)) == []


def test_a_sidecar_that_has_run_may_have_made_the_pod_initialized_before() -> None:
    """A slow API server may never have shown that."""
    history = said((True, {"setup": DONE, "sidecar": BACKS_OFF, "app": BACKS_OFF})).lives(
        "sidecar", (0.5, 0.9, 1), status=False
    )
    assert told(checked("initialized", history)) == []


def test_a_success_of_a_startup_probe_may_be_written_before_the_condition() -> None:
    assert told(checked("initialized", said(FIRST, (False, READY[1]), inits=(SETUP, PROBED)))) == []
    assert "its init containers are done" in told(checked("initialized", said(FIRST, (False, READY[1]))))[0]


@pytest.mark.parametrize("stated", ["Unknown", "False"])
def test_a_pod_that_is_not_said_to_be_scheduled_is_a_fail(stated: str) -> None:
    conditions = [{"type": "Initialized", "status": "True"}, {"type": "PodScheduled", "status": stated}]
    history = History(scenario(app(CRASHES))).lives("app", (1.0, None, 0), status=False)
    history.status(2, {"app": {"name": "app"} | RUNS}, conditions=conditions).ends(60)
    assert told(checked("initialized", history))[0] == (
        f"FAIL: a status does not say that PodScheduled of the pod is True (history line {history.line_of(Kind.STATUS)}); "
        "its kubelet has it."
    )


def test_a_pod_that_has_ended_is_not_judged() -> None:
    history = said((False, {"app": ENDED}), phase="Failed")
    assert "INCONCLUSIVE: 0 statuses with Initialized seen, 1 needed" in told(checked("initialized", history))[0]


def test_a_pod_that_loses_its_address_as_it_ends_is_a_fail() -> None:
    history = History(scenario(app(CRASHES))).lives("app", (1.0, 3.0, 0), status=False)
    initialized: dict[str, Any] = {"conditions": [{"type": "Initialized", "status": "True"}]}
    history.status(2, {"app": {"name": "app"} | RUNS}, podIP="10.0.0.1", **initialized)
    history.status(4, {"app": {"name": "app"} | ENDED}, phase="Failed", podIP="10.0.0.1", **initialized)
    assert told(checked("initialized", history)) == []
    history.status(5, {"app": {"name": "app"} | ENDED}, phase="Failed", podIP="", **initialized).ends(60)
    lines = [history.line_of(Kind.STATUS, number) for number in (1, 2)]
    assert told(checked("initialized", history)) == [
        f"FAIL: a status does not say which address the pod has (history lines {lines[0]} and {lines[1]}); it had one before."
    ]


def test_a_kubelet_that_restarts_may_have_forgotten_an_address() -> None:
    history = History(scenario(app(CRASHES))).lives("app", (1.0, 3.0, 0), status=False)
    for second, address in ((2, "10.0.0.1"), (5, "")):
        history.status(second, {"app": {"name": "app"} | ENDED}, podIP=address, conditions=[])
    history.intervention(3, "restart-kubelet").ends(60)
    assert not any("address" in each for each in told(checked("initialized", history)))


@pytest.mark.parametrize("lost", [False, True])
def test_a_collector_that_removes_the_sandbox_takes_the_address_along(lost: bool) -> None:
    history = History(scenario(app(CRASHES))).lives("app", (1.0, 3.0, 0), status=False)
    for second, address in ((4, "10.0.0.1"), (5, "")):
        history.status(second, {"app": {"name": "app"} | ENDED}, phase="Failed", podIP=address, conditions=[])
    if lost:
        history.gap(Channel.RUNTIME, 4.2, 4.8)
    else:
        history.add(4.5, Channel.RUNTIME, Kind.SANDBOX, {"container_id": "sandbox-0", "phase": "removed"}, pod=True)
    assert not any("address" in each for each in told(checked("initialized", history.ends(60))))


def test_a_sandbox_that_is_removed_later_is_no_reason_for_a_lost_address() -> None:
    history = History(scenario(app(CRASHES))).lives("app", (1.0, 3.0, 0), status=False)
    for second, address in ((4, "10.0.0.1"), (5, "")):
        history.status(second, {"app": {"name": "app"} | ENDED}, phase="Failed", podIP=address, conditions=[])
    gone = {"container_id": "sandbox-0", "phase": "removed"}
    history.add(5.5, Channel.RUNTIME, Kind.SANDBOX, gone, pod=True).ends(60)
    assert "address" in told(checked("initialized", history))[0]


def sandboxed(*stated: tuple[float, bool], patched_s: float = 20, **ended: float) -> History:
    """A pod whose sandbox starts after 1 s, statuses with the condition, and patches that show how soon one can come."""
    history = History(scenario(app(), mode=Mode.ANNOTATED)).api_controls(patched_s)
    for phase, at_s in {"started": 1.0, **ended}.items():
        history.add(at_s, Channel.RUNTIME, Kind.SANDBOX, {"container_id": "sandbox-0", "phase": phase}, pod=True)
    for at_s, is_ready in stated:
        condition = {"type": "PodReadyToStartContainers", "status": str(is_ready)}
        history.status(at_s, {"app": {"name": "app"} | WAITS}, conditions=[condition], phase="Pending")
    return history.ends(20)


def test_a_pod_whose_sandbox_is_stated_while_its_image_is_pulled_is_right() -> None:
    answer = checked("ready-to-start", sandboxed((0.5, False), (1.2, True), (9.0, True)))
    assert told(answer) == []
    assert answer.facts == {"sandboxes": 1, "longest_s": 0.2}


def test_a_pod_whose_sandbox_is_stated_when_its_image_is_there_is_a_fail() -> None:
    """kubernetes/kubernetes#134460."""
    history = sandboxed((0.5, False), (9.0, True))
    lines = history.line_of(Kind.SANDBOX, 1), history.line_of(Kind.STATUS, 1)
    assert told(checked("ready-to-start", history)) == [
        "FAIL: PodReadyToStartContainers of the pod was said to be True 8 s after its sandbox had started "
        f"(history lines {lines[0]} and {lines[1]}); 2.369 s was the longest."
    ]


def test_a_pod_whose_sandbox_is_never_stated_is_a_fail() -> None:
    history = sandboxed((0.5, False))
    assert told(checked("ready-to-start", history)) == [
        "FAIL: PodReadyToStartContainers of the pod was not said to be True for 19 s after its sandbox had started "
        f"(history line {history.line_of(Kind.SANDBOX, 1)}); 2.379 s was the longest."
    ]


def test_a_sandbox_that_is_gone_soon_needs_no_statement() -> None:
    history = sandboxed((0.5, False), (9.0, True), exited=2.0)
    assert told(checked("ready-to-start", history)) == [
        "INCONCLUSIVE: 0 starts of a sandbox that was stated seen, 1 needed: the scenario was complete."
    ]


def test_what_stands_of_the_sandbox_before_is_a_statement() -> None:
    assert told(checked("ready-to-start", sandboxed((0.5, True), (9.0, True)))) == []


def test_a_sandbox_whose_statement_a_lost_watch_may_have_swallowed_is_open() -> None:
    history = sandboxed((0.5, False), (9.0, True)).gap(Channel.API, 1.1, 1.3)
    assert "The watch was lost meanwhile" in told(checked("ready-to-start", history))[0]


def test_a_sandbox_beside_a_slow_api_server_may_be_stated_late() -> None:
    history = sandboxed((0.5, False), (9.0, True), patched_s=0)
    assert told(checked("ready-to-start", history)) == []


@pytest.mark.parametrize(
    ("version", "gates"), [("1.35.9", {}), ("1.36.0", {"PodReadyToStartContainersCondition": False})], ids=str
)
def test_a_kubelet_that_states_sandboxes_with_the_next_sync_is_not_judged(version: str, gates: dict[str, bool]) -> None:
    profile = KubeletProfile(name="max-2s", config={**MAX_2S.config, "featureGates": gates}, kubernetes_version=version)
    answer = checked("ready-to-start", sandboxed((0.5, False), (9.0, True)), profile)
    assert "INCONCLUSIVE: 0 starts" in told(answer)[0]
