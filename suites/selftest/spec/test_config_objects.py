"""A scenario makes, changes and removes its objects in an order in which that can be done."""

import pytest

from crashloop.spec.config_object import ConfigObject, Variable
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until

CREATE, CHANGE, DELETE = InterventionKind.CREATE_OBJECT, InterventionKind.CHANGE_OBJECT, InterventionKind.DELETE_OBJECT
SETTINGS = ConfigObject(name="settings", data={"GREETING": "one"})


def declared(
    *actions: InterventionKind, objects: tuple[ConfigObject, ...] = (SETTINGS,), variable: str = "GREETING"
) -> PodScenario:
    return PodScenario(
        name="s",
        profile="stock",
        pod=Pod(containers=(Container(env=(Variable(name=variable, object="settings"),)),)),
        until=Until(),
        objects=objects,
        interventions=tuple(
            Intervention(trigger=Trigger(), action=each, arguments={"object": "settings"}) for each in actions
        ),
    )


def test_an_object_may_be_changed_removed_and_made_again() -> None:
    assert len(declared(CHANGE, DELETE, CREATE, CHANGE).interventions) == 4


@pytest.mark.parametrize(
    ("actions", "problem"),
    [
        ((DELETE, CHANGE), "change-object 'settings', which was never made, or is gone"),
        ((DELETE, DELETE), "delete-object 'settings', which was never made, or is gone"),
        ((CREATE,), "create-object 'settings', which is there already"),
    ],
    ids=["changed after its end", "deleted twice", "made twice"],
)
def test_what_cannot_be_done_to_an_object_is_refused(actions: tuple[InterventionKind, ...], problem: str) -> None:
    with pytest.raises(ValueError, match=f"scenario 's': {problem}"):
        declared(*actions)


def test_an_object_that_is_changed_and_was_never_made_is_refused() -> None:
    absent = ConfigObject(name="settings", data=SETTINGS.data, present=False)
    with pytest.raises(ValueError, match="change-object 'settings', which was never made, or is gone"):
        declared(CHANGE, objects=(absent,))


def test_an_object_that_no_scenario_makes_cannot_be_mounted() -> None:
    with pytest.raises(ValueError, match="scenario 's': no object 'others' can be mounted"):
        PodScenario(name="s", profile="stock", pod=Pod(containers=(Container(folders=("others",)),)), until=Until())


def test_a_variable_of_an_object_that_lacks_it_is_refused() -> None:
    with pytest.raises(ValueError, match="no object 'settings' has a value 'OTHER'"):
        declared(variable="OTHER")
    with pytest.raises(ValueError, match="no object 'settings' has a value 'GREETING'"):
        declared(objects=())
