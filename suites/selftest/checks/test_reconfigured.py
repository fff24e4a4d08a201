"""A kubelet that a scenario restarts with another profile: each span is judged by the configuration in force."""

import msgspec

from crashloop.checks.configuration import node_objections
from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import RestartPolicy, restart_in
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE, KubeletProfile
from crashloop.spec.program import exits_with, runs
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.cases import MAX_2S, STOCK, app, case, question, scenario, told
from suites.selftest.kit.histories import History

RULES_OFF = KubeletProfile(
    name="rules-off", config={"featureGates": {RESTART_RULES_GATE: False, RESTART_ALL_GATE: False}}
)


def reconfiguring(of: PodScenario, profile: KubeletProfile) -> PodScenario:
    intervention = Intervention(
        trigger=Trigger(after_s=9.0),
        action=InterventionKind.RESTART_KUBELET,
        arguments={"profile": profile.name},
    )
    return msgspec.structs.replace(of, interventions=(intervention,))


CRASHING = reconfiguring(
    scenario(app(exits_with(1, times=6)), until=Until(restarts={"app": 6}), name="crashing"), STOCK
)
BEFORE = ((0.5, 1.5, 1), (2.0, 3.0, 1), (5.3, 6.3, 1))
"""At a maximum of 2 s; the third delay is over at 8.3 s."""
STOCK_CURVE = ((8.6, 10.8, 1), (11.5, 12.5, 1), (22.6, 23.6, 1), (43.8, None, 0))
"""A free restart after the kubelet's, then 10 s and 20 s."""
OLD_CURVE = ((8.6, 10.8, 1), (11.5, 12.5, 1), (14.6, 15.6, 1), (17.8, None, 0))


def restarted(profile: KubeletProfile = STOCK, *, of: PodScenario = CRASHING, maximum: str | None = "5m0s") -> History:
    """The kubelet is restarted at 9 s, and answers with the configuration of a profile."""
    history = History(of, profile=MAX_2S)
    history.intervention(9.0, "restart-kubelet", profile=profile.name)
    return history.node(10.5, matches=None, started_s=10.0, maximum=maximum, profile=profile.name)


def answers(checker: str, history: History, later: KubeletProfile = STOCK) -> list[str]:
    return told(CHECKERS[checker](case(history, MAX_2S, later=(later,), min_delays=2)))


def objections(history: History) -> list[str]:
    assert isinstance(history.scenario, PodScenario)
    asked = question(history, profile=MAX_2S, later=(STOCK,))
    return [f"{each.outcome}: {each.sentence}" for each in node_objections(history.scenario, asked)]


def test_after_the_restart_the_curve_of_the_new_profile_is_due() -> None:
    history = restarted().lives("app", *BEFORE, *STOCK_CURVE).ends(60)
    assert answers("delays", history) == []
    assert answers("reset", history) == []
    assert answers("effective-config", history) == []


def test_a_kubelet_that_keeps_the_old_curve_is_too_early() -> None:
    history = restarted().lives("app", *BEFORE, *OLD_CURVE).ends(60)
    assert [each.split(" (")[0] for each in answers("delays", history)] == [
        'FAIL: restart 5 of "app" came 2.1 s after the exit',
        'FAIL: restart 6 of "app" came 2.2 s after the exit',
    ]


def written(*, restarted_s: float) -> History:
    """Another configuration is written at 2.5 s, and the kubelet restarted later."""
    history = History(CRASHING, profile=MAX_2S).intervention(2.5, "write-kubelet-config", profile="stock")
    history.intervention(restarted_s, "restart-kubelet", index=1)
    return history.node(restarted_s + 1.5, matches=None, started_s=restarted_s + 1.0, maximum="5m0s", profile="stock")


def test_a_written_configuration_is_due_from_the_restart_on() -> None:
    history = written(restarted_s=9.0).lives("app", *BEFORE, *STOCK_CURVE).ends(60)
    assert answers("delays", history) == []
    assert objections(history) == []


def test_a_kubelet_that_takes_a_written_configuration_before_its_restart_is_late() -> None:
    reloaded = (*BEFORE[:2], (13.2, None, 0))
    history = written(restarted_s=30.0).lives("app", *reloaded).ends(60)
    assert [each.split(" (")[0] for each in answers("never-late", history)] == [
        'FAIL: restart 2 of "app" was created 10.1 s after the exit'
    ]


def test_only_delays_at_the_maximum_in_force_show_the_cap() -> None:
    history = restarted().lives("app", *BEFORE, *STOCK_CURVE).ends(60)
    assert CHECKERS["cap"](case(history, MAX_2S, later=(STOCK,))).facts["delays"][-1]["restart"] == 3


def test_a_planned_configuration_is_no_error() -> None:
    assert objections(restarted().lives("app", *BEFORE).ends(60)) == []


def test_a_configuration_that_nobody_planned_stays_an_error() -> None:
    history = History(CRASHING, profile=MAX_2S).node(10.5, matches=None, started_s=10.0, maximum="5m0s").ends(60)
    line = history.line_of(Kind.NODE, 1)
    assert objections(history) == [
        f"ERROR: the node did not run with the profile's configuration (history line {line})."
    ]


def test_a_planned_configuration_that_the_kubelet_does_not_have_is_an_error() -> None:
    history = restarted(maximum="2s").ends(60)
    line = history.line_of(Kind.NODE, 1)
    assert objections(history) == [
        f'ERROR: the node did not run with the configuration of "stock" (history line {line}).'
    ]


RULE = scenario(
    app(runs((5, 42), (5, 42)), restart_policy=RestartPolicy.NEVER, rules=(restart_in(42),)),
    policy=RestartPolicy.NEVER,
    until=Until(exits={"app": 2}),
    name="rule",
)


def test_the_kubelet_that_would_restart_a_container_decides_by_its_own_gates() -> None:
    """Exits at 5.5 s with the gate on and at 11 s with the gate off."""
    of = reconfiguring(RULE, RULES_OFF)
    kept = restarted(RULES_OFF, of=of, maximum="2s").lives("app", (0.5, 5.5, 42), (6.0, 11.0, 42)).ends(80)
    assert answers("restart-decision", kept, RULES_OFF) == []
    again = restarted(RULES_OFF, of=of, maximum="2s").lives("app", (0.5, 5.5, 42), (6.0, 11.0, 42), (13.5, None, 0))
    assert [each.split(" (")[0] for each in answers("restart-decision", again.ends(80), RULES_OFF)] == [
        'FAIL: "app" exited with 42 and was restarted'
    ]


def test_a_restart_that_was_decided_before_is_decided_again_by_the_new_kubelet() -> None:
    """The exit at 8.8 s has to wait for 2 s, and at 9 s the kubelet is restarted with the gate off."""
    of = reconfiguring(RULE, RULES_OFF)
    history = restarted(RULES_OFF, of=of, maximum="2s").lives("app", (0.5, 3.0, 42), (3.5, 8.8, 42), (12.0, None, 0))
    assert [each.split(" (")[0] for each in answers("restart-decision", history.ends(80), RULES_OFF)] == [
        'FAIL: "app" exited with 42 and was restarted'
    ]


def test_a_pod_that_is_recreated_later_begins_with_the_curve_in_force() -> None:
    history = restarted().lives("app", *BEFORE).recreated(12.0, "0d5f3d3e-aaaa-4bbb-8ccc-000000000002")
    history.lives("app", (13.0, 14.0, 1), (14.5, 15.5, 1), (18.0, None, 0)).ends(60)
    assert answers("never-early", history) == [
        'FAIL: restart 2 of "app" came 2.5 s after the exit (history lines 58 and 64); 10 s was due: the counter says 10 s.'
    ]


def test_a_start_before_the_new_kubelet_runs_was_decided_by_the_old_one() -> None:
    of = reconfiguring(RULE, RULES_OFF)
    found = {}
    for started_s in (9.3, 10.2):
        history = restarted(RULES_OFF, of=of, maximum="2s").lives("app", (0.5, 3.0, 42), (3.5, 8.95, 42))
        history.lives("app", (started_s, None, 0), first=2)
        found[started_s] = [each.split(" (")[0] for each in answers("restart-decision", history.ends(80), RULES_OFF)]
    assert found == {9.3: [], 10.2: ['FAIL: "app" exited with 42 and was restarted']}
