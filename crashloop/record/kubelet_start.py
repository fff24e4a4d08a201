"""A startup scenario: a second kubelet is tried in a node, beside the pods."""

from crashloop.cluster.provider import Capability, Node
from crashloop.errors import CrashloopError
from crashloop.record.single_task import SingleTask
from crashloop.record.site import RecordingSite
from crashloop.spec.scenario import StartupScenario


class KubeletStart(SingleTask):
    """Tries the kubelet of a candidate profile."""

    def __init__(self, scenario: StartupScenario, node: Node, site: RecordingSite) -> None:
        super().__init__(scenario, node, site)
        self._scenario = scenario
        self._on = node.name

    def record(self) -> tuple[str, str]:
        cluster = self._site.cluster
        if Capability.KUBELET_CANDIDATE not in cluster.info.capabilities:
            return "interrupted", f"the cluster lacks the capability {Capability.KUBELET_CANDIDATE.value}"
        candidate = self._site.plan.profile(self._scenario.candidate)
        try:
            events = cluster.try_kubelet(self._on, candidate, at_most_s=self._scenario.at_most_s)
        except CrashloopError as error:
            return "interrupted", str(error)
        for event in events:
            self.take(event)
        return "complete", f"the kubelet was tried: {', '.join(event.kind.value for event in events)}"
