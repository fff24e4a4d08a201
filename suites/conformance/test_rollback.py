"""Kubelets whose configuration is changed: what begins anew, and what goes on.

KEP-5593 and KEP-4603, "Upgrade / Downgrade Strategy".
"""

from collections.abc import Iterator

import msgspec

from crashloop.spec.intervention import Intervention, InterventionKind
from crashloop.spec.pod import Pod, RestartPolicy
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import after_restart, app, at, init, starting


def to(profile: str, *, after_exit: int) -> Intervention:
    """The kubelet is restarted with a profile, 1 s after that exit, counted from 1."""
    return after_restart(after_exit - 1, InterventionKind.RESTART_KUBELET, after_s=1.0, profile=profile)


def reconfigured(name: str, profile: str, *interventions: Intervention, restarts: int, at_most_s: float) -> PodScenario:
    """A crash loop on a node whose kubelet gets other profiles."""
    return PodScenario(
        name=name,
        profile=profile,
        pod=Pod(containers=(app(exits_with(1, times=restarts)),)),
        until=Until(restarts={"app": restarts}, at_most_s=at_most_s),
        mode=Mode.ANNOTATED,
        interventions=interventions,
    )


MAXIMUM_REMOVED = reconfigured("maximum-removed", "max-2s", to("stock", after_exit=3), restarts=5, at_most_s=120)


@requirement("CONFIG-12")
def test_a_changed_file_waits_for_the_restart() -> Scenario:
    write = after_restart(2, InterventionKind.WRITE_KUBELET_CONFIG, after_s=1.0, profile="max-10s")
    restart = after_restart(5, InterventionKind.RESTART_KUBELET, after_s=1.0)
    return reconfigured("file-changed", "max-2s", write, restart, restarts=8, at_most_s=120)


@requirement("ROLLBACK-1")
def test_without_a_maximum_the_default_curve_begins() -> Scenario:
    return MAXIMUM_REMOVED


@requirement("RULES-22")
def test_a_restarted_kubelet_goes_on_counting() -> Iterator[Scenario]:
    yield the.KUBELET_RESTARTED
    yield MAXIMUM_REMOVED


@requirement("CONFIG-1")
def test_a_maximum_need_not_be_of_whole_seconds() -> Scenario:
    """Lives of various lengths, so that looks come at various times in a delay."""
    lives = tuple((0.5 + 0.3 * number, 1) for number in range(8))
    return msgspec.structs.replace(
        reconfigured("maximum-of-2500ms", "max-2s", to("max-2500ms", after_exit=1), restarts=8, at_most_s=120),
        pod=Pod(containers=(app(runs(*lives)),)),
    )


@requirement("ROLLBACK-2")
def test_with_the_gate_off_the_default_curve_begins() -> Iterator[Scenario]:
    yield starting("max-gate-off-but-set")
    yield reconfigured(
        "gate-and-maximum-removed", "max-2s", to("max-gate-off", after_exit=3), restarts=5, at_most_s=120
    )


@requirement("ROLLBACK-3")
def test_the_maximum_takes_effect_again_with_its_gate() -> Scenario:
    off, on = to("max-gate-off", after_exit=5), to("max-2s", after_exit=9)
    return reconfigured("gate-off-and-on", "max-2s", off, on, restarts=12, at_most_s=240)


@requirement("ROLLBACK-5")
def test_a_changed_maximum_leaves_running_containers_alone() -> Scenario:
    """Nor does it run what is done again."""
    change = at(8.0, InterventionKind.RESTART_KUBELET, profile="stock")
    return PodScenario(
        name="running-while-the-maximum-changes",
        profile="max-2s",
        pod=Pod(
            containers=(
                init(runs((0, 0))),
                init(HOLDS, name="sidecar", policy=RestartPolicy.ALWAYS),
                app(HOLDS),
                app(runs((0, 0)), name="done"),
            ),
            restart_policy=RestartPolicy.ON_FAILURE,
        ),
        until=Until(at_least_s=75.0, at_most_s=85.0),
        interventions=(change,),
    )


@requirement("ROLLBACK-7")
def test_the_gate_of_the_reduced_curve_goes_on_and_off() -> Scenario:
    on, off = to("reduced-decay", after_exit=3), to("stock", after_exit=6)
    return reconfigured("reduced-decay-on-and-off", "stock", on, off, restarts=7, at_most_s=180)


@requirement("ROLLBACK-8")
def test_a_recreated_pod_starts_on_the_curve_that_then_holds() -> Scenario:
    again = after_restart(2, InterventionKind.RECREATE_POD, after_s=6.0)
    return reconfigured(
        "recreated-on-the-reduced-curve", "stock", to("reduced-decay", after_exit=3), again, restarts=6, at_most_s=150
    )
