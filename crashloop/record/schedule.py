"""When pods are launched and when interventions are due. Pure."""

from collections.abc import Iterable

from crashloop.record.counts import Counts
from crashloop.spec.plan import Budgets
from crashloop.spec.scenario import PodScenario, Trigger


def launch_offsets(scenarios: Iterable[PodScenario], budgets: Budgets) -> dict[str, float]:
    """Seconds from the beginning of a wave at which each pod is created, in the order given.

    A pod costs one start for its sandbox and one for each container; the budget says how many the host can carry a second.
    """
    offsets, at_s = {}, 0.0
    for scenario in scenarios:
        offsets[scenario.name] = at_s
        at_s += (1 + len(scenario.pod.containers)) / budgets.container_starts_per_s
    return offsets


def due_ns(trigger: Trigger, *, created_ns: int, counts: Counts) -> int | None:
    """When an intervention is due (UTC); None as long as what triggers it has not happened."""
    if trigger.container is None or trigger.after_restart is None:
        return created_ns + _ns(trigger.after_s)
    exited_ns = counts.exit_ns(trigger.container, trigger.after_restart)
    return None if exited_ns is None else exited_ns + _ns(trigger.after_s)


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
