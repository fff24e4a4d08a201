"""Waits until a scenario's history is complete."""

from collections import defaultdict
from pathlib import Path

import msgspec
import psutil

from crashloop.errors import ClusterError
from crashloop.rundir import RecorderState, RunDir
from crashloop.spec.plan import Plan
from crashloop.waiting import wait_until

BRING_UP_S = 2400.0
"""Longest time for binaries (built from source at worst) and cluster."""

OVERHEAD_S = 120.0
"""Longest time to launch and seal a scenario, beyond its observation and the start of its node."""

_END = b'"kind":"end"'


def wait_until_sealed(run: RunDir, plan: Plan, scenario: str) -> None:
    """Return when the scenario's history is sealed, or when the recorder has ended without it.

    Raises WaitTimeout beyond the plan's own time, so that a hung recorder is noticed.
    """
    history = run.history(scenario)
    wait_until(
        f"history of {scenario} to be complete",
        lambda: is_sealed(history) or _recorder_has_ended(run),
        timeout_s=BRING_UP_S + longest_s(plan),
        every_s=0.2,
        last_seen=lambda: f"{history.name}: {_size(history)} bytes; recorder: {_state(run)}",
    )


def failure_of(run: RunDir) -> RecorderState | None:
    """The recorder's state if it failed: then nothing more is recorded."""
    state = _state(run)
    return state if state is not None and state.state == "failed" else None


def is_sealed(history: Path) -> bool:
    """Whether the last line of a history is its `end` event."""
    try:
        with history.open("rb") as file:
            file.seek(max(0, history.stat().st_size - 4096))
            return _END in file.read().rstrip(b"\n").rpartition(b"\n")[2]
    except FileNotFoundError:
        return False


def _recorder_has_ended(run: RunDir) -> bool:
    state = _state(run)
    return state is not None and (state.state in ("done", "failed", "interrupted") or not psutil.pid_exists(state.pid))


def _state(run: RunDir) -> RecorderState | None:
    try:
        return msgspec.json.decode(run.recorder_json.read_bytes(), type=RecorderState)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise ClusterError(f"run directory {run.root}: recorder.json is damaged ({error}).") from error


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def longest_s(plan: Plan) -> float:
    """Longest duration of the recording, with the longest duration of every scenario."""
    budgets, scenarios = plan.budgets, {each.name: each for each in plan.scenarios}
    side_by_side_s: dict[str, float] = {}
    one_by_one_s: defaultdict[str, float] = defaultdict(float)
    apart_s = 0.0
    for name, node in plan.placements.items():
        taken_s = OVERHEAD_S + scenarios[name].longest_s
        if scenarios[name].control_plane is not None:
            apart_s += taken_s
        elif scenarios[name].disturbs_node:
            one_by_one_s[node] += taken_s
        else:
            side_by_side_s[node] = max(side_by_side_s.get(node, 0.0), taken_s)
    occupied_s = [side_by_side_s.get(node.name, 0.0) + one_by_one_s[node.name] for node in plan.nodes]
    total_s = apart_s + sum(occupied_s) / budgets.live_nodes + max(occupied_s, default=0.0)
    total_s += sum(len(plan.starts_of(each)) for each in plan.scenarios) / budgets.container_starts_per_s
    total_s += sum(OVERHEAD_S + each.longest_s for each in plan.scenarios if each.node_profile is None)
    if budgets.live_pods is not None:
        pods_s = sum(OVERHEAD_S + each.longest_s for each in plan.scenarios if each.pod_spec is not None)
        total_s += pods_s / max(budgets.live_pods // 2, 1)  # the others may be heartbeats
    return total_s
