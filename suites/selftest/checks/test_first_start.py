"""The checker of first starts: a container starts once what stands before it lets it."""

import msgspec
import pytest

from crashloop.checks.judge import run_checkers
from crashloop.history.event import Channel, Kind
from crashloop.model.variants import DOCUMENTED, NEVER_GETS_NO_SANDBOX, RULES_MATCH_KILLS
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, ContainerKind, Probe, ProbeKind, RestartPolicy, restart_in
from crashloop.spec.program import HOLDS, exits_with, runs
from suites.selftest.kit.cases import app, checked, question, scenario, told
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


@pytest.mark.parametrize(("exit_s", "findings"), [(4.0, 0), (None, 1)], ids=["had-ended", "ran"])
def test_what_waits_for_its_delay_in_another_sandbox_is_for_the_rules_of_delays(
    exit_s: float | None, findings: int
) -> None:
    lost = Intervention(trigger=Trigger(after_s=5), action=InterventionKind.KILL_SANDBOX)
    crashes = app(exits_with(1, after_s=3.0))
    history = History(msgspec.structs.replace(scenario(SETUP, crashes, name="another-sandbox"), interventions=(lost,)))
    history.lives("setup", (0.2, 0.6, 0)).lives("app", (1.0, exit_s or 5.5, 1 if exit_s else 143)).intervention(
        5.0, "kill-sandbox"
    )
    for at_s, identity, phase in ((5.1, "one", "exited"), (6.0, "two", "created"), (6.1, "two", "started")):
        history.add(at_s, Channel.RUNTIME, Kind.SANDBOX, {"container_id": identity, "phase": phase}, pod=True)
    history.lives("setup", (6.5, 7.0, 0), first=1).ends(60)
    found = [each for each in told(checked("first-start", history)) if '"app" was not started within 53' in each]
    assert len(found) == findings


@pytest.mark.parametrize(("probed", "accused"), [(True, False), (False, True)], ids=["by-a-probe", "with-it"])
def test_a_kill_that_took_the_sandbox_along_leaves_the_next_start_to_the_rules_of_delays(
    *, probed: bool, accused: bool
) -> None:
    """A probe's kill of the last container under Never ends the pod, and its rule restarts it when its delay is over."""
    probes = (Probe(fails_after_s=1),) if probed else ()
    ruled = app(runs((30, 1)), restart_policy=RestartPolicy.NEVER, rules=(restart_in(143),), probes=probes)
    history = History(scenario(ruled, name="another-sandbox")).lives("app", (2.0, 5.0, 143))
    for at_s, identity, phase in ((5.1, "one", "exited"), (6.0, "two", "created"), (6.1, "two", "started")):
        history.add(at_s, Channel.RUNTIME, Kind.SANDBOX, {"container_id": identity, "phase": phase}, pod=True)
    found = run_checkers(question(history.ends(60), "first-start"), frozenset({RULES_MATCH_KILLS}))
    assert any('"app" was not started within 54 s' in each.sentence for each in found.findings) is accused


@pytest.mark.parametrize(
    ("policy", "variants", "accused"),
    [
        (RestartPolicy.NEVER, frozenset({NEVER_GETS_NO_SANDBOX}), 0),
        (RestartPolicy.NEVER, DOCUMENTED, 1),
        (RestartPolicy.ALWAYS, frozenset({NEVER_GETS_NO_SANDBOX}), 1),
    ],
    ids=["never", "as-promised", "always"],
)
def test_a_pod_under_never_that_lost_its_sandbox_while_its_init_container_ran_is_known_to_start_nothing_more(
    policy: RestartPolicy, variants: frozenset[str], accused: int
) -> None:
    lost = Intervention(trigger=Trigger(after_s=0.3), action=InterventionKind.KILL_SANDBOX)
    one = scenario(
        Container(name="setup", kind=ContainerKind.INIT, program=exits_with(0)), SIDECAR, app(), policy=policy
    )
    history = History(msgspec.structs.replace(one, interventions=(lost,))).lives("setup", (0.2, 1.2, 0))
    history.intervention(0.3, "kill-sandbox").ends(60)
    found = run_checkers(question(history, "first-start"), variants)
    assert sum('"sidecar" was not started' in each.sentence for each in found.findings) == accused


PROBED = scenario(
    Container(
        name="sidecar",
        kind=ContainerKind.INIT,
        program=HOLDS,
        restart_policy=RestartPolicy.ALWAYS,
        probes=(Probe(kind=ProbeKind.STARTUP, pattern="FFS"),),
    ),
    app(),
    name="probed",
)


def behind_a_startup_probe(*answers: str, app_s: float | None = None) -> History:
    """A sidecar from 0.5 s on that is asked every second from 1 s on."""
    history = History(PROBED).lives("sidecar", (0.5, None, 0))
    for number, answer in enumerate(answers):
        history.note(1.0 + number, "sidecar", 0, f"startup.{number}", answer)
    return history if app_s is None else history.lives("app", (app_s, None, 0))


def test_accepts_a_start_behind_a_startup_probe_that_has_succeeded() -> None:
    answer = checked("first-start", behind_a_startup_probe("F", "F", "S", app_s=3.5).ends(60))
    assert told(answer) == []
    assert set(answer.facts["first_start_s"]) == {"sidecar", "app"}


def test_what_a_startup_probe_holds_back_without_a_success_is_owed_nothing() -> None:
    assert told(checked("first-start", behind_a_startup_probe("F", "F").ends(60))) == []


def test_a_start_before_the_success_of_a_startup_probe_is_a_fail() -> None:
    history = behind_a_startup_probe("F", "F", "S", app_s=2.5).ends(60)
    began = history.line_of(Kind.CREATED, container="app")
    success = history.line_of(Kind.NOTED, 2, container="sidecar")
    assert told(checked("first-start", history)) == [
        f'FAIL: "app" was started before the startup probe of "sidecar" had succeeded (history lines {began} and {success}).'
    ]


def test_a_start_long_after_the_success_of_a_startup_probe_is_a_fail() -> None:
    history = behind_a_startup_probe("F", "F", "S").ends(60)
    since = history.line_of(Kind.NOTED, 2, container="sidecar")
    assert told(checked("first-start", history)) == [
        f'FAIL: "app" was not started within 57 s of what it waited for (history line {since}); 30 s is the longest.'
    ]


def test_a_pod_without_any_start_is_judged_once_the_longest_wait_is_over() -> None:
    history = History(scenario(app(), name="none")).ends(20, "deadline")
    assert told(checked("first-start", history)) == [
        "INCONCLUSIVE: 0 starts that nothing held back seen, 1 needed: the watch ended at its deadline of 90 s."
    ]
