"""What is expected of a whole scenario: exits, decisions, restarts, final phase, duration.

What is expected of probes, of gates that are off, and of a deviating kubelet.
"""

import pytest

from crashloop.model.config import Curve
from crashloop.model.lives import Lived
from crashloop.model.prediction import predict
from crashloop.model.restart import Decision
from crashloop.model.variants import (
    CLEAN_EXIT_AFTER_KILL_STOPS,
    RESTART_ALL_OFF_REJECTS_POD,
    RESTART_ALL_WITHOUT_BACKOFF,
    RULES_MATCH_KILLS,
    TWO_FREE_AFTER_KILLS,
)
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import (
    Action,
    Container,
    ContainerKind,
    Pod,
    Probe,
    ProbeKind,
    RestartPolicy,
    restart_in,
    restart_not_in,
)
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.model_inputs import (
    ALWAYS,
    NEVER,
    ON_FAILURE,
    V1_37,
    decisions,
    predicted,
    profile,
    restarts,
    scenario,
)

RESTART, STOP = Decision.RESTART, Decision.STOP
INIT = ContainerKind.INIT
ALL = Action.RESTART_ALL_CONTAINERS
RETRY_42 = (restart_in(42),)
RESET_88 = (restart_in(88, action=ALL),)


@pytest.mark.parametrize(
    ("policy", "container", "expected", "phase"),
    [
        (ALWAYS, Container(program=exits_with(1, times=3)), [RESTART] * 3, "Running"),
        (ON_FAILURE, Container(program=runs((1, 1), (1, 1), (1, 0))), [RESTART, RESTART, STOP], "Succeeded"),
        (NEVER, Container(program=exits_with(0, times=3)), [STOP], "Succeeded"),
        (NEVER, Container(program=exits_with(1, times=3)), [STOP], "Failed"),
        (
            NEVER,
            Container(program=runs((1, 42), (1, 42), (1, 1)), restart_policy=NEVER, rules=RETRY_42),
            [RESTART, RESTART, STOP],
            "Failed",
        ),
        (ALWAYS, Container(program=HOLDS), [], "Running"),
    ],
    ids=["crashes-and-holds", "retries-until-0", "done", "failed", "by-rule-until-unmatched", "holds"],
)
def test_a_program_is_followed_until_it_holds_or_is_stopped(
    policy: RestartPolicy, container: Container, expected: list[Decision], phase: str
) -> None:
    prediction = predicted(container, policy=policy)
    assert decisions(prediction) == expected
    assert prediction.phase == phase
    assert restarts(prediction) == {"app": expected.count(RESTART)}


def test_a_prediction_says_which_exit_led_to_what_and_why() -> None:
    prediction = predicted(Container(program=runs((1, 42), (1, 1)), restart_policy=NEVER, rules=RETRY_42))
    exits = prediction.containers["app"].exits
    assert [(each.instance, each.exit_code, each.step) for each in exits] == [
        (0, 42, "restart rule Restart In [42] matches exit code 42"),
        (1, 1, "container restart policy Never decides after exit code 1"),
    ]


def test_an_init_container_is_retried_until_it_is_done_and_then_the_app_starts() -> None:
    init = Container(
        name="init", kind=INIT, program=runs((1, 1), (1, 2), (1, 0)), restart_policy=NEVER, rules=(restart_not_in(0),)
    )
    prediction = predicted(init, Container(program=exits_with(0)), policy=NEVER)
    assert decisions(prediction, "init") == [RESTART, RESTART, STOP]
    assert decisions(prediction) == [STOP]
    assert (restarts(prediction), prediction.phase) == ({"init": 2, "app": 0}, "Succeeded")


def test_an_init_container_that_fails_for_good_fails_the_pod_before_the_app_starts() -> None:
    init = Container(name="init", kind=INIT, program=runs((1, 42), (1, 1)), restart_policy=NEVER, rules=RETRY_42)
    prediction = predicted(init, Container(program=exits_with(0)))
    assert decisions(prediction) == []
    assert (restarts(prediction), prediction.phase) == ({"init": 1, "app": 0}, "Failed")


def test_an_init_container_that_holds_keeps_the_pod_pending() -> None:
    assert predicted(Container(name="init", kind=INIT), Container()).phase == "Pending"


def test_a_sidecar_restarts_without_the_app_and_ends_with_it() -> None:
    sidecar = Container(name="sidecar", kind=INIT, restart_policy=ALWAYS, program=exits_with(1, after_s=0.1, times=2))
    prediction = predicted(sidecar, Container(program=runs((30, 0))), policy=NEVER)
    assert (restarts(prediction), prediction.phase) == ({"sidecar": 2, "app": 0}, "Succeeded")


def test_a_finished_container_leaves_the_pod_running_until_the_rest_ends() -> None:
    keystone = Container(name="keystone", restart_policy=NEVER, program=exits_with(1))
    assert predicted(keystone, Container(program=HOLDS), policy=NEVER).phase == "Running"
    assert predicted(keystone, Container(program=runs((9, 0))), policy=NEVER).phase == "Failed"


def test_restart_all_takes_every_container_back_to_the_start() -> None:
    prediction = predicted(
        Container(name="init", kind=INIT, program=exits_with(0, times=3)),
        Container(name="source", program=exits_with(88, times=2), restart_policy=NEVER, rules=RESET_88),
        Container(name="done", program=exits_with(0, after_s=0.1, times=3)),
        Container(name="holding"),
        policy=NEVER,
    )
    assert restarts(prediction) == {"init": 2, "source": 2, "done": 2, "holding": 2}
    assert [(each.exit_code, each.killed) for each in prediction.containers["holding"].exits] == [(137, True)] * 2
    assert prediction.phase == "Running"


def test_a_restart_all_rule_on_success_loops_for_ever() -> None:
    source = Container(program=exits_with(0, times=1000), restart_policy=NEVER, rules=(restart_not_in(1, action=ALL),))
    prediction = predicted(source, Container(name="other"), policy=NEVER)
    assert prediction.containers["other"].restarts == 1000
    looping = predicted(Container(probes=(Probe(fails_after_s=1),)))
    assert restarts(looping) == {"app": None}


def test_delays_come_from_the_lives_that_were_seen() -> None:
    prediction = predicted(Container(program=exits_with(1, times=3)))
    assert prediction.curve == Curve(2, 2)
    found = prediction.dues_for("app", [Lived(0, 1), Lived(1.3, 2.3), Lived(5, 6)])
    assert [(due.restart, due.delay_s, due.latest_s) for due in found] == [(1, 0, 2), (2, 2, 4.15), (3, 2, 4.15)]


def test_the_recording_and_not_the_rehearsal_says_which_lives_a_restart_all_ended() -> None:
    source = Container(name="source", program=exits_with(88, times=2), restart_policy=NEVER, rules=RESET_88)
    lives = [Lived(0, 1, restart_all=True), Lived(4, 5, restart_all=True)]
    documented = predicted(source, policy=NEVER, node=profile())
    assert [due.delay_s for due in documented.dues_for("source", lives)] == [0, 10]
    shipped = frozenset({RESTART_ALL_WITHOUT_BACKOFF})
    found = predicted(source, policy=NEVER, node=profile(), deviations=shipped)
    assert [due.delay_s for due in found.dues_for("source", lives)] == [0, 0]
    assert [due.delay_s for due in found.dues_for("source", [Lived(0, 1), Lived(4, 5)])] == [0, 10]


def test_neighbours_probes_and_updates_are_other_sync_sources() -> None:
    crashing = Container(program=exits_with(1, times=3))

    def others_sync(tried: PodScenario) -> bool:
        return predict(tried, profile(), V1_37).containers["app"].other_sync_sources

    assert not others_sync(scenario(crashing, Container(name="holding")))
    assert others_sync(scenario(crashing, Container(name="other", program=exits_with(0))))
    assert others_sync(scenario(Container(program=exits_with(1), probes=(Probe(fails_after_s=9),))))
    resize = Intervention(trigger=Trigger(after_s=5), action=InterventionKind.RESIZE)
    pod = Pod(containers=(crashing,))
    resized = PodScenario(name="resized", profile="node", pod=pod, until=Until(), interventions=(resize,))
    assert others_sync(resized)


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
