"""Answers of an API server against those that are due."""

from typing import Any

import pytest

from crashloop.checks.judge import judge
from crashloop.history.event import Channel, Kind
from crashloop.spec.control_plane import ApiRequest
from crashloop.spec.scenario import ApiScenario
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import question
from suites.selftest.kit.histories import History

RULES = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]
CAUSE = {"field": "spec.containers[0].restartPolicy", "reason": "FieldValueRequired", "message": "Required value"}


def pod(name: str, **app: Any) -> dict[str, Any]:
    container = {"name": "app", "image": "example", **app}
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [container]}}


WITHOUT_POLICY = pod("without-policy", restartPolicyRules=RULES)
WITH_POLICY = pod("with-policy", restartPolicy="Never", restartPolicyRules=RULES)
SCENARIO = ApiScenario(
    name="rules-and-policy",
    requests=(ApiRequest(object=WITHOUT_POLICY, dry_run=False), ApiRequest(object=WITH_POLICY)),
)


def answered(*answers: dict[str, Any]) -> History:
    history = History(SCENARIO)
    for index, answer in enumerate(answers):
        data = {"index": index, "verb": "create", "dry_run": SCENARIO.requests[index].dry_run, "warnings": []}
        history.add(float(index), Channel.API, Kind.ANSWER, data | answer)
    return history.ends(5)


def refused(*causes: dict[str, str], code: int = 422, found: Any = None) -> dict[str, Any]:
    return {"code": code, "reason": "Invalid", "causes": list(causes), "object": None, "found": found}


def accepted(sent: dict[str, Any], found: Any = None) -> dict[str, Any]:
    return {"code": 201, "reason": "", "causes": [], "object": sent, "found": found}


def findings(*answers: dict[str, Any]) -> tuple[Outcome, list[str]]:
    verdict = judge(question(answered(*answers), "answer", "stored", name="VAL-1"))
    return verdict.outcome, [each.removeprefix("VAL-1: ") for each in verdict.findings]


def test_accepts_the_answers_that_are_due() -> None:
    assert findings(refused(CAUSE), accepted(WITH_POLICY)) == (Outcome.PASS, [])


def test_rejects_an_object_that_was_to_be_refused() -> None:
    outcome, said = findings(accepted(WITHOUT_POLICY, found=WITHOUT_POLICY), accepted(WITH_POLICY))
    assert outcome is Outcome.FAIL
    assert said == [
        "request 1 (create Pod 'without-policy') was answered with 201 (history line 4); "
        "422 was due for spec.containers[0].restartPolicy FieldValueRequired.",
        "the object of request 1 (create Pod 'without-policy') was stored (history line 4); it was to be rejected.",
    ]


def test_rejects_a_refusal_for_another_field() -> None:
    outcome, said = findings(refused(CAUSE | {"field": "spec"}), accepted(WITH_POLICY))
    assert (outcome, said) == (
        Outcome.FAIL,
        [
            "request 1 (create Pod 'without-policy') was rejected for spec FieldValueRequired (history line 4); "
            "spec.containers[0].restartPolicy FieldValueRequired was due."
        ],
    )


def test_rejects_rules_that_were_dropped_in_silence() -> None:
    outcome, said = findings(refused(CAUSE), accepted(pod("with-policy", restartPolicy="Never")))
    assert outcome is Outcome.FAIL
    assert said == [
        "request 2 (create Pod 'with-policy', dry run) has nothing in containers[app].restartPolicyRules as stored "
        '(history line 6); [{"action":"Restart","exitCodes":{"operator":"In","values":[42]}}] was due.'
    ]


def test_rejects_a_dry_run_that_was_stored() -> None:
    outcome, said = findings(refused(CAUSE), accepted(WITH_POLICY, found=WITH_POLICY))
    assert (outcome, said) == (
        Outcome.FAIL,
        ["the object of request 2 (create Pod 'with-policy', dry run) was stored (history line 6); it was a dry run."],
    )


def test_rejects_an_object_that_was_refused_and_stored() -> None:
    outcome, said = findings(refused(CAUSE, found=WITHOUT_POLICY), accepted(WITH_POLICY))
    assert outcome is Outcome.FAIL
    assert said == [
        "the object of request 1 (create Pod 'without-policy') was stored (history line 4); it was to be rejected."
    ]


def test_does_not_pass_without_an_answer() -> None:
    assert findings(refused(CAUSE)) == (
        Outcome.INCONCLUSIVE,
        ["request 2 (create Pod 'with-policy', dry run) was not answered."],
    )


@pytest.mark.parametrize("code", [429, 500, 503], ids=str)
def test_accuses_no_api_server_that_was_not_able_to_decide(code: int) -> None:
    outcome, said = findings(refused(code=code), accepted(WITH_POLICY))
    assert outcome is Outcome.INCONCLUSIVE
    assert said == [
        f"request 1 (create Pod 'without-policy') was answered with {code} Invalid (history line 4): "
        "the API server was not able to decide."
    ]


def test_accuses_no_api_server_that_has_an_object_of_that_name() -> None:
    outcome, said = findings(refused(CAUSE), refused(code=409))
    assert (outcome, said) == (
        Outcome.INCONCLUSIVE,
        [
            "request 2 (create Pod 'with-policy', dry run) met an object of that name (history line 6), "
            "so its answer says nothing."
        ],
    )


def test_has_no_verdict_on_a_request_without_a_rule() -> None:
    service = {"kind": "Service", "metadata": {"name": "a"}, "spec": {}}
    scenario = ApiScenario(name="unknown", requests=(ApiRequest(object=service),))
    verdict = judge(question(History(scenario).ends(1), "answer", of=scenario, name="VAL-1"))
    assert verdict.outcome is Outcome.ERROR
    assert "the model has no rule for a request to create a Service" in verdict.findings[0]


STORED_TWICE = ApiScenario(
    name="sizes",
    requests=(
        ApiRequest(object=pod("plain"), dry_run=False),
        ApiRequest(object=WITH_POLICY, dry_run=False),
    ),
)


def sized(*sizes: int | None) -> tuple[Outcome, list[str]]:
    history = History(STORED_TWICE)
    for index, size in enumerate(sizes):
        sent = STORED_TWICE.requests[index].object
        data = {"index": index, "verb": "create", "dry_run": False, "stored_bytes": size} | accepted(sent, found=sent)
        history.add(float(index), Channel.API, Kind.ANSWER, data)
    verdict = judge(question(history.ends(5), "stored-size", of=STORED_TWICE, name="VAL-17", max_bytes=100))
    return verdict.outcome, [each.removeprefix("VAL-17: ") for each in verdict.findings]


def test_accepts_an_object_that_takes_as_much_as_is_allowed() -> None:
    assert sized(400, 500) == (Outcome.PASS, [])


def test_rejects_an_object_that_takes_more() -> None:
    assert sized(400, 501) == (
        Outcome.FAIL,
        [
            "request 2 (create Pod 'with-policy') stores 101 bytes more than request 1 (create Pod 'plain') "
            "(history lines 4 and 6); 100 more are allowed."
        ],
    )


def test_does_not_pass_without_both_sizes() -> None:
    assert sized(400, None) == (
        Outcome.INCONCLUSIVE,
        ["the stored size of 1 of 2 objects is known."],
    )


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}, "spec": {}}
FOR_OTHERS = ApiScenario(name="for-others", requests=(ApiRequest(object=NODE, as_user="stranger"),))
PROBED = ApiScenario(
    name="probed",
    requests=(ApiRequest(object=pod("probed", livenessProbe={"exec": {"command": ["true"]}, "periodSeconds": 3})),),
)
POLICY_JOB = ApiScenario(
    name="policy-job",
    requests=(
        ApiRequest(
            object={
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "policy-job"},
                "spec": {
                    "podFailurePolicy": {},
                    "template": {"spec": {"restartPolicy": "OnFailure", "containers": []}},
                },
            }
        ),
    ),
)


def judged_once(scenario: ApiScenario, answer: dict[str, Any]) -> tuple[Outcome, list[str]]:
    data = {"index": 0, "verb": "create", "dry_run": True, "warnings": []}
    history = History(scenario).add(0.0, Channel.API, Kind.ANSWER, data | answer).ends(5)
    verdict = judge(question(history, "answer", "stored", name="VAL-1"))
    return verdict.outcome, [each.removeprefix("VAL-1: ") for each in verdict.findings]


def test_rejects_a_user_without_a_role_who_may_create_a_node() -> None:
    assert judged_once(FOR_OTHERS, refused(code=403)) == (Outcome.PASS, [])
    assert judged_once(FOR_OTHERS, accepted(NODE)) == (
        Outcome.FAIL,
        ["request 1 (create Node 'node', dry run) was answered with 201 (history line 4); 403 was due."],
    )


def test_rejects_other_defaults_of_a_probe() -> None:
    due = {"timeoutSeconds": 1, "periodSeconds": 3, "successThreshold": 1, "failureThreshold": 3}
    assert judged_once(PROBED, accepted(pod("probed", livenessProbe=due))) == (Outcome.PASS, [])
    outcome, said = judged_once(PROBED, accepted(pod("probed", livenessProbe=due | {"failureThreshold": 1})))
    assert outcome is Outcome.FAIL
    assert said == [
        "request 1 (create Pod 'probed', dry run) has "
        '{"timeoutSeconds":1,"periodSeconds":3,"successThreshold":1,"failureThreshold":1} in containers[app].livenessProbe '
        'as stored (history line 4); {"timeoutSeconds":1,"periodSeconds":3,"successThreshold":1,"failureThreshold":3} was due.'
    ]


def test_rejects_a_failure_policy_beside_the_policy_on_failure() -> None:
    cause = {"field": "spec.template.spec.restartPolicy", "reason": "FieldValueInvalid", "message": ""}
    assert judged_once(POLICY_JOB, refused(cause)) == (Outcome.PASS, [])
    outcome, said = judged_once(POLICY_JOB, accepted(POLICY_JOB.requests[0].object))
    assert outcome is Outcome.FAIL
    assert said == [
        "request 1 (create Job 'policy-job', dry run) was answered with 201 (history line 4); "
        "422 was due for spec.template.spec.restartPolicy FieldValueInvalid."
    ]
