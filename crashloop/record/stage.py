"""A plan from its first scenario to its last, on one cluster: namespace, channels, nodes, scenarios of every kind.

The scenarios that have a control plane for themselves are recorded one after the other, each on a cluster of its own.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from crashloop.cluster.provider import Capability, Cluster, ClusterRequest, Node, NodeRequest, Progress
from crashloop.errors import CrashloopError
from crashloop.kube.answers import KubeError
from crashloop.kube.client import KubeApi
from crashloop.record.channels.cluster_channels import ClusterChannels
from crashloop.record.channels.kubelet_log import KubeletProcess
from crashloop.record.event_router import EventRouter
from crashloop.record.history_file import seal_unrecorded
from crashloop.record.node_keeper import NodeKeeper, Stranded, node_requests
from crashloop.record.pod_scenario import ActivePod
from crashloop.record.run_cluster import own_cluster, run_name, run_namespace
from crashloop.record.scenario_loop import ActiveScenario, Lifeline, ScenarioLoop
from crashloop.record.schedule import Schedule, has_own_pod
from crashloop.record.single_task import ApiRequests, KubeletStart, NothingToRecord
from crashloop.record.site import NodeFacts, RecordingSite
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan
from crashloop.spec.scenario import AnyScenario, ApiScenario, PodScenario, Scenario, StartupScenario, TextScenario

log = logging.getLogger(__name__)


def schedule_of(plan: Plan, capabilities: frozenset[Capability]) -> Schedule:
    """The schedule of a plan on a cluster that can do so much."""
    return Schedule(
        plan,
        at_once=AT_ONCE,
        node_pods=0 if Capability.NODES_ON_HOST in capabilities else 1,
        nodes_change=Capability.NODES_CHANGE in capabilities,
    )


def first_requests(plan: Plan, capabilities: frozenset[Capability]) -> tuple[NodeRequest, ...]:
    """The nodes to begin with: as many as the budgets allow, or all of them where nodes cannot change."""
    return node_requests(plan, schedule_of(plan, capabilities).nodes_to_bring_up())


class Stage:
    """Records a plan on a cluster that is up. Nodes that are `lent` were there before and stay.

    `apart` is the scenario that has the cluster for itself.
    """

    def __init__(
        self,
        run: RunDir,
        plan: Plan,
        cluster: Cluster,
        lifeline: Lifeline,
        progress: Progress,
        *,
        lent: frozenset[str] = frozenset(),
        apart: str | None = None,
    ) -> None:
        self._run = run
        self._plan = plan
        self._cluster = cluster
        self._lifeline = lifeline
        self._progress = progress
        self._lent = lent
        self._apart = apart
        self._api = KubeApi(cluster.info.kubeconfig, context=cluster.info.context)
        self._label = run_name(run.root.absolute())
        self._router = EventRouter()

    def record(self) -> None:
        """Record every scenario; returns early when the life line breaks."""
        with run_namespace(self._api, self._cluster.info, self._label, self._remove_namespace) as namespace:
            channels = ClusterChannels(
                self._api,
                namespace,
                self._label,
                self._router,
                self._restarted,
                shows_events=True,
                measures_api=has_own_pod(self._plan.budgets),
            )
            self._facts = NodeFacts(self._api, self._plan, self._cluster, self._router, channels.process)
            site = RecordingSite(
                run=self._run,
                plan=self._plan,
                cluster=self._cluster,
                api=self._api,
                namespace=namespace,
                label=self._label,
                router=self._router,
                channels=channels,
                facts=self._facts,
                apart=self._apart,
            )
            channels.start()
            try:
                self._record(site)
            finally:
                channels.stop()

    def _record(self, site: RecordingSite) -> None:
        schedule = schedule_of(self._plan, self._cluster.info.capabilities)
        nodes = NodeKeeper(site, schedule, self._progress, lent=self._lent)
        loop = ScenarioLoop(
            schedule=schedule,
            nodes=nodes,
            active=lambda scenario: active(scenario, nodes.node_of(scenario), site),
            strand=self._strand,
            lifeline=self._lifeline,
            follows_host=Capability.NODES_ON_HOST in self._cluster.info.capabilities,
            call_s=site.channels.control_takes_s,
        )
        try:
            loop.run()
        finally:
            nodes.close()
            self._restore_lent()

    def _restore_lent(self) -> None:
        """An interrupted scenario leaves no other profile on a node that stays."""
        for node in sorted(self._lent & self._facts.reconfigured):
            try:
                self._cluster.restart_kubelet(node, profile=self._facts.reconfigure(node, None))
            except CrashloopError as error:
                log.warning("node %s: its kubelet is left with another profile: %s", node, error)

    def _strand(self, stranded: Stranded) -> None:
        scenario = stranded.scenario
        seal_unrecorded(self._run.history(scenario.name), scenario, self._plan, "failed", stranded.error)
        log.warning("scenario %s: not launched: %s", scenario.name, stranded.error)

    def _restarted(self, node: str, process: KubeletProcess) -> None:
        self._facts.restarted(node, process)

    def _remove_namespace(self, name: str) -> None:
        try:
            self._api.delete_namespace(name)
        except KubeError as error:
            log.warning("namespace %s is left behind: %s", name, error)


def record_apart(
    run: RunDir,
    plan: Plan,
    request: Callable[[Plan, str], ClusterRequest],
    interruptible: Callable[[], AbstractContextManager[None]],
    lifeline: Lifeline,
    progress: Progress,
) -> None:
    """Record these scenarios of a plan; returns early when the life line breaks.

    `request` makes the request for the cluster of a part, whose scenario's name it is given; the cluster comes up inside of
    `interruptible`. The history of a scenario whose cluster does not come up says so, and the others go on.
    """
    for part in plan.apart():
        (scenario,) = part.scenarios
        name = scenario.name
        if lifeline.broken.is_set():
            return
        wanted, logs = request(part, name), run.logs_of(name)
        try:
            with own_cluster(part.provider, wanted, interruptible(), progress, logs=logs, keep=False) as cluster:
                Stage(run, part, cluster, lifeline, progress, apart=name).record()
        except CrashloopError as error:
            log.warning("scenario %s: %s", name, error)
            if not run.history(name).exists():
                seal_unrecorded(run.history(name), scenario, plan, "failed", str(error))


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
