"""API servers whose feature gates change: what becomes of restart rules. Each has its scenario for itself.

KEP-5307 and KEP-5532, "Feature Enablement and Rollback", "Upgrade / Downgrade Strategy".
"""

from collections.abc import Iterator

from crashloop.spec.control_plane import ApiRequest, Component, ControlPlane, Verb
from crashloop.spec.intervention import Intervention, InterventionKind
from crashloop.spec.pod import Container, Pod, restart_in
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.spec.program import exits_with, runs
from crashloop.spec.scenario import ApiScenario, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.api_objects import STORED_RULES, codes, container, pod, rule, ruled, stored, tries
from suites.conformance.scenarios import NEVER, QUICK_WATCH_S, app, at, starting

OFF = {RESTART_RULES_GATE: False, RESTART_ALL_GATE: False}
"""With the gate of the rules also the one that cannot be on without it."""
ON = dict.fromkeys(OFF, True)
STARTS_AGAIN_S = 240.0
"""For API scenarios that start the API server more than once."""


def api_server(at_s: float, gates: dict[str, bool]) -> tuple[Intervention, ...]:
    """The API server is stopped, and starts with these gates."""
    component = Component.API_SERVER.value
    return (
        at(at_s, InterventionKind.STOP_COMPONENT, component=component),
        at(at_s + 1.0, InterventionKind.START_COMPONENT, component=component, feature_gates=gates),
    )


def kubelet(at_s: float, profile: str) -> Intervention:
    return at(at_s, InterventionKind.RESTART_KUBELET, profile=profile)


def by_rule(name: str, *lives: tuple[float, int]) -> Container:
    """A container under Never that exit code 42 restarts."""
    return app(runs(*lives), name=name, policy=NEVER, rules=(restart_in(42),))


def changing(
    name: str, profile: str, *containers: Container, until: Until, interventions: tuple[Intervention, ...]
) -> PodScenario:
    """A pod under Never on a node and a control plane whose gates change."""
    return PodScenario(
        name=name,
        profile=profile,
        control_plane=ControlPlane(),
        pod=Pod(containers=containers, restart_policy=NEVER),
        until=until,
        interventions=interventions,
    )


def updated(name: str, number: int, gates: dict[str, bool]) -> ApiRequest:
    """An update of a stored pod by an API server that has started with these gates before."""
    change = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": {"update": str(number)}}}
    return ApiRequest(verb=Verb.PATCH, object=change, dry_run=False, feature_gates=gates)


KEPT = ApiScenario(
    name="rules-of-existing-pods",
    control_plane=ControlPlane(),
    requests=(
        stored(pod("rules-of-existing-pods", ruled(codes("In", 42)), container("plain", restartPolicy="Always"))),
        updated("rules-of-existing-pods", 1, OFF),
        updated("rules-of-existing-pods", 2, ON),
    ),
    at_most_s=STARTS_AGAIN_S,
)
OFF_AND_ON = changing(
    "rules-off-and-on",
    "max-2s",
    by_rule("app", (1, 42), (160, 42), (1, 42)),
    by_rule("late", (80, 42)),
    until=Until(restarts={"app": 3, "late": 1}, at_most_s=400.0),
    interventions=(*api_server(5.0, OFF), kubelet(8.0, "rules-off"), *api_server(110.0, ON), kubelet(114.0, "max-2s")),
)
"""app restarts before and after the gate was off; late exits while it is off, and is restarted when it is on again."""


@requirement("ROLLBACK-9")
def test_rules_of_existing_pods_are_kept_and_ignored() -> Iterator[Scenario]:
    yield KEPT
    yield starting("rules-off-alone")
    yield changing(
        "rules-ignored-after-rollback",
        "max-2s",
        by_rule("app", (1, 42), (90, 42)),
        until=Until(restarts={"app": 1}, exits={"app": 2}, phase="Failed", quiet_s=90.0, at_most_s=300.0),
        interventions=(*api_server(5.0, OFF), kubelet(8.0, "rules-off")),
    )


@requirement("ROLLBACK-10")
def test_new_pods_get_no_rules() -> Scenario:
    return ApiScenario(
        name="new-pods-without-rules", control_plane=ControlPlane(feature_gates=OFF), requests=STORED_RULES.requests
    )


@requirement("ROLLBACK-11")
def test_rules_act_again() -> Iterator[Scenario]:
    yield KEPT
    yield OFF_AND_ON


@requirement("ROLLBACK-12")
def test_rules_survive_upgrade_downgrade_and_upgrade() -> Scenario:
    return OFF_AND_ON


@requirement("SKEW-6")
def test_the_api_server_goes_first_and_comes_back_last() -> Scenario:
    return changing(
        "api-server-first-and-last",
        "rules-off",
        by_rule("app", (60, 42), (140, 42)),
        until=Until(restarts={"app": 2}, at_most_s=400.0),
        interventions=(
            kubelet(10.0, "max-2s"),
            kubelet(80.0, "rules-off"),
            *api_server(85.0, OFF),
            *api_server(120.0, ON),
            kubelet(150.0, "max-2s"),
        ),
    )


@requirement("RAC-12")
def test_restart_all_containers_needs_its_gate() -> Scenario:
    action = "RestartAllContainers"
    requests = tries(
        "restart-all-needs-its-gate",
        restart=pod("x", ruled(rule())),
        restart_all=pod("x", ruled(rule(action=action))),
        sidecar=pod("x", container(), init=(ruled(rule(action=action), policy="Always", name="sidecar"),)),
    ).requests
    return ApiScenario(
        name="restart-all-needs-its-gate",
        control_plane=ControlPlane(feature_gates={RESTART_ALL_GATE: False}),
        requests=requests,
    )


@requirement("X-14")
def test_a_container_under_never_stays_down_without_the_gate() -> Scenario:
    return PodScenario(
        name="never-under-always-without-the-gate",
        profile="max-2s",
        control_plane=ControlPlane(feature_gates=OFF),
        pod=Pod(containers=(app(exits_with(1, times=3), policy=NEVER),)),
        until=Until(restarts={"app": 3}, at_most_s=QUICK_WATCH_S),
    )
