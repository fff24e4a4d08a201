"""What the API server answers beyond restart rules: Jobs, probes, users without rights, fields that no pod has."""

from collections.abc import Iterator

from crashloop.spec.control_plane import ApiRequest
from crashloop.spec.scenario import ApiScenario, Scenario
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.api_objects import STORED_RULES, container, job, pod, rule, ruled, strict, tries

POLICY = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3]}}]}
STRANGER = "crashloop-user-without-a-role"


@requirement("VAL-19")
def test_a_pod_has_no_pod_failure_policy() -> Scenario:
    with_policy = pod("pod-failure-policy-strict")
    with_policy["spec"]["podFailurePolicy"] = POLICY
    dropped = {**with_policy, "metadata": {"name": "pod-failure-policy-dropped"}}
    return ApiScenario(name="pod-failure-policy", requests=(strict(with_policy), ApiRequest(object=dropped)))


@requirement("JOB-4")
def test_a_pod_failure_policy_needs_the_policy_never() -> Scenario:
    return tries(
        "job-failure-policy",
        never=job(container(), podFailurePolicy=POLICY),
        never_with_rules=job(ruled(rule()), podFailurePolicy=POLICY),
        on_failure=job(container(), policy="OnFailure", podFailurePolicy=POLICY),
        on_failure_without=job(container(), policy="OnFailure"),
    )


@requirement("PROBE-1")
def test_a_liveness_probe_has_its_defaults() -> Scenario:
    probe = {"exec": {"command": ["true"]}}
    return tries(
        "probe-defaults",
        bare=pod("x", container(livenessProbe=probe)),
        own_timeout=pod("x", container(livenessProbe=probe | {"timeoutSeconds": 5})),
    )


@requirement("CONFIG-13")
def test_the_maximum_is_out_of_reach_of_users() -> Scenario:
    shorter = pod("own-maximum")
    shorter["spec"]["maxContainerRestartPeriod"] = "1s"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "crashloop-no-node"}, "spec": {}}
    return ApiScenario(name="own-maximum", requests=(strict(shorter), ApiRequest(object=node, as_user=STRANGER)))


@requirement("SLO-10")
def test_the_use_of_rules_is_visible() -> Iterator[Scenario]:
    yield STORED_RULES
    yield the.IN_MATCHES
