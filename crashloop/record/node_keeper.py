"""Starts and removes the nodes of a run: one thread changes them while scenarios continue."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor

import msgspec

from crashloop.cluster.provider import Capability, Node, NodeRequest, Progress
from crashloop.errors import ClusterError, UsageError
from crashloop.record.run_cluster import match_nodes, place_nodes, read_environment
from crashloop.record.schedule import Schedule
from crashloop.record.site import RecordingSite
from crashloop.spec.plan import Plan, PlannedNode
from crashloop.spec.scenario import Scenario
from crashloop.yaml_text import Json

log = logging.getLogger(__name__)


class Stranded(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario whose node did not come up."""

    scenario: Scenario
    error: str


class _Changed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one change, by names of the plan."""

    gone: tuple[str, ...]
    up: tuple[str, ...]
    failed: dict[str, ClusterError]


def node_requests(plan: Plan, nodes: tuple[PlannedNode, ...]) -> tuple[NodeRequest, ...]:
    """Requests to a provider, one per node."""
    return tuple(NodeRequest(name=node.name, profile=plan.profile(node.profile)) for node in nodes)


class NodeKeeper:
    """Carries out the schedule's decisions about nodes. `lent` nodes existed before the run, and stay."""

    def __init__(self, site: RecordingSite, schedule: Schedule, progress: Progress, *, lent: frozenset[str]) -> None:
        self._run = site.run
        self._apart = site.apart
        self._plan = site.plan
        self._cluster = site.cluster
        self._api = site.api
        self._channels = site.channels
        self._facts = site.facts
        self._schedule = schedule
        self._progress = progress
        self._lent = lent
        can_change = Capability.NODES_CHANGE in site.cluster.info.capabilities
        self._nodes = (match_nodes if can_change else place_nodes)(site.plan.nodes, site.cluster.info.nodes)
        """Nodes of the cluster by those of the plan."""
        self._nodes_ever: dict[str, Node] = {}
        self._objects_ever: dict[str, Json] = {}
        self._change: Future[_Changed] | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="nodes")

    def node_of(self, scenario: Scenario) -> Node | None:
        """The node of a scenario that can be launched; None if it needs none."""
        planned = self._plan.placements.get(scenario.name)
        return None if planned is None else self._nodes[planned]

    def tend(self) -> tuple[Stranded, ...]:
        """Begin what is due, unless a change is under way; the scenarios that have lost their node since the last call.

        Raises UsageError if a node cannot be used for a reason that is the user's to mend, and ClusterError if no node of the
        run has come up.
        """
        stranded: tuple[Stranded, ...] = ()
        if self._change is not None:
            if not self._change.done():
                return ()
            stranded = self._settle(self._change.result())
        going, coming = self._schedule.nodes_to_take_down(), self._schedule.nodes_to_bring_up()
        self._change = self._pool.submit(self._carry_out, going, coming) if going or coming else None
        return stranded

    def close(self) -> None:
        """Return once no change is under way."""
        self._pool.shutdown(cancel_futures=True)

    def _settle(self, changed: _Changed) -> tuple[Stranded, ...]:
        """Let the schedule know."""
        for node in changed.gone:
            self._schedule.is_gone(node)
        for node in changed.up:
            self._schedule.is_up(node)
        if changed.failed and not self._nodes_ever:
            raise next(iter(changed.failed.values()))
        return tuple(
            Stranded(scenario=scenario, error=str(error))
            for node, error in changed.failed.items()
            for scenario in self._schedule.did_not_come_up(node)
        )

    def _carry_out(self, going: tuple[PlannedNode, ...], coming: tuple[PlannedNode, ...]) -> _Changed:
        if going:
            self._take_down({self._nodes[node.name].name for node in going})
        failed = self._bring_up(coming) if coming else {}
        up = [node for node in coming if node.name not in failed]
        self._write_cluster([self._nodes[node.name] for node in up])
        return _Changed(gone=tuple(node.name for node in going), up=tuple(node.name for node in up), failed=failed)

    def _bring_up(self, coming: tuple[PlannedNode, ...]) -> dict[str, ClusterError]:
        """Bring nodes up, together if that works; the errors of those that did not come."""
        try:
            self._add(coming)
        except UsageError:
            raise
        except ClusterError as error:
            if len(coming) > 1:
                return {name: failed for node in coming for name, failed in self._bring_up((node,)).items()}
            log.error("node %s: %s", coming[0].name, error)
            return {coming[0].name: error}
        return {}

    def _add(self, coming: tuple[PlannedNode, ...]) -> None:
        missing = node_requests(self._plan, tuple(node for node in coming if node.name not in self._nodes))
        present = {node.name for node in self._cluster.info.nodes}
        if wanted := tuple(request for request in missing if request.name not in present):
            self._cluster.add_nodes(wanted, self._progress)
        info = self._cluster.info
        self._nodes |= {node.name: node for node in info.nodes if node.name in {each.name for each in missing}}
        nodes = tuple(self._nodes[node.name] for node in coming)
        self._channels.add_nodes(msgspec.structs.replace(info, nodes=nodes))
        for node in nodes:
            self._facts.read(node)
            self._objects_ever[node.name] = self._api.node(node.name)
        log.info("nodes in use from now on: %s", ", ".join(node.name for node in nodes))

    def _take_down(self, names: set[str]) -> None:
        """Nodes that have served their last scenario go, after their logs were copied; those that are lent are only let go of."""
        log.info("nodes that have served their last scenario: %s", ", ".join(sorted(names)))
        self._channels.remove_nodes(names)
        own = tuple(sorted(names - self._lent))
        if not own:
            return
        try:
            self._cluster.collect_logs(self._run.logs_of(self._apart))
            self._cluster.remove_nodes(own)
        except (ClusterError, OSError) as error:
            log.warning("nodes %s: not taken down in good order: %s", ", ".join(own), error)

    def _write_cluster(self, nodes: list[Node]) -> None:
        """cluster.json and environment.json, with all nodes that there ever were."""
        info = self._cluster.info
        self._nodes_ever |= {node.name: node for node in nodes}
        path = self._run.cluster_of(self._apart)
        self._run.write(path, msgspec.structs.replace(info, nodes=tuple(self._nodes_ever.values())))
        facts = [self._objects_ever[name] for name in self._nodes_ever]
        if self._apart is None or not self._run.environment_json.exists():
            self._run.write(self._run.environment_json, read_environment(facts, node_image=info.node_image))
