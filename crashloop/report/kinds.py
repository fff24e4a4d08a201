"""How the delays of each kind of scenario are captioned where they are drawn: one row per kind."""

from collections.abc import Callable
from typing import Any

from crashloop.spec.scenario import AnyScenario, ApiScenario, PodScenario, StartupScenario, TextScenario

CAPTIONS: dict[type[AnyScenario], Callable[[Any], str]] = {
    PodScenario: lambda scenario: str(scenario.mode.value),
    StartupScenario: lambda _: "",
    ApiScenario: lambda _: "",
    TextScenario: lambda _: "",
}
"""The mode in which delays were measured; empty for scenarios without delays."""
