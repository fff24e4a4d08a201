"""ConfigMaps and Secrets of scenarios as objects of core/v1. Pure."""

import base64
import json
from typing import Any

from crashloop.spec.dependency import PASSWORD_KEY, ConfigKind, ConfigObject

RESOURCES = {ConfigKind.CONFIG_MAP: "configmaps", ConfigKind.SECRET: "secrets"}
_DATA = {ConfigKind.CONFIG_MAP: "data", ConfigKind.SECRET: "stringData"}


def stored_name(scenario: str, name: str) -> str:
    """Unique in the namespace of a run."""
    return f"{scenario}-{name}"


def config_manifest(
    scenario: str, each: ConfigObject, data: dict[str, str], *, labels: dict[str, str]
) -> dict[str, Any]:
    """The object of a scenario with these data; as a patch it changes them."""
    return {
        "apiVersion": "v1",
        "kind": each.kind.value,
        "metadata": {"name": stored_name(scenario, each.name), "labels": labels},
        _DATA[each.kind]: data,
    }


def pull_secret_manifest(
    scenario: str, each: ConfigObject, data: dict[str, str], *, labels: dict[str, str], registry: str
) -> dict[str, Any]:
    """The same of an object that is a pull secret: a login at the registry with its password."""
    user, password = "crashloop", data[PASSWORD_KEY]
    login = {"username": user, "password": password, "auth": base64.b64encode(f"{user}:{password}".encode()).decode()}
    docker = {".dockerconfigjson": json.dumps({"auths": {registry: login}})}
    return {**config_manifest(scenario, each, docker, labels=labels), "type": "kubernetes.io/dockerconfigjson"}
