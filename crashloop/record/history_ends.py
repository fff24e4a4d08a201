"""The first line and the last lines of every history."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from crashloop.history.event import HISTORY_FORMAT, Event, Kind
from crashloop.record.channels.events import now_ns, recorder_event
from crashloop.record.channels.host import clock_event, read_clocks
from crashloop.record.history_file import HistoryFile
from crashloop.spec.plan import Plan
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario


def begin_event(
    scenario: Scenario,
    *,
    node: str | None,
    kubernetes_version: str,
    profile: KubeletProfile | None,
    feature_gates: Mapping[str, bool],
) -> Event:
    """The first line. `node` is None without a node, `profile` (the node's) where none is needed.

    `feature_gates` are those that the control plane was started with.
    """
    data = {
        "format": HISTORY_FORMAT,
        "scenario": msgspec.to_builtins(scenario),
        "node": node,
        "kubernetes_version": kubernetes_version,
        "profile": msgspec.to_builtins(profile),
        "feature_gates": dict(feature_gates),
    }
    return recorder_event(Kind.BEGIN, now_ns(), data, node=node)


def start_history(path: Path, begin: Event, *about_node: Event) -> HistoryFile:
    """A history with its first line, the clocks, and the facts about the node. Raises FileExistsError."""
    file = HistoryFile(path)
    for event in (begin, clock_event(read_clocks()), *about_node):
        file.append(event)
    return file


def end_events(reason: str, detail: str, **more: Any) -> tuple[Event, Event]:
    """The last two lines: the clocks, and why the history ends."""
    clocks = clock_event(read_clocks())
    return clocks, recorder_event(Kind.END, now_ns(), {"reason": reason, "detail": detail} | more)


def seal_unrecorded(path: Path, scenario: Scenario, plan: Plan, reason: str, detail: str) -> None:
    """The history of a scenario that was never begun, which says why."""
    file = HistoryFile(path)
    profile = None if scenario.node_profile is None else plan.profile(scenario.node_profile)
    version, gates = plan.kubernetes_version, plan.gates_for(scenario)
    file.append(begin_event(scenario, node=None, kubernetes_version=version, profile=profile, feature_gates=gates))
    file.seal(end_events(reason, detail))
