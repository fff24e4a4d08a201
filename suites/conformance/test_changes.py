"""What becomes of a delay when a user changes the pod in its midst.

KEP-5593, "Late recovery"; pkg/kubelet/kuberuntime/helpers.go GetBackoffKey.
"""

from typing import Any

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import after_restart, app


def changed(name: str, action: InterventionKind, **arguments: Any) -> PodScenario:
    """A crash loop on the default curve whose container is changed 5 s into the delay of 40 s."""
    return PodScenario(
        name=f"{name}-stock",
        profile="stock",
        pod=Pod(containers=(app(exits_with(1, times=5)),)),
        until=Until(restarts={"app": 5}, at_most_s=260),
        mode=Mode.ANNOTATED,
        interventions=(after_restart(3, action, after_s=5.0, container="app", **arguments),),
    )


@requirement("RESET-10")
def test_annotations_do_not_start_the_curve_over() -> Scenario:
    return the.STOCK_TO_THE_CAP


@requirement("RESET-12")
def test_a_new_image_starts_the_curve_over() -> Scenario:
    return changed("image-changed", InterventionKind.CHANGE_IMAGE)


@requirement("RESET-13")
def test_a_resize_starts_the_curve_over() -> Scenario:
    return changed("resized", InterventionKind.RESIZE, cpu="20m")
