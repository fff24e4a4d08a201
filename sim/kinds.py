"""What simulates each kind of scenario: one row per kind."""

from collections.abc import Callable, Sequence
from typing import Any

from crashloop.history.event import Event
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import AnyScenario, ApiScenario, PodScenario, StartupScenario, TextScenario
from sim.simulate import simulate_api, simulate_node, simulate_startup, simulate_text

Histories = tuple[tuple[Event, ...], ...]


def _each_alone(simulated: Callable[..., tuple[Event, ...]]) -> Callable[..., Histories]:
    def simulate_each(
        scenarios: Sequence[Any], *settings: Any, later: Sequence[KubeletProfile] = (), **more: Any
    ) -> Histories:
        assert not later, "only a pod sees its kubelet restart"
        return tuple(simulated(scenario, *settings, **more) for scenario in scenarios)

    return simulate_each


SIMULATIONS: dict[type[AnyScenario], Callable[..., Histories]] = {
    PodScenario: simulate_node,
    StartupScenario: _each_alone(simulate_startup),
    ApiScenario: _each_alone(simulate_api),
    TextScenario: _each_alone(simulate_text),
}
"""Each takes scenarios of one node, the judged profile, its version, and by name rng, behaviour, host and later."""
