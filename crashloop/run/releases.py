"""The releases of a run on several versions: which kubelets, and which of them can be nodes of a cluster. Pure."""

from typing import TypeVar

from crashloop.cluster.binaries.skew import can_join_api_server
from crashloop.run.kinds import KINDS
from crashloop.spec.control_plane import controllers_of
from crashloop.spec.plan import Judgeable
from crashloop.spec.profile import version_of
from crashloop.spec.scenario import AnyScenario
from crashloop.spec.version import KubernetesVersion

PINNED = ("1.33.13", "1.34.4", "1.35.8", "1.36.4", "1.37.1")
"""One version of each release that this suite knows; `make versions` gets them all."""

Kind = TypeVar("Kind", bound=AnyScenario)


def on_version(scenario: Kind, version: str) -> Kind:
    """The scenario on a kubelet of that version, with a name of its own. Raises TypeError for one without a kubelet."""
    found: Kind = KINDS[type(scenario)].on_version(scenario, version)
    return found


def can_join(judged: Judgeable, api_server: KubernetesVersion) -> bool:
    """Whether upstream supports its kubelets beside an API server of this version, and its controllers are one release older."""
    controllers = map(KubernetesVersion.parse, controllers_of(each.control_plane for each in judged.scenarios))
    if any(api_server.minor - each.minor != 1 for each in controllers):
        return False
    versions = filter(None, (version_of(profile) for each in judged.scenarios for profile in each.profiles))
    return all(can_join_api_server(KubernetesVersion.parse(version), api_server) for version in versions)
