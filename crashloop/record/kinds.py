"""What records each kind of scenario: the recorder's one table of kinds."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from crashloop.cluster.provider import Node
from crashloop.record.pod_scenario import ActivePod
from crashloop.record.scenario_loop import ActiveScenario
from crashloop.record.single_task import ApiRequests, KubeletStart, NothingToRecord
from crashloop.record.site import RecordingSite
from crashloop.spec.scenario import AnyScenario, ApiScenario, PodScenario, Scenario, StartupScenario, TextScenario


class RecordedKind(NamedTuple):
    """How a kind of scenario is recorded."""

    active: Callable[[Any, Any, RecordingSite], ActiveScenario]
    """Made of the scenario, its node (None if it needs none) and the site."""
    at_once: int | None = None
    """How many run at the same time; None: as many as the budgets allow."""


KINDS: Mapping[type[AnyScenario], RecordedKind] = {
    PodScenario: RecordedKind(ActivePod),
    StartupScenario: RecordedKind(KubeletStart, at_once=2),
    # One after the other, so that what one stores is gone before another uses the same names.
    ApiScenario: RecordedKind(ApiRequests, at_once=1),
    TextScenario: RecordedKind(NothingToRecord),
}

AT_ONCE: Mapping[type[AnyScenario], int] = {
    kind: recorded.at_once for kind, recorded in KINDS.items() if recorded.at_once is not None
}


def active(scenario: Scenario, node: Node | None, site: RecordingSite) -> ActiveScenario:
    """A scenario that is to be launched."""
    return KINDS[type(scenario)].active(scenario, node, site)
