"""What the API server accepts, rejects and stores of restart policies and restart rules: KEP-5307 "Design Details"."""

from collections.abc import Iterator

from crashloop.spec.control_plane import ApiRequest
from crashloop.spec.pod import restart_in, restart_not_in
from crashloop.spec.program import exits_with, runs
from crashloop.spec.scenario import ApiScenario, Scenario
from fixtures.requirements import requirement
from suites.conformance.api_objects import (
    STORED_RULES,
    codes,
    container,
    patched,
    pod,
    rule,
    ruled,
    rules_of,
    stored,
    strict,
    tries,
)
from suites.conformance.scenarios import NEVER, app, ending, restarting


@requirement("VAL-1")
def test_rules_need_a_policy_of_their_container() -> Scenario:
    without = container(restartPolicyRules=[rule()])
    return ApiScenario(
        name="rules-without-policy",
        requests=(
            stored(pod("rules-without-policy-regular", without)),
            stored(
                pod(
                    "rules-without-policy-template",
                    container(),
                    init=(container("setup", restartPolicyRules=[rule()]),),
                )
            ),
            ApiRequest(object=pod("rules-with-policy", ruled(rule()))),
        ),
    )


@requirement("VAL-2")
def test_twenty_rules_are_the_most() -> Scenario:
    return tries("number-of-rules", twenty=rules_of(*[rule()] * 20), twenty_one=rules_of(*[rule()] * 21))


@requirement("VAL-3")
def test_255_exit_codes_are_the_most() -> Scenario:
    return tries(
        "number-of-codes",
        most=rules_of(codes("In", *range(1, 256))),
        one_more=rules_of(codes("In", *range(256))),
        one_more_not_in=rules_of(codes("NotIn", *range(256))),
    )


@requirement("VAL-4")
def test_rules_may_repeat() -> Scenario:
    return tries("repeated-rules", same=rules_of(rule(), rule()), same_code=rules_of(rule(), codes("NotIn", 42)))


@requirement("VAL-5")
def test_an_action_is_restart_or_restart_all_containers() -> Scenario:
    nothing = {"exitCodes": rule()["exitCodes"]}
    return tries(
        "actions",
        restart=rules_of(rule()),
        restart_all=rules_of(rule(action="RestartAllContainers")),
        other=rules_of(rule(action="Stop")),
        other_case=rules_of(rule(action="restart")),
        empty=rules_of(rule(action="")),
        missing=rules_of(nothing),
    )


@requirement("VAL-6")
def test_a_rule_needs_exit_codes() -> Scenario:
    return tries(
        "conditions",
        none=rules_of({"action": "Restart"}),
        signals=rules_of({"action": "Restart", "exitSignals": {"operator": "In", "values": ["SIGKILL"]}}),
        reasons=rules_of({"action": "Restart", "reason": "OOMKilled"}),
        message=rules_of({"action": "Restart", "onMessage": "again"}),
    )


@requirement("VAL-7")
def test_exit_codes_stand_in_the_rule_itself() -> Scenario:
    nested = {"action": "Restart", "when": {"exitCodes": rule()["exitCodes"]}}
    return ApiScenario(
        name="nested-exit-codes",
        requests=(
            ApiRequest(object=pod("nested-exit-codes-flat", ruled(rule()))),
            ApiRequest(object=pod("nested-exit-codes-nested", ruled(nested))),
            strict(pod("nested-exit-codes-strict", ruled(nested))),
        ),
    )


@requirement("VAL-8")
def test_an_operator_is_in_or_not_in() -> Scenario:
    missing = {"action": "Restart", "exitCodes": {"values": [42]}}
    return tries(
        "operators",
        is_in=rules_of(codes("In", 42)),
        is_not_in=rules_of(codes("NotIn", 42)),
        other=rules_of(codes("Exists", 42)),
        other_case=rules_of(codes("in", 42)),
        empty=rules_of(codes("", 42)),
        missing=rules_of(missing),
    )


@requirement("VAL-9")
def test_exit_codes_are_integers() -> Scenario:
    return tries(
        "types-of-codes",
        number=rules_of(codes("In", 42)),
        pattern=rules_of(codes("In", "4*")),
        text=rules_of(codes("In", "42")),
    )


@requirement("VAL-10")
def test_an_empty_list_of_codes_is_accepted() -> Iterator[Scenario]:
    yield tries("no-codes", is_in=rules_of(codes("In")), is_not_in=rules_of(codes("NotIn")))
    never_matches = app(runs((1, 1)), policy=NEVER, rules=(restart_in(),))
    yield ending("in-no-codes", never_matches, pod=NEVER, exits={"app": 1}, phase="Failed")
    always_matches = app(exits_with(1), policy=NEVER, rules=(restart_not_in(),))
    yield restarting("not-in-no-codes", always_matches, pod=NEVER, restarts={"app": 1})


@requirement("VAL-11")
def test_an_ephemeral_container_has_neither_policy_nor_rules() -> Scenario:
    name = "ephemeral-policy"

    def debugging(**fields: object) -> ApiRequest:
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}
        return patched(
            {**manifest, "spec": {"ephemeralContainers": [container("debug", **fields)]}},
            subresource="ephemeralcontainers",
        )

    return ApiScenario(
        name=name,
        requests=(
            stored(pod(name)),
            debugging(restartPolicy="Always"),
            debugging(restartPolicyRules=[rule()]),
            debugging(),
        ),
    )


@requirement("VAL-12")
def test_a_policy_of_a_container_is_always_on_failure_or_never() -> Scenario:
    return tries(
        "container-policies",
        always=pod("x", container(restartPolicy="Always")),
        on_failure=pod("x", container(restartPolicy="OnFailure")),
        never=pod("x", container(restartPolicy="Never"), policy="Always"),
        other=pod("x", container(restartPolicy="Once")),
        other_case=pod("x", container(restartPolicy="always")),
        init=pod("x", init=(container("setup", restartPolicy="Once"),)),
    )


@requirement("VAL-13")
def test_any_integer_is_an_exit_code() -> Scenario:
    return tries("integers", every=rules_of(codes("In", 0, 255, 256, -1, 42, 42, 2**31 - 1, -(2**31))))


@requirement("VAL-14")
def test_policies_and_rules_are_immutable() -> Scenario:
    name = "immutable-rules"

    def change(spec: dict[str, object]) -> ApiRequest:
        return patched({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})

    return ApiScenario(
        name=name,
        requests=(
            stored(pod(name, ruled(rule()))),
            change({"restartPolicy": "Always"}),
            change({"containers": [{"name": "app", "restartPolicy": "Always"}]}),
            change({"containers": [{"name": "app", "restartPolicyRules": [codes("In", 1)]}]}),
        ),
    )


@requirement("VAL-15")
def test_rejected_designs_of_a_policy_are_rejected() -> Scenario:
    return tries(
        "rejected-policies",
        rapid=pod("x", policy="Rapid"),
        fast_on_success=pod("x", policy="FastOnSuccess"),
        rapid_sidecar=pod("x", init=(container("sidecar", restartPolicy="Rapid"),)),
        fast_sidecar=pod("x", init=(container("sidecar", restartPolicy="FastOnSuccess"),)),
    )


@requirement("VAL-16")
def test_a_pod_without_a_policy_gets_always() -> Scenario:
    return tries("default-policy", absent=pod("x", policy=None))


@requirement("VAL-18")
def test_policies_and_rules_are_stored_as_sent() -> Scenario:
    return STORED_RULES


@requirement("VAL-17")
def test_a_rule_takes_little_space() -> Scenario:
    most = codes("In", *range(1, 256))
    return ApiScenario(
        name="stored-size",
        requests=(stored(pod("stored-size-none")), stored(pod("stored-size-rule", ruled(most)))),
    )
