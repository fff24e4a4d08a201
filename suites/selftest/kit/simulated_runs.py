"""A run whose histories a simulated kubelet left."""

from datetime import UTC, datetime
from pathlib import Path
from random import Random

import msgspec

from crashloop.rundir import RunDir, RunInfo
from crashloop.spec.plan import Plan
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario
from sim import simulate
from suites.selftest.kit.sim_kit import V1_37


def simulated_run(folder: Path, profile: KubeletProfile, scenario: PodScenario) -> RunDir:
    """The directory of a run of one scenario."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    run = RunDir.create(folder / "run", RunInfo(suite="conformance", started=began, crashloop_version="0"))
    plan = Plan(
        suite="conformance",
        provider="local",
        kubernetes_version=str(V1_37),
        scope="quick",
        profiles=(profile,),
        scenarios=(scenario,),
        judgements=(),
    )
    run.write(run.plan_json, plan)
    events = simulate(scenario, profile, V1_37, rng=Random(1))
    run.history(scenario.name).write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in events))
    return run
