"""What becomes of a delay when a user changes the pod in its midst. KEP-5593, "Late recovery"."""

from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Intervention, InterventionKind, Mode, Pod, PodScenario, Scenario, Trigger, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import app

IMAGE_CHANGED = PodScenario(
    name="image-changed-stock",
    profile="stock",
    pod=Pod(containers=(app(exits_with(1, times=5)),)),
    until=Until(restarts={"app": 5}, at_most_s=260),
    mode=Mode.ANNOTATED,
    interventions=(
        Intervention(
            trigger=Trigger(container="app", after_restart=3, after_s=5.0),
            action=InterventionKind.CHANGE_IMAGE,
            arguments={"container": "app"},
        ),
    ),
)


@requirement("RESET-10")
def test_a_new_image_does_not_start_the_curve_over() -> Scenario:
    return IMAGE_CHANGED
