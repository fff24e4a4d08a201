"""What becomes of a delay when a user changes the pod in its midst. KEP-5593, "Late recovery"."""

from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Intervention, InterventionKind, Mode, Pod, PodScenario, Trigger, Until
from crashloop.verdict import Verdict
from fixtures.requirements import confirm, requirement
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


@requirement("RESET-10", IMAGE_CHANGED, scope="full")
def test_a_new_image_does_not_start_the_curve_over(verdict: Verdict) -> None:
    """A user who changes the image during a delay MUST NOT start the curve over."""
    confirm(verdict)
