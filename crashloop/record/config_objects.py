"""The ConfigMaps and Secrets of scenarios: made, changed, removed."""

import logging
from typing import Any

from crashloop.kube.client import NOT_FOUND, STRATEGIC_MERGE, KubeApi
from crashloop.kube.errors import ApiRefusal, KubeError
from crashloop.pods.config_objects import RESOURCES, config_manifest, pull_secret_manifest, stored_name
from crashloop.pods.manifest import RUN_LABEL, SCENARIO_LABEL
from crashloop.spec.dependency import ConfigObject
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
        each = _named(scenario, name)
        body = self._manifest(scenario, each, each.data)
        self._api.call(f"create {each.kind.value} {name} of {scenario.name}", "POST", self._path(each), body=body)

    def change(self, scenario: PodScenario, name: str, data: dict[str, str]) -> None:
        """Give the object these values; those that are not named stay."""
        each = _named(scenario, name)
        patch = self._manifest(scenario, each, data)
        doing = f"change {each.kind.value} {name} of {scenario.name}"
        path = f"{self._path(each)}/{stored_name(scenario.name, name)}"
        self._api.call(doing, "PATCH", path, body=patch, content_type=STRATEGIC_MERGE)

    def delete(self, scenario: PodScenario, name: str) -> None:
        each = _named(scenario, name)
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


def _named(scenario: PodScenario, name: str) -> ConfigObject:
    return next(each for each in scenario.objects if each.name == name)
