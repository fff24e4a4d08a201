"""Startup scenarios: a second kubelet is tried in a node, beside the pods; two at a time at most."""

import logging
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from crashloop.cluster.provider import Capability, Cluster, Node
from crashloop.errors import CrashloopError
from crashloop.history.event import Event
from crashloop.record.channels.host import clock_event, read_clocks
from crashloop.record.event_router import EventRouter
from crashloop.record.history_file import HistoryFile
from crashloop.record.lifeline import Lifeline
from crashloop.record.scenario_recording import begin_event, end_events
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan
from crashloop.spec.scenario import StartupScenario

AT_ONCE = 2

log = logging.getLogger(__name__)


class StartupTrials:
    """Runs startup scenarios in threads of its own."""

    def __init__(self, run: RunDir, plan: Plan, cluster: Cluster, session: EventRouter, lifeline: Lifeline) -> None:
        self._run = run
        self._plan = plan
        self._cluster = cluster
        self._session = session
        self._lifeline = lifeline
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="startup")
        self._trials: list[Future[None]] = []

    def start(self, scenarios: Iterable[tuple[StartupScenario, Node, Event]]) -> None:
        """Begin; each scenario comes with its node and what is known of that node's own kubelet."""
        self._trials = [self._pool.submit(self._try, *each) for each in scenarios]

    def wait(self) -> None:
        """Return when all are sealed."""
        self._pool.shutdown(wait=True)
        for trial in self._trials:
            trial.result()

    def _try(self, scenario: StartupScenario, node: Node, node_event: Event) -> None:
        profile = self._plan.profile(scenario.profile)
        version = self._cluster.info.kubernetes_version
        file = HistoryFile(self._run.history(scenario.name))
        begin = begin_event(scenario, node=node.name, kubernetes_version=version, profile=profile)
        for event in (begin, clock_event(read_clocks()), node_event):
            file.append(event)
        self._session.listen(scenario.name, file)
        reason, detail = self._record(scenario, node, file)
        self._session.unlisten(scenario.name)
        file.seal(end_events(reason, detail))
        log.info("scenario %s: %s: %s", scenario.name, reason, detail)

    def _record(self, scenario: StartupScenario, node: Node, file: HistoryFile) -> tuple[str, str]:
        if self._lifeline.broken.is_set():
            return "interrupted", "the recorder was told to stop"
        if Capability.KUBELET_CANDIDATE not in self._cluster.info.capabilities:
            return "interrupted", f"the cluster lacks the capability {Capability.KUBELET_CANDIDATE.value}"
        candidate = self._plan.profile(scenario.candidate)
        try:
            events = self._cluster.try_kubelet(node.name, candidate, at_most_s=scenario.at_most_s)
        except CrashloopError as error:
            return "interrupted", str(error)
        for event in events:
            file.append(event)
        kinds = ", ".join(event.kind.value for event in events)
        return "complete", f"the kubelet was tried: {kinds}"
