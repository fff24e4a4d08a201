"""ConfigMaps, Secrets and registry images of a scenario, and what is refused."""

import pytest

from crashloop.spec.dependency import ConfigKind, ConfigObject, PullPolicy, RegistryImage, Variable
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.owner import StaticPod
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


LOGIN = ConfigObject(name="login", kind=ConfigKind.SECRET, data={"password": "wrong"})


def pulled(image: RegistryImage, **more: object) -> PodScenario:
    pod = Pod(containers=(Container(image=image), Container(name="other")))
    return PodScenario(name="s", profile="stock", pod=pod, until=Until(), **more)  # type: ignore[arg-type]


def offer(container: str) -> Intervention:
    arguments = {"container": container, "version": 2}
    return Intervention(trigger=Trigger(), action=InterventionKind.OFFER_IMAGE, arguments=arguments)


def test_the_pull_secrets_are_those_of_its_images() -> None:
    image = RegistryImage(policy=PullPolicy.ALWAYS, secret="login")
    assert pulled(image, objects=(LOGIN,)).pull_secrets == ("login",)


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no image version 3; there are: 1, 2"):
        RegistryImage(policy=PullPolicy.ALWAYS, version=3)


def test_an_offer_names_a_version() -> None:
    with pytest.raises(ValueError, match="offer-image needs the argument 'version', one of: 1, 2"):
        Intervention(trigger=Trigger(), action=InterventionKind.OFFER_IMAGE, arguments={"container": "app"})


def test_an_offer_for_a_container_without_such_an_image_is_refused() -> None:
    with pytest.raises(ValueError, match="scenario 's': container 'other' has no image in the registry"):
        pulled(RegistryImage(policy=PullPolicy.ALWAYS), interventions=(offer("other"),))


def test_a_pull_secret_without_a_password_is_refused() -> None:
    with pytest.raises(ValueError, match="no object 'login' has a value 'password'"):
        pulled(RegistryImage(policy=PullPolicy.ALWAYS, secret="login"))


def test_a_static_pod_takes_no_image_from_the_registry() -> None:
    with pytest.raises(ValueError, match="a pod of a Deployment and a static pod take no image from the registry"):
        pulled(RegistryImage(policy=PullPolicy.ALWAYS), owner=StaticPod())
