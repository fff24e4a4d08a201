"""The registry of deviation variants: each one means something, in the releases it names."""

from collections.abc import Callable
from typing import Any

import pytest

from crashloop.model.after_restart import (
    counts_as_started,
    ends_delay,
    is_asked_at_the_end,
    is_ready_with_its_kubelet,
    may_be_hidden,
    probes_go_on,
    shown_exit_code,
    starts_with_its_kubelet,
)
from crashloop.model.api_server import as_stored
from crashloop.model.backoff import dues
from crashloop.model.config import Curve, effective_curve
from crashloop.model.lives import Lived, Observed, StartAttemptFailed, retry_s
from crashloop.model.owner import counted_restarts, replaces_at_once
from crashloop.model.planned_exit import failures_go_on, successes_go_on
from crashloop.model.pod_status import KnownState, StateKind, most_start_samples, phase
from crashloop.model.prediction import kubelet_rejects, predict
from crashloop.model.restart import decide
from crashloop.model.variants import (
    IN_MOTION,
    RESTART_ALL_STALLS,
    RESTART_ALL_WITHOUT_BACKOFF,
    TWO_FREE_AFTER_KILLS,
    VARIANTS,
    as_shipped,
    require_known,
    variant,
)
from crashloop.requirements import load_requirements
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.pod import Action, Container, ContainerKind, Pod, Probe, RestartPolicy, restart_in
from crashloop.spec.profile import (
    MAX_PERIOD_GATE,
    REDUCED_DECAY_GATE,
    RESTART_ALL_GATE,
    RESTART_RULES_GATE,
    KubeletProfile,
)
from crashloop.spec.scenario import Mode, PodScenario, Until
from crashloop.spec.version import RELEASES, KubernetesVersion

V1_37 = KubernetesVersion(1, 37, 1)
NEVER = RestartPolicy.NEVER
RESET_88 = restart_in(88, action=Action.RESTART_ALL_CONTAINERS)
SOURCE = Container(restart_policy=NEVER, rules=(RESET_88, restart_in(88)))
RESETTING = Pod(containers=(SOURCE,), restart_policy=NEVER)
TWO_RESTARTED = {"app": 1, "other": 1}
OFF = {RESTART_ALL_GATE: False}
NEVER_WITHOUT_THE_GATE = PodScenario(
    name="s",
    profile="node",
    pod=Pod(containers=(Container(restart_policy=NEVER),)),
    until=Until(),
    control_plane=ControlPlane(feature_gates={RESTART_RULES_GATE: False}),
)


def curve_of(period: str | None, **gates: bool) -> Callable[[frozenset[str]], Any]:
    crash_loop = {} if period is None else {"maxContainerRestartPeriod": period}
    profile = KubeletProfile(name="node", config={"featureGates": gates, "crashLoopBackOff": crash_loop})
    return lambda deviations: effective_curve(profile, V1_37, deviations=deviations)


def delays_of(*lives: Observed) -> Callable[[frozenset[str]], Any]:
    return lambda deviations: dues(Curve(10, 20), lives, version=V1_37, mode=Mode.ANNOTATED, deviations=deviations)


def clean_exit_after_kill(deviations: frozenset[str]) -> Any:
    app = Container(probes=(Probe(fails_after_s=1),), exit_code_on_term=0)
    pod = Pod(containers=(app,), restart_policy=RestartPolicy.ON_FAILURE)
    scenario = PodScenario(name="s", profile="node", pod=pod, until=Until())
    return predict(scenario, KubeletProfile(name="node"), V1_37, deviations).phase


def kill_that_a_rule_matches(deviations: frozenset[str]) -> Any:
    app = Container(restart_policy=NEVER, rules=(restart_in(143),))
    pod = Pod(containers=(app,), restart_policy=NEVER)
    return decide(pod, app, 143, gates={}, version=V1_37, killed=True, deviations=deviations)


def kill_of_a_sandbox(deviations: frozenset[str]) -> Any:
    app = Container(restart_policy=RestartPolicy.ALWAYS)
    pod = Pod(containers=(app,), restart_policy=NEVER)
    return decide(pod, app, 143, gates={}, version=V1_37, killed=True, sandbox_lost=True, deviations=deviations)


def success_before_the_loss_of_a_sandbox(deviations: frozenset[str]) -> Any:
    app = Container(restart_policy=RestartPolicy.ON_FAILURE, rules=(restart_in(0),))
    return decide(Pod(containers=(app,)), app, 0, gates={}, version=V1_37, sandbox_lost=True, deviations=deviations)


def end_before_the_loss_of_a_sandbox(deviations: frozenset[str]) -> Any:
    app = Container(restart_policy=NEVER)
    return decide(Pod(containers=(app,)), app, 0, gates={}, version=V1_37, sandbox_lost=True, deviations=deviations)


def end_without_a_record(deviations: frozenset[str]) -> Any:
    app = Container(restart_policy=NEVER)
    return decide(Pod(containers=(app,)), app, 0, gates={}, version=V1_37, record_lost=True, deviations=deviations)


def phase_during_reset(deviations: frozenset[str]) -> Any:
    state = KnownState(kind=StateKind.WAITING, last_exit_code=137, being_reset=True)
    return phase(RESETTING, {"app": state}, gates={}, version=V1_37, deviations=deviations)


SIDECAR = Container(kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS)
WHERE_EACH_SHOWS: dict[str, Callable[[frozenset[str]], Any]] = {
    "gate-off-refuses-start": curve_of("2s", **{MAX_PERIOD_GATE: False}),
    "reduced-decay-keeps-300s": curve_of(None, **{REDUCED_DECAY_GATE: True}),
    "maximum-in-whole-milliseconds": curve_of("300.0009s"),
    "restart-rules-off-alone-refuses-start": curve_of(None, **{RESTART_RULES_GATE: False}),
    "counter-collected-while-waiting": delays_of(Lived(0, 1), Lived(1, 591)),
    "failed-start-attempts-double-the-delay": delays_of(Lived(0, 1), Lived(1, 2), StartAttemptFailed(13)),
    "backoff-holds-up-failed-starts": lambda deviations: retry_s(deviations, ((60.0, 80.0),)),
    "two-free-restarts-after-kills": delays_of(Lived(0, 1, True), Lived(1, 2, True)),
    "clean-exit-after-probe-kill-stops": clean_exit_after_kill,
    "rules-match-probe-kills": kill_that_a_rule_matches,
    "ignored-restart-all-rule-hides-later-rules": lambda deviations: decide(
        RESETTING, SOURCE, 88, gates=OFF, version=V1_37, deviations=deviations
    ),
    "restart-all-without-backoff": delays_of(Lived(0, 1), Lived(1, 2, restart_all=True)),
    "restart-all-stays-running": phase_during_reset,
    "restart-all-hides-exit-code": lambda deviations: shown_exit_code(88, deviations),
    "restart-all-stalls-when-nothing-runs": delays_of(Lived(0, 1, restart_all=True)),
    "restart-all-loses-probes": lambda deviations: probes_go_on(Container(), (1, 36), deviations),
    "probe-failures-go-on-after-a-restart": failures_go_on,
    "probe-successes-go-on-after-a-restart": successes_go_on,
    "never-gets-no-second-sandbox": kill_of_a_sandbox,
    "new-sandbox-hides-exits-of-init-containers": lambda deviations: may_be_hidden(
        Container(kind=ContainerKind.INIT), deviations
    ),
    "new-sandbox-forgets-delays-of-init-containers": lambda deviations: ends_delay(
        Container(kind=ContainerKind.INIT), deviations
    ),
    "new-sandbox-runs-containers-under-never-again": end_before_the_loss_of_a_sandbox,
    "success-gets-no-second-sandbox": success_before_the_loss_of_a_sandbox,
    "restart-all-counts-each-container": lambda deviations: counted_restarts(RESETTING, TWO_RESTARTED, deviations),
    "started-carries-over-a-kill": lambda deviations: counts_as_started(True, True, deviations),
    "started-comes-with-the-kubelet": starts_with_its_kubelet,
    "ready-comes-with-the-kubelet": lambda deviations: is_ready_with_its_kubelet(5.0, (1, 37), deviations),
    "sidecars-are-probed-while-their-pod-ends": lambda deviations: is_asked_at_the_end(SIDECAR, deviations),
    "what-has-ended-runs-again-without-its-record": end_without_a_record,
    "pod-start-measured-twice": lambda deviations: most_start_samples(5, deviations),
    "api-server-drops-container-policies": lambda deviations: as_stored(NEVER_WITHOUT_THE_GATE, deviations).pod,
    "ended-pods-are-replaced-at-once": replaces_at_once,
    "restart-all-off-rejects-pod": lambda deviations: kubelet_rejects(RESETTING, OFF, V1_37, deviations),
}
SHOWS_ON_TOP_OF = {RESTART_ALL_STALLS: RESTART_ALL_WITHOUT_BACKOFF}


@pytest.mark.parametrize("name", [each.name for each in VARIANTS])
def test_every_variant_changes_what_the_model_says(name: str) -> None:
    base = frozenset({SHOWS_ON_TOP_OF[name]} if name in SHOWS_ON_TOP_OF else set())
    shows = WHERE_EACH_SHOWS[name]
    assert shows(base | {name}) != shows(base)


@pytest.mark.parametrize("name", [each.name for each in VARIANTS])
def test_every_variant_says_what_was_promised_and_where(name: str) -> None:
    known = variant(name)
    assert known.sentence.endswith(".")
    assert known.source
    assert known.fixed_in is None or known.since < known.fixed_in


def test_names_are_unique() -> None:
    assert len({each.name for each in VARIANTS}) == len(VARIANTS)


def test_a_release_ships_with_the_variants_of_its_time() -> None:
    def shipped(minor: int) -> frozenset[str]:
        return as_shipped(KubernetesVersion(1, minor))

    assert shipped(34) - shipped(33) == {
        "api-server-drops-container-policies",
        "ended-pods-are-replaced-at-once",
        "rules-match-probe-kills",
        "ignored-restart-all-rule-hides-later-rules",
        "new-sandbox-runs-containers-under-never-again",
        "success-gets-no-second-sandbox",
    }
    assert RESTART_ALL_STALLS in shipped(35)
    assert shipped(35) - shipped(36) == {RESTART_ALL_STALLS}
    assert shipped(36) - shipped(35) == {"restart-rules-off-alone-refuses-start", "restart-all-off-rejects-pod"}
    assert shipped(36) == shipped(37)
    assert TWO_FREE_AFTER_KILLS in shipped(33)


def test_unknown_names_are_refused() -> None:
    require_known(frozenset({TWO_FREE_AFTER_KILLS}))
    with pytest.raises(ValueError, match=r"unknown deviation variants \['typo'\]"):
        require_known(frozenset({"typo"}))


def test_a_rule_in_motion_holds_in_no_release_that_the_model_knows() -> None:
    for turned in IN_MOTION.values():
        assert not any(turned.holds_in(KubernetesVersion(*release, 0)) for release in RELEASES)
        assert turned.name not in as_shipped(KubernetesVersion(1, 38))


def test_each_rule_in_motion_changes_what_the_model_says() -> None:
    first, never_ran = (each.name for each in IN_MOTION.values())
    once = delays_of(Lived(0, 1))
    assert once(frozenset({first})) != once(frozenset())
    assert retry_s(frozenset({never_ran}), (), 33.0) > retry_s(frozenset(), (), 33.0)


def test_what_is_in_motion_is_named_by_the_requirements_that_it_turns_round() -> None:
    moving = {each.moving for each in load_requirements().values()} - {""}
    assert moving == IN_MOTION.keys()
