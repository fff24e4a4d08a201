"""A scenario with an image of the registry is refused where it could not be carried out."""

import pytest

from crashloop.spec.config_object import ConfigKind, ConfigObject
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, Pod
from crashloop.spec.registry_image import PullPolicy, RegistryImage
from crashloop.spec.scenario import PodScenario, Until
from crashloop.spec.static_pod import StaticPod

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
