"""Tries a kubelet configuration in the namespaces of a node; see crashloop.cluster.kubelet_trials."""

import signal
from pathlib import Path

from crashloop.cluster.kubelet_trials import candidate_event, watch_candidate
from crashloop.cluster.local.api import Admin, RequestFailed
from crashloop.cluster.local.bring_up import BringUp
from crashloop.cluster.local.certificates import Authority
from crashloop.cluster.local.executor import Machinery
from crashloop.cluster.local.plan import NodePlan
from crashloop.cluster.processes import signal_daemon, wait_gone
from crashloop.history.event import Event, Kind

_GONE_S = 10.0


def try_candidate(
    plan: NodePlan, *, machinery: Machinery, bring_up: BringUp, admin: Admin, at_most_s: float
) -> tuple[Event, ...]:
    """Start the candidate, watch it and end it; its PROCESS_* events."""
    layout, node = machinery.layout, plan.kubelet.namespace
    kubelet_url = f"https://{plan.address}:{plan.kubelet_port}"
    machinery.write(plan.folders, plan.files, plan.links)
    Authority.load(layout.ca_certificate, layout.ca_key).issue(plan.certificate)
    try:
        bring_up.start_runtime(plan, subject=f"candidate {plan.profile}", images=False)
        kubelet = machinery.start(plan.kubelet)
        started = candidate_event(node, Kind.PROCESS_STARTED, pid=kubelet.pid, argv=list(plan.kubelet.argv))
        return started, *watch_candidate(
            node,
            kubelet,
            Path(plan.kubelet.log),
            healthy=lambda: admin.answers(f"{kubelet_url}/healthz", "ok"),
            configz=lambda: _configz(admin, kubelet_url),
            not_yet=RequestFailed,
            at_most_s=at_most_s,
        )
    finally:
        _end(plan, machinery)


def _configz(admin: Admin, kubelet_url: str) -> object:
    try:
        return admin.ask_json(f"{kubelet_url}/configz").get("kubeletconfig")
    except RequestFailed:
        return None


def _end(plan: NodePlan, machinery: Machinery) -> None:
    for process in (plan.kubelet, plan.runtime):
        daemon = machinery.ledger.daemon(process.role, process.node)
        if daemon is not None:
            signal_daemon(daemon, signal.SIGKILL)
            wait_gone(daemon, describe=f"{process.role} of {process.node}", timeout_s=_GONE_S)
