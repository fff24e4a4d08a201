"""A comparison: scenarios whose histories are judged together, to one verdict."""

import msgspec

from crashloop.spec.scenario import Scenario


class Comparison(msgspec.Struct, frozen=True, tag="comparison"):
    """What a requirement compares, as a test yields it. The order counts where a checker says so."""

    name: str
    """Unique among the scenarios and comparisons of a plan; lower-case letters, digits and dashes."""
    scenarios: tuple[Scenario, ...]
    """At least two, of different names."""

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of its scenarios."""
        return tuple(each.name for each in self.scenarios)

    @property
    def subject(self) -> str:
        """The judged kubelet profiles."""
        return ", ".join(dict.fromkeys(each.subject for each in self.scenarios))

    @property
    def longest_s(self) -> float:
        """Seconds after which the last of its scenarios has ended in any case."""
        return max(each.longest_s for each in self.scenarios)


def compared(name: str, *scenarios: Scenario) -> Comparison:
    """The comparison of these scenarios."""
    return Comparison(name, scenarios)


Judgeable = Scenario | Comparison
"""What a requirement is judged on: both have name, subject, longest_s, scenarios and compared."""
