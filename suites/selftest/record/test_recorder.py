"""The recorder, as the process that it is, lives and ends as its run directory says, without a cluster."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from crashloop.errors import UsageError
from crashloop.history.reduction import read_recording
from crashloop.record.run_cluster import recorder_settings
from crashloop.rundir import RecorderState, RunDir, RunInfo
from crashloop.spec.assignment import assign
from crashloop.spec.plan import Budgets, Plan
from crashloop.spec.pod import Container, Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, StartupScenario, Until
from crashloop.verdict import ExitCode
from crashloop.waiting import wait_until

SCENARIOS = (
    PodScenario(
        name="crashing", profile="stock", pod=Pod(containers=(Container(program=exits_with(1)),)), until=Until()
    ),
    StartupScenario(name="refused", profile="stock", candidate="stock"),
)


def info(**settings: object) -> RunInfo:
    return RunInfo(suite="test", started=datetime.now(UTC), crashloop_version="0", settings=settings)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir.create(tmp_path / "run", info())


def write_plan(run: RunDir, *, provider: str) -> None:
    plan = Plan(
        suite="test",
        provider=provider,
        kubernetes_version="1.37.1",
        scope="quick",
        profiles=(KubeletProfile(name="stock"),),
        scenarios=SCENARIOS,
        judgements=(),
        **assign(SCENARIOS, Budgets())._asdict(),
    )
    run.write(run.plan_json, plan)


def state(run: RunDir) -> RecorderState | None:
    if not run.recorder_json.exists():
        return None
    return msgspec.json.decode(run.recorder_json.read_bytes(), type=RecorderState)


@contextmanager
def recording(run: RunDir) -> Iterator[subprocess.Popen[bytes]]:
    """A recorder that waits for a plan."""
    recorder = subprocess.Popen(
        [sys.executable, "-m", "crashloop.record.recorder", str(run.root)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    assert recorder.stdin is not None
    try:
        wait_until(
            "the recorder to start",
            lambda: (seen := state(run)) is not None and seen.state == "starting",
            timeout_s=60,
            last_seen=lambda: f"exit status {recorder.poll()}",
        )
        yield recorder
    finally:
        recorder.kill()
        recorder.wait(timeout=60)
        recorder.stdin.close()


def test_the_end_of_its_standard_input_ends_it(run: RunDir) -> None:
    with recording(run) as recorder:
        assert recorder.stdin is not None
        recorder.stdin.close()
        assert recorder.wait(timeout=60) == ExitCode.INTERRUPTED
    assert state(run) == RecorderState(state="interrupted", pid=recorder.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_a_signal_ends_it_like_the_end_of_its_standard_input(run: RunDir, number: signal.Signals) -> None:
    with recording(run) as recorder:
        recorder.send_signal(number)
        assert recorder.wait(timeout=60) == ExitCode.INTERRUPTED
    assert state(run) == RecorderState(state="interrupted", pid=recorder.pid)


def test_a_plan_that_cannot_be_carried_out_fails_the_run_and_seals_every_history(run: RunDir) -> None:
    with recording(run) as recorder:
        write_plan(run, provider="nowhere")
        assert recorder.wait(timeout=60) == ExitCode.ERROR
    ended = state(run)
    assert ended is not None
    assert (ended.state, ended.error_kind) == ("failed", "usage")
    assert ended.error is not None
    assert ended.error.startswith("provider 'nowhere': unknown")
    for scenario in SCENARIOS:
        with run.history(scenario.name).open("rb") as lines:
            recorded = read_recording(lines)
        assert recorded.damage == ()
        assert recorded.begin is not None
        assert recorded.begin.scenario == scenario
        assert recorded.end is not None
        assert (recorded.end.reason, recorded.end.detail) == ("failed", ended.error)
    assert ended.error.splitlines()[0] in run.recorder_log.read_text()


def test_settings_are_those_of_the_run_and_others_are_left_alone() -> None:
    settings = recorder_settings({"kubelet_binary": "/k", "keep": True, "scope": "full"})
    assert (settings.kubelet_binary, settings.bin_dir, settings.keep) == ("/k", None, True)


def test_a_setting_of_the_wrong_type_is_the_user_s_business() -> None:
    with pytest.raises(UsageError, match=r"run\.json: the settings cannot be used \(Expected `bool`"):
        recorder_settings({"keep": "yes"})
