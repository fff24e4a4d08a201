"""The releases of a run on several versions: which kubelets, and which of them can be nodes of a cluster. Pure."""

import msgspec

from crashloop.cluster.binaries.skew import can_join_api_server
from crashloop.spec.comparison import Judgeable
from crashloop.spec.profile import AT
from crashloop.spec.scenario import PodScenario, Scenario, StartupScenario
from crashloop.spec.version import KubernetesVersion

PINNED = ("1.33.13", "1.34.4", "1.35.8", "1.36.4", "1.37.1")
"""One version of each release that this suite knows; `make versions` gets them all."""

LOOKS_SELDOM = (1, 34)
"""Up to this release a kubelet looks at a waiting pod every 10 to 16 s only, so that ten restarts of 2 s take two minutes."""
LONGEST_WATCH_S = 240.0


def on_version(scenario: Scenario, version: str) -> Scenario:
    """The scenario on a kubelet of that version, with a name of its own. Raises TypeError for one without a kubelet."""
    name = f"{scenario.name}-v{version.replace('.', '-')}"
    match scenario:
        case PodScenario():
            until = scenario.until
            if KubernetesVersion.parse(version).release <= LOOKS_SELDOM:
                until = msgspec.structs.replace(until, at_most_s=max(until.at_most_s, LONGEST_WATCH_S))
            return msgspec.structs.replace(scenario, name=name, profile=f"{scenario.profile}{AT}{version}", until=until)
        case StartupScenario():
            kubelets = {
                field: f"{profile}{AT}{version}"
                for field in ("profile", "candidate", "control")
                if (profile := getattr(scenario, field)) is not None
            }
            return msgspec.structs.replace(scenario, name=name, **kubelets)
        case _:
            raise TypeError(f"scenario {scenario.name!r} has no kubelet")


def can_join(judged: Judgeable, api_server: KubernetesVersion) -> bool:
    """Whether upstream supports all kubelets that it names beside an API server of this version."""
    named = [profile.rpartition(AT) for each in judged.scenarios for profile in each.profiles]
    return all(can_join_api_server(KubernetesVersion.parse(version), api_server) for _, at, version in named if at)
