"""A scenario on a kubelet with a version of its own, kind by kind (crashloop.run.kinds). Pure."""

import msgspec

from crashloop.spec.profile import with_version
from crashloop.spec.scenario import AnyScenario, PodScenario, StartupScenario
from crashloop.spec.version import KubernetesVersion

LOOKS_SELDOM = (1, 34)
"""Up to this release a kubelet looks at a waiting pod every 10 to 16 s only, so that ten restarts of 2 s take two minutes."""
LONGEST_WATCH_S = 240.0


def pod_on_version(scenario: PodScenario, version: str) -> PodScenario:
    """The same pod on a node with that kubelet."""
    until = scenario.until
    if KubernetesVersion.parse(version).release <= LOOKS_SELDOM:
        until = msgspec.structs.replace(until, at_most_s=max(until.at_most_s, LONGEST_WATCH_S))
    return msgspec.structs.replace(
        scenario, name=_name(scenario, version), profile=with_version(scenario.profile, version), until=until
    )


def startup_on_version(scenario: StartupScenario, version: str) -> StartupScenario:
    """The same start, of that kubelet in a node with that kubelet."""
    return msgspec.structs.replace(
        scenario,
        name=_name(scenario, version),
        profile=with_version(scenario.profile, version),
        candidate=with_version(scenario.candidate, version),
        control=None if scenario.control is None else with_version(scenario.control, version),
    )


def no_kubelet(scenario: AnyScenario, _version: str) -> AnyScenario:
    """Raises TypeError."""
    raise TypeError(f"scenario {scenario.name!r} has no kubelet")


def _name(scenario: AnyScenario, version: str) -> str:
    return f"{scenario.name}-v{version.replace('.', '-')}"
