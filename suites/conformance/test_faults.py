"""Delays and start-ups during which the kubelet, the runtime or the pod itself is restarted."""

from collections.abc import Iterator

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import Container, ContainerKind, Handler, Pod, Probe, ProbeKind
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import ALWAYS, QUICK_WATCH_S, after_restart, app, at


def interrupted(name: str, action: InterventionKind, *, waiting_for: int, exits: int, restarts: int) -> PodScenario:
    """A crash loop on a stock kubelet that is interrupted 5 s into the delay before restart `waiting_for`."""
    return PodScenario(
        name=name,
        profile="stock",
        pod=Pod(containers=(app(exits_with(1, times=exits)),)),
        until=Until(restarts={"app": restarts}, at_most_s=300),
        mode=Mode.ANNOTATED,
        interventions=(after_restart(waiting_for - 1, action, after_s=5.0),),
    )


STATIC_POD = PodScenario(
    name="kubelet-restarted-beside-a-static-pod",
    profile="stock",
    owner=StaticPod(),
    pod=Pod(containers=(app(exits_with(1, times=5)), app(HOLDS, name="beside"))),
    until=Until(restarts={"app": 5}, quiet_s=35.0, at_most_s=200),
    interventions=(after_restart(2, InterventionKind.RESTART_KUBELET, after_s=4.0),),
)


@requirement("ROLLBACK-4")
def test_a_restarted_kubelet_forgets_every_delay() -> Iterator[Scenario]:
    yield the.KUBELET_RESTARTED
    yield interrupted("kubelet-restarted", InterventionKind.RESTART_KUBELET, waiting_for=5, exits=7, restarts=7)
    yield STATIC_POD


@requirement("FAULT-4")
def test_nothing_restarts_without_a_kubelet() -> Scenario:
    return PodScenario(
        name="kubelet-away",
        profile="max-2s",
        pod=Pod(containers=(app(exits_with(1, times=5)),)),
        until=Until(restarts={"app": 5}, at_most_s=180),
        interventions=(after_restart(2, InterventionKind.RESTART_KUBELET, down_s=60.0),),
    )


@requirement("FAULT-5")
def test_a_kubelet_that_refuses_its_maximum_leaves_running_containers_alone() -> Scenario:
    refused = at(5.0, InterventionKind.RESTART_KUBELET, profile="max-301s", refused=True)
    valid = at(25.0, InterventionKind.RESTART_KUBELET, profile="max-2s")
    return PodScenario(
        name="maximum-refused",
        profile="max-2s",
        pod=Pod(containers=(app(HOLDS),)),
        until=Until(at_least_s=35.0, at_most_s=45.0),
        interventions=(refused, valid),
    )


@requirement("FAULT-7")
def test_a_restarted_runtime_changes_no_delay() -> Scenario:
    return interrupted("runtime-restarted", InterventionKind.RESTART_RUNTIME, waiting_for=3, exits=4, restarts=4)


@requirement("PROBE-27")
def test_no_answer_of_the_runtime_is_no_failure_of_a_probe() -> Scenario:
    return PodScenario(
        name="runtime-away",
        profile="stock",
        pod=Pod(containers=(Container(program=HOLDS, probes=(Probe(pattern="SSS"),)),)),
        until=Until(at_least_s=45.0, at_most_s=60.0),
        interventions=(at(5.0, InterventionKind.RESTART_RUNTIME, down_s=12.0),),
    )


@requirement("BACKOFF-12")
def test_a_recreated_pod_begins_at_the_start() -> Scenario:
    return interrupted("pod-recreated", InterventionKind.RECREATE_POD, waiting_for=4, exits=5, restarts=6)


def starting(pattern: str) -> Probe:
    """A startup probe that has not succeeded when the kubelet restarts after 18 s."""
    return Probe(
        kind=ProbeKind.STARTUP,
        handler=Handler.HTTP,
        pattern=pattern,
        failure_threshold=len(pattern),
        period_s=2,
        timeout_s=5,
    )


def restarted_beside(name: str, *containers: Container, until: Until) -> PodScenario:
    """What is in its start-up when the kubelet restarts stays in it (kubernetes/kubernetes#142305)."""
    return PodScenario(
        name=f"kubelet-restarted-beside-{name}",
        profile="reduced-decay",
        pod=Pod(containers=containers),
        until=until,
        interventions=(at(18, InterventionKind.RESTART_KUBELET),),
    )


UNSTARTED = restarted_beside(
    "unstarted",
    Container(probes=(starting(60 * "F"),)),
    Container(
        name="guarded",
        probes=(starting(60 * "F"), Probe(pattern="SSS", handler=Handler.HTTP, period_s=2, timeout_s=5)),
    ),
    Container(
        name="other",
        program=runs((30, 1)),
        probes=(Probe(kind=ProbeKind.STARTUP, pattern="SSS", handler=Handler.HTTP),),
    ),
    until=Until(restarts={"other": 1}, quiet_s=6, at_most_s=QUICK_WATCH_S),
)


@requirement("PROBE-31")
def test_a_restarted_kubelet_says_of_nothing_that_it_has_started() -> Scenario:
    return UNSTARTED


@requirement("OVH-3")
def test_a_restarted_kubelet_goes_on_to_ask_whether_a_container_has_started() -> Scenario:
    return UNSTARTED


@requirement("RULES-29")
def test_a_restarted_kubelet_lets_what_stands_behind_a_sidecar_wait_on() -> Scenario:
    sidecar = Container(
        name="sidecar",
        kind=ContainerKind.INIT,
        restart_policy=ALWAYS,
        probes=(starting(14 * "F" + 46 * "S"),),
    )
    until = Until(phase="Running", quiet_s=2, at_most_s=QUICK_WATCH_S)
    return restarted_beside("a-starting-sidecar", sidecar, app(HOLDS), until=until)


@requirement("PROBE-25")
def test_a_restarted_kubelet_says_of_nothing_that_it_is_ready() -> Scenario:
    """Of what has just begun either (kubernetes/kubernetes#135795)."""
    unready = Probe(kind=ProbeKind.READINESS, pattern="FFF", handler=Handler.HTTP, period_s=5, timeout_s=5)
    return PodScenario(
        name="kubelet-restarted-beside-young-unready",
        profile="reduced-decay",
        pod=Pod(containers=(Container(probes=(unready,)), app(runs((16, 1)), name="other"))),
        until=Until(restarts={"other": 1}, quiet_s=2, at_most_s=QUICK_WATCH_S),
        interventions=(at(6, InterventionKind.RESTART_KUBELET),),
    )
