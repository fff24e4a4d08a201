"""The checker of first starts: a container starts once what stands before it lets it."""

from crashloop.history.event import Kind
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.policy import RestartPolicy
from crashloop.spec.probe import Probe, ProbeKind
from crashloop.spec.program import HOLDS, runs
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

SETUP = Container(name="setup", kind=ContainerKind.INIT, program=runs((1, 1), (1, 0)))
SIDECAR = Container(name="sidecar", kind=ContainerKind.INIT, program=HOLDS, restart_policy=RestartPolicy.ALWAYS)
IN_TURN = scenario(SETUP, SIDECAR, app(), name="in-turn")


def test_accepts_containers_that_start_in_turn() -> None:
    history = History(IN_TURN).lives("setup", (0.5, 1.5, 1), (2, 3, 0)).lives("sidecar", (4, None, 0))
    answer = checked("first-start", history.lives("app", (5, None, 0)).ends(60))
    assert told(answer) == []
    assert answer.facts == {"first_start_s": {"setup": 0.4, "sidecar": 0.9, "app": 0.9}}


def test_a_container_that_never_starts_behind_a_sidecar_is_a_fail() -> None:
    history = History(IN_TURN).lives("setup", (0.5, 1.5, 1), (2, 3, 0)).lives("sidecar", (4, None, 0)).ends(60)
    line = history.line_of(Kind.STARTED, container="sidecar")
    assert told(checked("first-start", history)) == [
        f'FAIL: "app" was not started within 56 s of what it waited for (history line {line}); 30 s is the longest.'
    ]


def test_a_container_that_starts_long_after_the_init_containers_is_a_fail() -> None:
    history = History(scenario(SETUP, app(), name="late")).lives("setup", (0.5, 1.5, 1), (2, 3, 0))
    history.lives("app", (40, None, 0)).ends(60)
    since = history.line_of(Kind.EXITED, 3, container="setup")
    began = history.line_of(Kind.CREATED, container="app")
    assert told(checked("first-start", history)) == [
        f'FAIL: "app" was started only 36.9 s after what it waited for (history lines {since} and {began}); '
        "30 s is the longest."
    ]


def test_a_container_behind_an_init_container_that_fails_is_owed_nothing() -> None:
    history = History(IN_TURN).lives("setup", (0.5, 1.5, 1), (2, 3, 1)).ends(60)
    assert told(checked("first-start", history)) == []


def test_what_a_startup_probe_holds_back_is_left_open() -> None:
    probed = Container(
        name="sidecar",
        kind=ContainerKind.INIT,
        program=HOLDS,
        restart_policy=RestartPolicy.ALWAYS,
        probes=(Probe(kind=ProbeKind.STARTUP),),
    )
    history = History(scenario(probed, app(), name="probed")).lives("sidecar", (0.5, None, 0)).ends(60)
    assert told(checked("first-start", history)) == []


def test_a_pod_without_any_start_is_judged_once_the_longest_wait_is_over() -> None:
    history = History(scenario(app(), name="none")).ends(20, "deadline")
    assert told(checked("first-start", history)) == [
        "INCONCLUSIVE: no start was seen that nothing held back: the watch ended at its deadline of 90 s."
    ]
