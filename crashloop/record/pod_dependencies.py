"""What the pod of a scenario refers to: its ConfigMaps and Secrets, and its images in the cluster's registry."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from crashloop.cluster.provider import Registry, RegistryOffer
from crashloop.cluster.registry_server import TAG
from crashloop.errors import UsageError
from crashloop.history.event import Channel, Event, Kind
from crashloop.kube.answers import ApiRefusal, KubeError
from crashloop.kube.client import NOT_FOUND, STRATEGIC_MERGE, KubeApi
from crashloop.pods.manifest import (
    RESOURCES,
    RUN_LABEL,
    SCENARIO_LABEL,
    config_manifest,
    pull_secret_manifest,
    stored_name,
)
from crashloop.record.channels.channel import now_ns
from crashloop.record.site import RecordingSite
from crashloop.spec.dependency import PASSWORD, ConfigObject
from crashloop.spec.scenario import PodScenario

log = logging.getLogger(__name__)


class ConfigObjects:
    """Acts on the objects of the scenarios of one namespace. Methods raise KubeError."""

    def __init__(self, api: KubeApi, namespace: str, *, run: str, registry: str | None = None) -> None:
        """`registry` is the host and port of that whose pull secrets are made."""
        self._registry = registry
        self._api = api
        self._namespace = namespace
        self._run = run

    def create_present(self, scenario: PodScenario) -> None:
        """Those that are to be there when the pod is created."""
        for each in scenario.objects:
            if each.present:
                self.create(scenario, each.name)

    def create(self, scenario: PodScenario, name: str) -> None:
        each = _object_named(scenario, name)
        body = self._manifest(scenario, each, each.data)
        self._api.call(f"create {each.kind.value} {name} of {scenario.name}", "POST", self._path(each), body=body)

    def change(self, scenario: PodScenario, name: str, data: dict[str, str]) -> None:
        """Give the object these values; those that are not named stay."""
        each = _object_named(scenario, name)
        patch = self._manifest(scenario, each, data)
        doing = f"change {each.kind.value} {name} of {scenario.name}"
        path = f"{self._path(each)}/{stored_name(scenario.name, name)}"
        self._api.call(doing, "PATCH", path, body=patch, content_type=STRATEGIC_MERGE)

    def delete(self, scenario: PodScenario, name: str) -> None:
        each = _object_named(scenario, name)
        path = f"{self._path(each)}/{stored_name(scenario.name, name)}"
        self._api.call(f"delete {each.kind.value} {name} of {scenario.name}", "DELETE", path)

    def delete_all(self, scenario: PodScenario) -> None:
        """Whatever is left of them. Raises nothing."""
        for each in scenario.objects:
            try:
                self.delete(scenario, each.name)
            except KubeError as error:
                if not (isinstance(error, ApiRefusal) and error.code == NOT_FOUND):
                    log.warning("scenario %s: %s %s is left behind: %s", scenario.name, each.kind, each.name, error)

    def _manifest(self, scenario: PodScenario, each: ConfigObject, data: dict[str, str]) -> dict[str, Any]:
        labels = self._labels(scenario)
        if each.name not in scenario.pull_secrets or self._registry is None:
            return config_manifest(scenario.name, each, data, labels=labels)
        return pull_secret_manifest(scenario.name, each, data, labels=labels, registry=self._registry)

    def _labels(self, scenario: PodScenario) -> dict[str, str]:
        return {SCENARIO_LABEL: scenario.name, RUN_LABEL: self._run}

    def _path(self, each: ConfigObject) -> str:
        return f"/api/v1/namespaces/{self._namespace}/{RESOURCES[each.kind]}"


def _object_named(scenario: PodScenario, name: str) -> ConfigObject:
    return next(each for each in scenario.objects if each.name == name)


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
