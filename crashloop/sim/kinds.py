"""What simulates each kind of scenario: one row per kind."""

from collections.abc import Callable

from crashloop.history.event import Event
from crashloop.sim.simulate import simulate, simulate_api, simulate_startup
from crashloop.spec.scenario import AnyScenario, ApiScenario, PodScenario, StartupScenario

SIMULATIONS: dict[type[AnyScenario], Callable[..., tuple[Event, ...]]] = {
    PodScenario: simulate,
    StartupScenario: simulate_startup,
    ApiScenario: simulate_api,
}
"""Each takes the scenario, the profile of what is judged, its version, and by name rng, faults and host."""
