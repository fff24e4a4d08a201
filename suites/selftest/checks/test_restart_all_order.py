"""The start-up after RestartAllContainers, and the ephemeral containers beside it."""

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.pod import Action, Container, ContainerKind, Probe, ProbeKind, RestartPolicy, restart_in
from crashloop.spec.program import exits_with, runs
from crashloop.spec.scenario import PodScenario
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

PROBE = Probe(kind=ProbeKind.STARTUP, pattern="FFS")
RULE = (restart_in(42, action=Action.RESTART_ALL_CONTAINERS),)
NEVER = RestartPolicy.NEVER
POD = scenario(
    Container(name="setup", kind=ContainerKind.INIT, program=exits_with(0, times=2)),
    Container(name="sidecar", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS),
    app(runs((2, 42)), restart_policy=NEVER, rules=RULE),
    Container(name="debugger", kind=ContainerKind.EPHEMERAL),
    policy=NEVER,
)
STEP = "restart rule RestartAllContainers In [42] matches exit code 42"


def reset(pod: PodScenario = POD, *, setup_s: float = 6.5, sidecar_s: float = 8.0, app_s: float = 8.5) -> History:
    """Started again at these times, after an exit of "app" at 5 s."""
    history = History(pod, create_s=0.0)
    history.lives("setup", (0.5, 1.5, 0), (setup_s, setup_s + 1, 0)).lives("sidecar", (2.0, 5.5, 143))
    history.lives("sidecar", (sidecar_s, None, 0), first=1)
    history.lives("app", (3.0, 5.0, 42), (app_s, None, 0))
    return history.runtime(6.0, Kind.REMOVED, "app", "app-0")


def test_the_order_of_a_first_start_is_right() -> None:
    assert told(checked("restart-all-order", reset().ends(20))) == []


def test_a_sidecar_that_does_not_wait_for_the_init_container_before_it_is_found() -> None:
    history = reset(sidecar_s=7.0).ends(20)
    line = history.line_of(Kind.CREATED, 1, container="sidecar")
    done = history.line_of(Kind.EXITED, 1, channel=Channel.RUNTIME, container="setup")
    exited = history.line_of(Kind.EXITED, 1, container="app")
    finding = checked("restart-all-order", history).findings[0]
    assert finding.outcome is Outcome.FAIL
    assert finding.sentence == (
        f'after the exit of "app", "sidecar" was started before "setup" had run again '
        f"(history lines {exited}, {line} and {done}); {STEP}, which begins with the init containers in their order."
    )


def test_a_container_before_its_sidecar_is_found() -> None:
    assert 'FAIL: after the exit of "app", "app" was started before "sidecar" had started again' in str(
        told(checked("restart-all-order", reset(app_s=7.8).ends(20)))
    )


PROBED = scenario(
    POD.pod.containers[0],
    msgspec.structs.replace(POD.pod.containers[1], probes=(PROBE,)),
    *POD.pod.containers[2:],
    policy=NEVER,
)


@pytest.mark.parametrize(("app_s", "is_early"), [(9.9, True), (11.5, False)])
def test_a_container_before_the_startup_probe_of_its_sidecar_has_succeeded_again_is_found(
    app_s: float, is_early: bool
) -> None:
    """The success before the restart counts for nothing."""
    history = reset(PROBED, app_s=app_s)
    for life, started_s in enumerate((2.0, 8.0)):
        history.journal(started_s, Kind.STARTED, "sidecar", life)
        for number, answer in enumerate("FFS" if life else "S"):
            history.note(started_s + 0.5 + number, "sidecar", life, f"startup.{number}", answer)
    found = str(told(checked("restart-all-order", history.ends(20))))
    early = 'FAIL: after the exit of "app", "app" was started before "sidecar" had started again, by its startup probe'
    assert early in found if is_early else found == "[]"


def test_a_reset_without_a_start_is_not_enough() -> None:
    history = History(POD).lives("setup", (0.5, 1.5, 0)).lives("app", (3.0, 5.0, 42)).ends(6)
    assert told(checked("restart-all-order", history)) == [
        "INCONCLUSIVE: 0 ordered start-ups seen, 1 needed: the scenario was complete."
    ]


def test_an_ephemeral_container_that_runs_on_is_right() -> None:
    assert told(checked("ephemeral-kept", reset().lives("debugger", (1.0, None, 0)).ends(20))) == []


def test_an_ephemeral_container_that_is_ended_is_found() -> None:
    history = reset().lives("debugger", (1.0, 5.7, 143)).ends(20)
    lines = (history.line_of(Kind.EXITED, 1, container="app"), history.line_of(Kind.EXITED, 1, container="debugger"))
    assert told(checked("ephemeral-kept", history)) == [
        f'FAIL: "debugger" was ended (history lines {lines[0]} and {lines[1]}); {STEP}, which leaves ephemeral containers alone.'
    ]


def test_an_ephemeral_container_that_starts_again_is_found() -> None:
    history = reset().lives("debugger", (1.0, 5.7, 143), (8.0, None, 0)).ends(20)
    assert 'FAIL: "debugger" was started again' in str(told(checked("ephemeral-kept", history)))


def test_an_ephemeral_container_that_did_not_run_proves_nothing() -> None:
    history = reset().lives("debugger", (9.0, None, 0)).ends(20)
    assert told(checked("ephemeral-kept", history)) == [
        "INCONCLUSIVE: 0 resets beside a running ephemeral container seen, 1 needed: the scenario was complete."
    ]
