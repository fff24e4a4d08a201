"""The simulated kubelet restarts what policies and rules say, and states phases and container states as kubelets do."""

from itertools import groupby
from random import Random

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.history.statuses import READY_TO_START
from crashloop.spec.dependency import PullPolicy, RegistryImage
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import (
    Action,
    Container,
    ContainerKind,
    Probe,
    ProbeKind,
    RestartPolicy,
    RestartRule,
    restart_in,
    restart_not_in,
)
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.version import KubernetesVersion
from sim import simulate
from sim.faults.statement import StatementFault
from sim.host import HOSTS, SLOW_HOSTS
from suites.selftest.kit import sim_kit as sim
from suites.selftest.kit.rich_scenarios import rich_case

ALWAYS, ON_FAILURE, NEVER = RestartPolicy

# container's policy, pod's policy, exit code: restarted (kubelet-semantics 4.2)
POLICIES = [
    (None, ALWAYS, 0, True),
    (None, ALWAYS, 1, True),
    (None, ON_FAILURE, 0, False),
    (None, ON_FAILURE, 1, True),
    (None, NEVER, 0, False),
    (None, NEVER, 1, False),
    (ALWAYS, NEVER, 0, True),
    (ON_FAILURE, NEVER, 1, True),
    (ON_FAILURE, ALWAYS, 0, False),
    (NEVER, ALWAYS, 1, False),
]


@pytest.mark.parametrize(
    ("own", "pods", "exit_code", "again"), POLICIES, ids=[f"{own}-{pods}-{code}" for own, pods, code, _ in POLICIES]
)
def test_the_containers_policy_decides_before_the_pods(
    own: RestartPolicy | None, pods: RestartPolicy, exit_code: int, again: bool
) -> None:
    app = Container(program=runs((1, exit_code)), restart_policy=own)
    events = sim.simulated(sim.pod_of(app, restart_policy=pods, watch_s=30), "2s")
    assert sim.starts(events) == 1 + again
    ended = "Succeeded" if exit_code == 0 else "Failed"
    assert sim.phases(events) == (["Pending", "Running"] if again else ["Pending", "Running", ended])


RULES = [
    ("in", (restart_in(42),), 42, True),
    ("in, another code", (restart_in(42),), 43, False),
    ("not-in", (restart_not_in(42),), 43, True),
    ("not-in, its code", (restart_not_in(42),), 42, False),
    ("empty in", (restart_in(),), 42, False),
    ("empty not-in", (restart_not_in(),), 42, True),
    ("second rule", (restart_in(1), restart_in(42)), 42, True),
    ("exit 0", (restart_in(0),), 0, True),
]


@pytest.mark.parametrize(("rules", "exit_code", "again"), [row[1:] for row in RULES], ids=[row[0] for row in RULES])
def test_a_rule_that_matches_restarts_a_container_under_never(
    rules: tuple[RestartRule, ...], exit_code: int, again: bool
) -> None:
    app = Container(program=runs((1, exit_code)), restart_policy=NEVER, rules=rules)
    events = sim.simulated(sim.pod_of(app, restart_policy=NEVER, watch_s=30), "2s")
    assert sim.starts(events) == 1 + again


def test_rules_do_nothing_where_their_gate_is_off() -> None:
    app = Container(program=runs((1, 42)), restart_policy=NEVER, rules=(restart_in(42),))
    scenario = sim.pod_of(app, restart_policy=NEVER, watch_s=30)
    off = {"ContainerRestartRules": False, "RestartAllContainersOnContainerExits": False}
    assert sim.starts(sim.simulated(scenario, "2s", gates=off)) == 1


def test_init_containers_run_in_order_and_once() -> None:
    def setup(name: str) -> Container:
        return Container(name=name, kind=ContainerKind.INIT, program=runs((1, 0)))

    events = sim.simulated(
        sim.pod_of(setup("one"), setup("two"), Container(program=exits_with(1, times=2)), restarts={"app": 2}), "2s"
    )
    started = [event.container for event in sim.of(events, Channel.RUNTIME, Kind.STARTED)]
    assert started == ["one", "two", "app", "app", "app"]


def test_an_init_container_that_fails_for_good_fails_the_pod() -> None:
    setup = Container(name="setup", kind=ContainerKind.INIT, program=runs((1, 1)), restart_policy=NEVER)
    events = sim.simulated(sim.pod_of(setup, Container(program=HOLDS), watch_s=30))
    assert sim.starts(events) == 0
    assert sim.phases(events) == ["Pending", "Failed"]


def test_a_sidecar_crashes_beside_its_pod_and_ends_with_it() -> None:
    sidecar = Container(name="sidecar", kind=ContainerKind.INIT, restart_policy=ALWAYS, program=exits_with(1, times=2))
    events = sim.simulated(
        sim.pod_of(sidecar, Container(program=runs((20, 0))), restart_policy=NEVER, watch_s=60), "2s"
    )
    assert sim.starts(events, "sidecar") == 3
    assert sim.starts(events) == 1
    assert sim.of(events, Channel.RUNTIME, Kind.EXITED, container="sidecar")[-1].data["exit_code"] == 143
    assert sim.phases(events) == ["Pending", "Running", "Succeeded"]


RESTART_ALL = Container(
    program=runs((3, 42)),
    restart_policy=NEVER,
    rules=(restart_in(42, action=Action.RESTART_ALL_CONTAINERS),),
)


def test_restart_all_containers_restarts_all_in_one_sandbox() -> None:
    setup = Container(name="setup", kind=ContainerKind.INIT, program=runs((1, 0), (1, 0)))
    scenario = sim.pod_of(
        setup, RESTART_ALL, Container(name="neighbour"), restart_policy=NEVER, restarts={"app": 1, "neighbour": 1}
    )
    events = sim.simulated(scenario)
    started = [event.container for event in sim.of(events, Channel.RUNTIME, Kind.STARTED)]
    assert started == ["setup", "app", "neighbour"] * 2
    assert len({event.data["container_id"] for event in sim.of(events, Channel.RUNTIME, Kind.SANDBOX)}) == 1
    (last,) = sim.container_states(events, "neighbour")[-1:]
    assert last["restartCount"] == 1
    assert last["lastState"]["terminated"]["exitCode"] == 137


def test_restart_all_containers_knows_no_delay() -> None:
    app = Container(
        program=exits_with(88, times=8),
        restart_policy=NEVER,
        rules=(restart_in(88, action=Action.RESTART_ALL_CONTAINERS),),
    )
    events = sim.simulated(sim.pod_of(app, restarts={"app": 8}))
    assert max(sim.delays_s(events)) < 3
    assert sim.restart_counts(events)[-1] == 8


def test_liveness_kills_are_free_twice_and_then_alternate_at_the_cap() -> None:
    """kubelet-semantics 1.7: the exit before counts, so at a maximum of 10 s and lives of 5 s it is 0, 0, 10, 0, 10."""
    app = Container(program=HOLDS, probes=(Probe(fails_after_s=3.0, failure_threshold=2),))
    delays = sim.delays_s(sim.simulated(sim.pod_of(app, restarts={"app": 6}), "10s"))
    assert [delay >= 10 for delay in delays] == [False, False, True, False, True, False]


def test_a_startup_probe_that_succeeded_never_kills() -> None:
    app = Container(program=HOLDS, probes=(Probe(kind=ProbeKind.STARTUP, fails_after_s=3.0),))
    assert sim.starts(sim.simulated(sim.pod_of(app, watch_s=60))) == 1


def test_a_never_container_that_a_rule_restarts_after_a_liveness_kill_hangs() -> None:
    """kubelet-semantics 7.2: the pod is killed, its next look wants a restart, and Never forbids a second sandbox."""
    app = Container(program=HOLDS, restart_policy=NEVER, rules=(restart_in(143),), probes=(Probe(fails_after_s=2.0),))
    events = sim.simulated(sim.pod_of(app, restart_policy=NEVER, watch_s=90))
    assert sim.starts(events) == 1
    assert sim.phases(events) == ["Pending", "Running"]


def test_a_backoff_is_stated_one_sync_later() -> None:
    events = sim.simulated(sim.crashing(2), "10s")
    states = [next(iter(each["state"])) for each in sim.container_states(events)]
    # The first one is stated once more, with its sandbox.
    assert states == ["waiting", "waiting", "running", "terminated", "running", "terminated", "waiting", "running"]
    waiting = sim.container_states(events)[6]
    assert waiting["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert waiting["state"]["waiting"]["message"].startswith("back-off 10s restarting failed container=app")
    assert waiting["lastState"]["terminated"]["exitCode"] == 1


@pytest.mark.parametrize(("release", "waiting"), [(35, ["False"]), (36, ["False", "True"])])
def test_a_sandbox_is_stated_before_the_image_is_there_from_1_36_on(release: int, waiting: list[str]) -> None:
    slow = Container(program=HOLDS, image=RegistryImage(policy=PullPolicy.ALWAYS, answers_after_s=4.0))
    history = sim.simulated(sim.pod_of(slow, watch_s=20), version=KubernetesVersion(1, release, 0))
    began = next(each.t_ns for each in history if each.kind is Kind.CREATED and each.container)
    statuses = [each.data["status"] for each in sim.of(history, Channel.API, Kind.STATUS) if each.t_ns < began]
    said = [each["status"] for status in statuses for each in status["conditions"] if each["type"] == READY_TO_START]
    assert said == waiting


def test_only_failures_in_a_row_kill() -> None:
    spared = sim.simulated(sim.pod_of(Container(probes=(Probe(pattern="FFS"),)), watch_s=30))
    assert sim.starts(spared) == 1
    killed = sim.simulated(sim.pod_of(Container(probes=(Probe(pattern="FFSFFF"),)), restarts={"app": 1}))
    assert sim.starts(killed) == 2


def test_a_container_is_ready_while_its_readiness_probe_succeeds() -> None:
    probe = Probe(kind=ProbeKind.READINESS, pattern="FF" + "S" * 5 + "F" * 20)
    history = sim.simulated(sim.pod_of(Container(probes=(probe,)), watch_s=25))
    said = [each["ready"] for each in sim.container_states(history)]
    assert [ready for ready, before in zip(said, [None, *said], strict=False) if ready is not before] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("policy", "times"), [(RestartPolicy.ON_FAILURE, 2), (RestartPolicy.NEVER, 3)], ids=["on-failure", "never"]
)
def test_success_under_on_failure_gets_no_second_sandbox_though_a_rule_restarts_it(
    policy: RestartPolicy, times: int
) -> None:
    app = Container(program=exits_with(0, times=2), restart_policy=policy, rules=(restart_in(0),))
    kill = Intervention(
        trigger=Trigger(container="app", after_restart=1, after_s=4), action=InterventionKind.KILL_SANDBOX
    )
    history = sim.simulated(sim.pod_of(app, watch_s=60, interventions=(kill,)))
    assert (sim.starts(history), sim.phases(history)[-1]) == (times, "Running")


def test_a_pod_under_never_gets_no_second_sandbox() -> None:
    kill = Intervention(trigger=Trigger(after_s=5), action=InterventionKind.KILL_SANDBOX)
    app = Container(restart_policy=RestartPolicy.ALWAYS)
    for policy, times in ((RestartPolicy.NEVER, 1), (RestartPolicy.ALWAYS, 2)):
        history = sim.simulated(sim.pod_of(app, watch_s=30, restart_policy=policy, interventions=(kill,)))
        assert (sim.starts(history), sim.phases(history)[-1]) == (times, "Running")


@pytest.mark.parametrize(
    ("faults", "phases"),
    [((), ["Running"]), ((StatementFault.PENDING_WITHOUT_RECORD,), ["Running", "Pending", "Running"])],
    ids=["right", "faulty"],
)
def test_a_container_that_the_runtime_has_forgotten_has_ended(
    faults: tuple[StatementFault, ...], phases: list[str]
) -> None:
    remove = Intervention(
        trigger=Trigger(after_s=5), action=InterventionKind.REMOVE_CONTAINER, arguments={"container": "app"}
    )
    history = sim.simulated(sim.pod_of(Container(), watch_s=30, interventions=(remove,)), faults=faults)
    ran = sim.phases(history)[sim.phases(history).index("Running") :]
    assert [phase for phase, before in zip(ran, [None, *ran], strict=False) if phase != before] == phases
    assert sim.starts(history) == 2
    last = sim.container_states(history)[-1]
    assert (last["restartCount"], "lastState" in last) == (1, not faults)


def test_an_init_container_is_ready_once_it_is_done_and_a_sidecar_while_it_runs() -> None:
    setup = Container(name="setup", kind=ContainerKind.INIT, program=runs((2, 1), (2, 0)))
    sidecar = Container(name="sidecar", kind=ContainerKind.INIT, restart_policy=ALWAYS, program=HOLDS)
    events = sim.simulated(sim.pod_of(setup, sidecar, Container(program=HOLDS), watch_s=30), "2s")
    said = {
        (each["name"], next(iter(each["state"])), each["state"].get("terminated", {}).get("exitCode")): each["ready"]
        for event in sim.of(events, Channel.API, Kind.STATUS)
        for each in event.data["status"].get("initContainerStatuses", ())
    }
    assert {each for each, ready in said.items() if ready} == {
        ("setup", "terminated", 0),
        ("sidecar", "running", None),
    }


@pytest.mark.parametrize(("at_s", "ready"), [((5.0, 25.0), [False, True]), ((25.0,), [False])], ids=["twice", "once"])
def test_what_a_kubelet_took_for_ready_as_it_started_the_next_one_leaves_ready(
    at_s: tuple[float, ...], ready: list[bool]
) -> None:
    """Its readiness probe, which would fail, is not asked meanwhile; it had begun just before the first restart."""
    unasked = Probe(kind=ProbeKind.READINESS, fails_after_s=0.0, period_s=600)
    restarts = tuple(
        Intervention(trigger=Trigger(after_s=each), action=InterventionKind.RESTART_KUBELET) for each in at_s
    )
    events = sim.simulated(sim.pod_of(Container(probes=(unasked,)), watch_s=40, interventions=restarts))
    said = [each["ready"] for each in sim.container_states(events) if "running" in each["state"]]
    assert [one for one, _ in groupby(said)] == ready


def test_a_sandbox_that_is_killed_as_it_starts_keeps_its_name() -> None:
    case = rich_case(12323, (*HOSTS, *SLOW_HOSTS))
    events = simulate(case.scenario, case.profile, case.version, rng=Random(12323), host=case.host)
    assert all(each.data["container_id"] for each in sim.of(events, Channel.RUNTIME, Kind.SANDBOX))
