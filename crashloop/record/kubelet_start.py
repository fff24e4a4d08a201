"""A startup scenario: a second kubelet is tried in a node, beside the pods."""

from functools import partial

import msgspec

from crashloop.cluster.provider import Capability, Node
from crashloop.errors import CrashloopError
from crashloop.history.event import Event
from crashloop.record.single_task import SingleTask
from crashloop.record.site import RecordingSite
from crashloop.spec.scenario import StartupScenario


class KubeletStart(SingleTask):
    """Tries the kubelet of a candidate profile, and that of the control profile."""

    def __init__(self, scenario: StartupScenario, node: Node, site: RecordingSite) -> None:
        super().__init__(scenario, node, site)
        self._scenario = scenario
        self._on = node.name

    def record(self) -> tuple[str, str]:
        cluster, control = self._site.cluster, self._scenario.control
        if Capability.KUBELET_CANDIDATE not in cluster.info.capabilities:
            return "interrupted", f"the cluster lacks the capability {Capability.KUBELET_CANDIDATE.value}"
        try:
            events = self._start(self._scenario.candidate, self._scenario.unknown_flags)
            for event in events:
                self.take(event)
            if control is not None:
                for event in self._site.controls.of(self._on, control, partial(self._start, control)):
                    self.take(event)
        except CrashloopError as error:
            return "interrupted", str(error)
        return "complete", f"the kubelet was tried: {', '.join(event.kind.value for event in events)}"

    def _start(self, profile: str, flags: tuple[str, ...] = ()) -> tuple[Event, ...]:
        candidate = msgspec.structs.replace(self._site.plan.profile(profile), arguments=flags)
        return self._site.cluster.try_kubelet(self._on, candidate, at_most_s=self._scenario.at_most_s)
