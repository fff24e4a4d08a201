"""What becomes of a delay when a user changes the pod in its midst.

KEP-5593, "Late recovery"; pkg/kubelet/kuberuntime/helpers.go GetBackoffKey.
"""

from collections.abc import Iterator
from typing import Any

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Pod
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import ALWAYS, NEVER, after_restart, app, at, init


def changed(name: str, action: InterventionKind, **arguments: Any) -> PodScenario:
    """A crash loop on the default curve that is changed 5 s into the delay of 40 s."""
    return PodScenario(
        name=f"{name}-stock",
        profile="stock",
        pod=Pod(containers=(app(exits_with(1, times=5)),)),
        until=Until(restarts={"app": 5}, at_most_s=260),
        mode=Mode.ANNOTATED,
        interventions=(after_restart(3, action, after_s=5.0, **arguments),),
    )


@requirement("RESET-10")
def test_annotations_do_not_start_the_curve_over() -> Scenario:
    return the.STOCK_TO_THE_CAP


@requirement("RESET-14")
def test_labels_do_not_start_the_curve_over() -> Scenario:
    return changed("label-changed", InterventionKind.LABEL)


@requirement("RESET-12")
def test_a_new_image_starts_the_curve_over() -> Scenario:
    return changed("image-changed", InterventionKind.CHANGE_IMAGE, container="app")


@requirement("RULES-33")
def test_a_new_image_restarts_a_container_that_is_never_restarted_otherwise() -> Iterator[Scenario]:
    yield PodScenario(
        name="sidecar-image-changed-under-never",
        profile="max-2s",
        pod=Pod(
            containers=(init(HOLDS, name="sidecar", policy=ALWAYS), init(runs((1, 0))), app(HOLDS)),
            restart_policy=NEVER,
        ),
        until=Until(restarts={"sidecar": 1}, quiet_s=10, at_most_s=the.QUICK_WATCH_S),
        interventions=(at(15, InterventionKind.CHANGE_IMAGE, container="sidecar"),),
    )
    yield PodScenario(
        name="image-changed-under-never",
        profile="max-2s",
        pod=Pod(containers=(app(HOLDS), app(HOLDS, name="neighbour")), restart_policy=NEVER),
        until=Until(restarts={"app": 1}, at_most_s=the.QUICK_WATCH_S),
        interventions=(at(15, InterventionKind.CHANGE_IMAGE, container="app"),),
    )


@requirement("RESET-13")
def test_a_resize_starts_the_curve_over() -> Scenario:
    return changed("resized", InterventionKind.RESIZE, container="app", cpu="20m")
