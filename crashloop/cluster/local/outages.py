"""Outages of a local cluster: components of its control plane stop and start, nodes are cut off from it."""

import signal
from collections.abc import Callable, Mapping

import msgspec

from crashloop.cluster.local.api import Admin, RequestFailed
from crashloop.cluster.local.control_plane import HUB, control_plane_plan
from crashloop.cluster.local.executor import Machinery
from crashloop.cluster.local.namespaces import set_cable
from crashloop.cluster.local.plan import Blueprint, ProcessPlan
from crashloop.cluster.processes import signal_daemon, wait_gone
from crashloop.errors import ClusterError
from crashloop.spec.control_plane import Component
from crashloop.waiting import wait_until

STOPS_WITHIN_S = 30.0
ANSWERS_WITHIN_S = 120.0


class LocalOutages:
    """Implements `crashloop.cluster.provider.Outages`."""

    def __init__(self, machinery: Machinery, blueprint: Callable[[], Blueprint]) -> None:
        """`blueprint` returns the present one."""
        self._machinery = machinery
        self._blueprint = blueprint

    def stop(self, component: Component) -> None:
        plan = self._plan(component, {})
        daemon = self._machinery.daemon(plan.role, plan.node)
        # An API server that may end in order first waits for its open watches.
        signal_daemon(daemon, signal.SIGKILL)
        wait_gone(daemon, describe=f"{component} to end", timeout_s=STOPS_WITHIN_S)

    def start(self, component: Component, feature_gates: Mapping[str, bool]) -> None:
        plan, blueprint = self._plan(component, feature_gates), self._blueprint()
        if self._machinery.runs(plan):
            raise ClusterError(f"{component} of cluster {blueprint.cluster}: it runs already. Stop it first.")
        daemon, admin = self._machinery.start(plan), Admin(blueprint.layout)

        def answers() -> bool:
            self._machinery.require_alive(plan, daemon, subject="control plane")
            return admin.answers(f"{blueprint.network.api_server}/readyz", "ok")

        wait_until(
            f"the API server to answer with {component}",
            answers,
            timeout_s=ANSWERS_WITHIN_S,
            not_yet=RequestFailed,
        )

    def cut_off(self, node: str) -> None:
        set_cable(self._machinery.holder(HUB), self._blueprint().node(node).index, "down")

    def connect(self, node: str) -> None:
        set_cable(self._machinery.holder(HUB), self._blueprint().node(node).index, "up")

    def _plan(self, component: Component, feature_gates: Mapping[str, bool]) -> ProcessPlan:
        blueprint = self._blueprint()
        gates = {**blueprint.feature_gates, **feature_gates}
        planned = control_plane_plan(msgspec.structs.replace(blueprint, feature_gates=gates)).first
        return next(each for each in planned if each.role == component)
