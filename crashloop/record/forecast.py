"""When everything in a run is, if each scenario takes so long: the schedule, played with a clock of its own. Pure."""

import heapq
from collections.abc import Mapping
from itertools import count
from typing import NamedTuple

from crashloop.record.schedule import Schedule

STEP_S = 0.5


class Forecast(NamedTuple):
    """Begin and end of each scenario and node, in seconds."""

    scenarios: dict[str, tuple[float, float]]
    nodes: dict[str, tuple[float, float]]
    """From the request for a node until its slot is free."""

    @property
    def ends_s(self) -> float:
        """The end of the last scenario."""
        return max((end_s for _, end_s in self.scenarios.values()), default=0.0)

    def beside(self, other: "Forecast", begin_s: float) -> "Forecast":
        """With another that begins then."""

        def moved(times_s: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
            return {name: (from_s + begin_s, to_s + begin_s) for name, (from_s, to_s) in times_s.items()}

        return Forecast(self.scenarios | moved(other.scenarios), self.nodes | moved(other.nodes))


def forecast(schedule: Schedule, length_s: Mapping[str, float], *, bring_up_s: float, take_down_s: float) -> Forecast:
    """Carry a plan out by its schedule, which is used up. Raises KeyError for a scenario without a length."""
    began_s: dict[str, float] = {}
    came_s: dict[str, float] = {}
    found = Forecast({}, {})
    order = count()
    due: list[tuple[float, int, str, str]] = []

    def after(wait_s: float, what: str, name: str) -> None:
        heapq.heappush(due, (now_s + wait_s, next(order), what, name))

    now_s = 0.0
    while not schedule.is_done:
        for node in schedule.nodes_to_take_down():
            after(take_down_s, "gone", node.name)
        for node in schedule.nodes_to_bring_up():
            came_s[node.name] = now_s
            after(bring_up_s, "up", node.name)
        for scenario in schedule.to_launch(now_s):
            began_s[scenario.name] = now_s
            after(length_s[scenario.name], "ended", scenario.name)
        now_s = min([now_s + STEP_S, *(max(at_s, now_s) for at_s, *_ in due[:1])])
        while due and due[0][0] <= now_s:
            _, _, what, name = heapq.heappop(due)
            if what == "up":
                schedule.is_up(name)
            elif what == "gone":
                schedule.is_gone(name)
                found.nodes[name] = came_s[name], now_s
            else:
                schedule.ended(name, now_s)
                found.scenarios[name] = began_s[name], now_s
    return Forecast(found.scenarios, {name: (at_s, now_s) for name, at_s in came_s.items()} | found.nodes)
