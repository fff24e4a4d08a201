"""API servers that start with other gates: the model and the simulation agree, and planted faults are noticed."""

from random import Random

from crashloop.checks.api import AnswersCase, check_answer, check_stored
from crashloop.history.event import to_line
from crashloop.history.reduction import read_recording
from crashloop.model.api_server import predict_answers
from crashloop.model.gates import effective_gates
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.profile import RESTART_ALL_GATE, KubeletProfile
from crashloop.spec.scenario import ApiScenario
from crashloop.spec.version import KubernetesVersion
from sim import Fault
from sim.faults import ApiServerFault, behaviour_of
from sim.simulate import simulate_api
from suites.conformance.api_objects import pod, rule, ruled, stored, tries
from suites.conformance.test_api_server_gates import KEPT, OFF

VERSION = KubernetesVersion(1, 37, 1)
NEW = ApiScenario(
    name="new", control_plane=ControlPlane(feature_gates=OFF), requests=(stored(pod("new", ruled(rule()))),)
)
RESTART_ALL = ApiScenario(
    name="all",
    control_plane=ControlPlane(feature_gates={RESTART_ALL_GATE: False}),
    requests=tries("all", it=pod("it", ruled(rule(action="RestartAllContainers")))).requests,
)


def found(scenario: ApiScenario, *faults: Fault) -> list[str]:
    """What the checkers of answers object to."""
    assert scenario.control_plane is not None
    settings = KubeletProfile(name="api", config={"featureGates": scenario.control_plane.feature_gates})
    events = simulate_api(scenario, settings, VERSION, rng=Random(1), behaviour=behaviour_of(faults))
    due = predict_answers(scenario, effective_gates(settings, VERSION), VERSION)
    case = AnswersCase(scenario=scenario, due=due, recording=read_recording([to_line(each) for each in events]))
    return [each.sentence for check in (check_answer, check_stored) for each in check(case).findings]


def test_updates_keep_the_rules_of_existing_pods_whatever_the_gate_is() -> None:
    assert found(KEPT) == []


def test_an_update_that_drops_them_is_a_fail() -> None:
    lost = found(KEPT, ApiServerFault.API_UPDATE_DROPS_RULES)
    name = "request 2 (patch Pod 'rules-of-existing-pods')"
    assert lost[:2] == [
        f'{name} has nothing in containers[app].restartPolicy as stored (history line 6); "Never" was due.',
        f"{name} has nothing in containers[app].restartPolicyRules as stored (history line 6); "
        '[{"action":"Restart","exitCodes":{"operator":"In","values":[42]}}] was due.',
    ]


def test_new_pods_get_no_rules_with_the_gate_off() -> None:
    assert found(NEW) == []


def test_an_api_server_that_takes_rules_with_the_gate_off_is_a_fail() -> None:
    policy, _ = found(NEW, ApiServerFault.API_KEEPS_RULES_WHEN_OFF)
    assert policy == (
        "request 1 (create Pod 'new') has \"Never\" in containers[app].restartPolicy as stored (history line 3); "
        "nothing was due."
    )


def test_restart_all_containers_is_rejected_with_its_gate_off() -> None:
    assert found(RESTART_ALL) == []


def test_an_api_server_that_takes_it_with_the_gate_off_is_a_fail() -> None:
    (taken,) = found(RESTART_ALL, ApiServerFault.API_TAKES_RESET_WHEN_OFF)
    assert taken == (
        "request 1 (create Pod 'all-it', dry run) was answered with 201 (history line 3); 422 was due for "
        "spec.containers[0].restartPolicyRules[0].action FieldValueNotSupported."
    )
