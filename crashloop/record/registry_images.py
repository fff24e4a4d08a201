"""The images of a scenario in the cluster's registry: offered, named by the pod, and the requests for them."""

from collections.abc import Iterator, Mapping

import msgspec

from crashloop.cluster.provider import Registry, RegistryOffer
from crashloop.cluster.registry_server import TAG
from crashloop.errors import UsageError
from crashloop.history.event import Channel, Event, Kind
from crashloop.record.channels.events import now_ns
from crashloop.record.site import RecordingSite
from crashloop.spec.dependency import PASSWORD
from crashloop.spec.scenario import PodScenario


class ScenarioImages:
    """A repository for each container with such an image. Methods raise ClusterError."""

    def __init__(self, site: RecordingSite, scenario: PodScenario) -> None:
        self._site = site
        self._images = {each.name: each.image for each in scenario.pod.containers if each.image is not None}
        self._folder = f"{site.namespace}/{scenario.name}"

    def names(self) -> Mapping[str, str]:
        """The image of each of these containers, as the pod names it."""
        return {name: f"{self._registry.address}/{self._repository(name)}:{TAG}" for name in self._images}

    def offer_first(self) -> None:
        """Offer what is to be there when the pod is created."""
        for name, image in self._images.items():
            self.offer(name, image.version)

    def offer(self, container: str, version: int | None) -> None:
        """From now on the tag names this version."""
        image = self._images[container]
        password = None if image.secret is None else PASSWORD
        offer = RegistryOffer(version=version, password=password, answers_after_s=image.answers_after_s)
        self._registry.offer(self._repository(container), offer)

    def requests(self) -> Iterator[Event]:
        """The requests for them so far."""
        for name in self._images:
            for each in self._registry.requests(self._repository(name)):
                yield Event(
                    seq=0,
                    t_ns=each.t_ns,
                    received_ns=now_ns(),
                    channel=Channel.REGISTRY,
                    kind=Kind.REQUEST,
                    container=name,
                    data={key: value for key, value in msgspec.to_builtins(each).items() if key != "t_ns"},
                )

    def forget(self) -> None:
        """Take them away."""
        for name in self._images:
            self._registry.forget(self._repository(name))

    @property
    def _registry(self) -> Registry:
        registry = self._site.cluster.registry
        if registry is None:
            raise UsageError(f"cluster {self._site.cluster.info.name}: it has no image registry of its own.")
        return registry

    def _repository(self, container: str) -> str:
        return f"{self._folder}/{container}"
