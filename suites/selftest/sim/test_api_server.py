"""The simulated API server and the model read the same rules, each in its own way."""

from random import Random
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from crashloop.checks.api import AnswersCase, check_answer, check_stored
from crashloop.history.reduction import read_recording
from crashloop.model.api_server import predict_answers
from crashloop.model.gates import effective_gates
from crashloop.spec.control_plane import ApiRequest
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE, KubeletProfile
from crashloop.spec.scenario import ApiScenario
from crashloop.spec.version import KubernetesVersion
from sim.simulate import simulate_api

POLICIES = st.sampled_from((None, "Always", "OnFailure", "Never", "Sometimes"))
CODES = st.lists(st.sampled_from((0, 1, 42, 255, 2**31 - 1, 2**31, "1")), max_size=3) | st.just(list(range(256)))
EXIT_CODES = st.fixed_dictionaries({"operator": st.sampled_from(("In", "NotIn", "")), "values": CODES})
RULE = st.fixed_dictionaries(
    {"action": st.sampled_from(("Restart", "RestartAllContainers", "", "Stop"))}, optional={"exitCodes": EXIT_CODES}
)
RULES = st.lists(RULE, max_size=2) | RULE.map(lambda rule: [rule] * 21)
CONTAINER = st.builds(
    lambda policy, rules: (
        ({} if policy is None else {"restartPolicy": policy}) | ({"restartPolicyRules": rules} if rules else {})
    ),
    POLICIES,
    RULES,
)
LISTS = ("initContainers", "containers", "ephemeralContainers")
RELEASES = st.sampled_from([KubernetesVersion(1, minor, 1) for minor in range(33, 38)])
KINDS = st.sampled_from(("Pod", "Job"))


def manifest(kind: str, name: str, policy: str, parts: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    spec: dict[str, Any] = {"restartPolicy": policy}
    for index, (field, container) in enumerate(parts):
        spec.setdefault(field, []).append({"name": f"c{index}", "image": "example", **container})
    return {
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec if kind == "Pod" else {"template": {"spec": spec}},
    }


MANIFESTS = st.builds(
    manifest,
    KINDS,
    st.just("tried"),
    st.sampled_from(("Always", "OnFailure", "Never", "Sometimes")),
    st.lists(st.tuples(st.sampled_from(LISTS), CONTAINER), min_size=1, max_size=3),
)


UNVALIDATED = manifest("Pod", "tried", "Always", [("initContainers", {"restartPolicyRules": [{"action": "Restart"}]})])
"""1.34 stores rules of an init container without a policy as they come."""


@example(object_=UNVALIDATED, version=KubernetesVersion(1, 34, 1), rules=True, restart_all=False, dry_run=False)
@given(object_=MANIFESTS, version=RELEASES, rules=st.booleans(), restart_all=st.booleans(), dry_run=st.booleans())
def test_the_model_has_no_objection_to_the_simulated_api_server(
    object_: dict[str, Any], version: KubernetesVersion, rules: bool, restart_all: bool, dry_run: bool
) -> None:
    known = {RESTART_RULES_GATE: rules and version.release >= (1, 34)}
    known |= {RESTART_ALL_GATE: rules and restart_all and version.release >= (1, 35)}
    settings = KubeletProfile(name="kube-apiserver", config={"featureGates": known})
    scenario = ApiScenario(name="tried", requests=(ApiRequest(object=object_, dry_run=dry_run),))
    events = simulate_api(scenario, settings, version, rng=Random(1))
    recording = read_recording(msgspec.json.encode(event) + b"\n" for event in events)
    due = predict_answers(scenario, effective_gates(settings, version), version)
    case = AnswersCase(scenario=scenario, due=due, recording=recording)
    assert check_answer(case).findings == ()
    assert check_stored(case).findings == ()
