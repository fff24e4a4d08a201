"""Waits until a scenario's history is complete."""

from pathlib import Path

import msgspec
import psutil

from crashloop.errors import ClusterError
from crashloop.rundir import RecorderState, RunDir
from crashloop.spec.plan import Plan
from crashloop.spec.scenario import PodScenario, Scenario
from crashloop.waiting import wait_until

BRING_UP_S = 2400.0
"""Longest time for binaries (built from source at worst) and cluster."""

WAVE_OVERHEAD_S = 120.0
"""Longest time to launch and seal a wave, beyond its longest observation."""

_END = b'"kind":"end"'


def wait_until_sealed(run: RunDir, plan: Plan, scenario: str) -> None:
    """Return when the scenario's history is sealed, or when the recorder has ended without it.

    Raises WaitTimeout beyond the plan's own time, so that a hung recorder is noticed.
    """
    history = run.history(scenario)
    wait_until(
        f"history of {scenario} to be complete",
        lambda: is_sealed(history) or _recorder_has_ended(run),
        timeout_s=BRING_UP_S + sum(WAVE_OVERHEAD_S + _longest_watch_s(plan, wave.placements) for wave in plan.waves),
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


def _longest_watch_s(plan: Plan, scenarios: dict[str, str]) -> float:
    def watch_s(scenario: Scenario) -> float:
        return scenario.until.at_most_s if isinstance(scenario, PodScenario) else scenario.at_most_s

    return max((watch_s(plan.scenario(name)) for name in scenarios), default=0.0)
