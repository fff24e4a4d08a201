"""Run directories with as much evidence as a test leaves them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from crashloop.rundir import RecorderState, RunDir, RunInfo
from crashloop.spec.plan import Judgement, Plan
from crashloop.spec.scenario import StartupScenario
from suites.selftest.kit.cases import CRASHING, MAX_2S, STOCK, renamed
from suites.selftest.kit.histories import VERSION, History

ASKED = Judgement(requirement="BACKOFF-4", scenario="crashing")
TRIED = StartupScenario(name="start-max-2s", profile="stock", candidate="max-2s")


def a_run(tmp_path: Path, *judgements: Judgement, settings: Mapping[str, Any] | None = None, **changes: Any) -> RunDir:
    """A run of one scenario, with what a test changes in its settings and its plan."""
    run = RunDir.create(
        tmp_path / "run",
        RunInfo(
            suite="conformance",
            started=datetime(2026, 1, 1, tzinfo=UTC),
            crashloop_version="0",
            settings=dict(settings or {}),
        ),
    )
    plan = Plan(
        suite="conformance",
        provider="local",
        kubernetes_version=VERSION,
        scope="quick",
        profiles=(MAX_2S, STOCK),
        scenarios=(CRASHING, renamed(CRASHING, "other"), TRIED),
        judgements=judgements or (ASKED,),
    )
    run.write(run.plan_json, msgspec.structs.replace(plan, **changes))
    return run


def record(run: RunDir, history: History, *, lines: int | None = None) -> None:
    """Leave the first lines of a history, or all."""
    run.history(history.scenario.name).write_bytes(b"".join(history.lines()[:lines]))


def left(run: RunDir, state: str, **more: Any) -> None:
    """Leave what the recorder says of itself."""
    run.write(run.recorder_json, msgspec.convert({"state": state, "pid": 1, **more}, RecorderState))
