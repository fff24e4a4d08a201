"""Trying a kubelet configuration: a second kubelet inside a node, watched until it exits or is healthy, then ended.

It has a runtime, a cgroup and a folder of its own: a kubelet that shared the node's would take the node's pods for
orphans and kill them (HandlePodCleanups in pkg/kubelet/kubelet_pods.go@v1.37.1).
"""

import signal
import time
from pathlib import Path

from crashloop.cluster.local.api import Admin, Refused
from crashloop.cluster.local.bring_up import BringUp
from crashloop.cluster.local.certificates import Authority
from crashloop.cluster.local.files import last_lines
from crashloop.cluster.local.machinery import Machinery
from crashloop.cluster.local.plan import NodePlan
from crashloop.cluster.local.processes import Daemon, exit_code, is_alive, signal_daemon, wait_gone
from crashloop.history.event import Channel, Event, Kind
from crashloop.waiting import WaitTimeout, wait_until

LAST_LINES = 40
"""Enough for a panic's message above its stack."""
_GONE_S = 10.0


def try_candidate(
    plan: NodePlan, *, machinery: Machinery, bring_up: BringUp, admin: Admin, at_most_s: float
) -> tuple[Event, ...]:
    """What a kubelet with the candidate's configuration did, as PROCESS_* events; afterwards it is gone."""
    layout = machinery.layout
    machinery.write(plan.folders, plan.files)
    Authority.load(layout.ca_certificate, layout.ca_key).issue(plan.certificate)
    try:
        bring_up.start_runtime(plan, subject=f"candidate {plan.profile}", images=False)
        kubelet = machinery.start(plan.kubelet)
        started = _event(plan, Kind.PROCESS_STARTED, pid=kubelet.pid, argv=list(plan.kubelet.argv))
        return started, *_watch(plan, kubelet, admin, at_most_s)
    finally:
        _end(plan, machinery)


def _watch(plan: NodePlan, kubelet: Daemon, admin: Admin, at_most_s: float) -> tuple[Event, ...]:
    kubelet_url = f"https://{plan.address}:{plan.kubelet_port}"

    def outcome() -> Event | None:
        if not is_alive(kubelet):
            output = last_lines(Path(plan.kubelet.log), LAST_LINES)
            return _event(plan, Kind.PROCESS_EXITED, exit_code=exit_code(kubelet), stderr=output)
        if not admin.answers(f"{kubelet_url}/healthz", "ok"):
            return None
        return _event(plan, Kind.PROCESS_HEALTHY, configz=_configz(admin, kubelet_url))

    try:
        return (wait_until("the candidate to exit or to be healthy", outcome, timeout_s=at_most_s, every_s=0.05),)
    except WaitTimeout:
        return ()


def _configz(admin: Admin, kubelet_url: str) -> object:
    try:
        return admin.ask_json(f"{kubelet_url}/configz").get("kubeletconfig")
    except (Refused, OSError):
        return None


def _end(plan: NodePlan, machinery: Machinery) -> None:
    for process in (plan.kubelet, plan.runtime):
        daemon = machinery.ledger.daemon(process.role, process.node)
        if daemon is not None:
            signal_daemon(daemon, signal.SIGKILL)
            wait_gone(daemon, describe=f"{process.role} of {process.node}", timeout_s=_GONE_S)


def _event(plan: NodePlan, kind: Kind, **data: object) -> Event:
    now = time.time_ns()
    return Event(
        seq=0, t_ns=now, received_ns=now, channel=Channel.KUBELET, kind=kind, node=plan.kubelet.namespace, data=data
    )
