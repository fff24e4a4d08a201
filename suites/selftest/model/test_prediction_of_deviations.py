"""What is expected of probes, of gates that are off, and of a deviating kubelet."""

from crashloop.model.restart import Decision
from crashloop.model.variants import (
    CLEAN_EXIT_AFTER_KILL_STOPS,
    RESTART_ALL_OFF_REJECTS_POD,
    RULES_MATCH_KILLS,
    TWO_FREE_AFTER_KILLS,
)
from crashloop.spec.pod import Action, Container, Probe, ProbeKind, restart_in
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.spec.program import exits_with, runs
from suites.selftest.kit.model_inputs import ALWAYS, NEVER, ON_FAILURE, decisions, predicted, profile, restarts

RESTART, STOP = Decision.RESTART, Decision.STOP
ALL = Action.RESTART_ALL_CONTAINERS
RETRY_42 = (restart_in(42),)
RESET_88 = (restart_in(88, action=ALL),)


def test_a_probe_kills_what_outlives_it() -> None:
    probe = Probe(fails_after_s=2, period_s=1, failure_threshold=3)
    program = runs((4, 7), (60, 0))
    exits = predicted(Container(program=program, probes=(probe,))).containers["app"].exits
    assert [(each.exit_code, each.killed) for each in exits[:3]] == [(7, False), (143, True), (143, True)]


def test_a_startup_probe_that_succeeded_is_not_asked_again() -> None:
    def killed(fails_after_s: float) -> bool:
        probe = Probe(kind=ProbeKind.STARTUP, fails_after_s=fails_after_s)
        return bool(predicted(Container(probes=(probe,))).containers["app"].exits)

    assert killed(0)
    assert not killed(5)


def test_a_clean_exit_after_a_kill_ends_the_pod_once_a_delay_is_due() -> None:
    app = Container(probes=(Probe(fails_after_s=2, failure_threshold=2),), exit_code_on_term=0)
    kubelet = frozenset({TWO_FREE_AFTER_KILLS, CLEAN_EXIT_AFTER_KILL_STOPS})
    node = profile()
    assert restarts(predicted(app, policy=ON_FAILURE, node=node)) == {"app": None}
    shipped = predicted(app, policy=ON_FAILURE, node=node, deviations=kubelet)
    assert (decisions(shipped), shipped.phase) == ([RESTART, RESTART, STOP], "Succeeded")


def test_a_rule_that_matches_a_kill_hangs_a_lonely_never_container_in_the_kubelet() -> None:
    app = Container(probes=(Probe(fails_after_s=1),), restart_policy=NEVER, rules=(restart_in(143),))
    matching = frozenset({RULES_MATCH_KILLS})
    assert predicted(app, policy=NEVER).phase == "Failed"
    alone = predicted(app, policy=NEVER, deviations=matching)
    assert (decisions(alone), alone.phase) == ([STOP], "Running")
    accompanied = predicted(app, Container(name="other"), policy=NEVER, deviations=matching)
    assert restarts(accompanied) == {"app": None, "other": 0}


def test_a_node_without_rules_goes_by_the_pods_policy() -> None:
    node = profile(None, **{RESTART_RULES_GATE: False, RESTART_ALL_GATE: False})
    app = Container(program=exits_with(42), restart_policy=NEVER, rules=RETRY_42)
    assert predicted(app, policy=NEVER, node=node).phase == "Failed"
    assert predicted(app, policy=ALWAYS, node=node).phase == "Running"


def test_a_node_without_restart_all_ignores_the_rule_as_documented_and_rejects_the_pod_in_fact() -> None:
    node = profile(None, **{RESTART_ALL_GATE: False})
    app = Container(program=exits_with(88, times=2), restart_policy=ON_FAILURE, rules=RESET_88)
    ignored = predicted(app, node=node)
    assert (decisions(ignored), ignored.phase) == ([RESTART] * 2, "Running")
    rejected = predicted(app, node=node, deviations=frozenset({RESTART_ALL_OFF_REJECTS_POD}))
    assert (decisions(rejected), rejected.phase) == ([], "Failed")
