"""A load in steps names those between the step that keeps every SLO and the one that breaks one, for a further run."""

from pathlib import Path

from crashloop.verdict import ExitCode, Outcome
from suites.stress.started import left_on_host, started, verdict

NARROWER = ["2 pods", "4 pods", "5 pods", "6 pods", "8 pods"]
MOST = 2.2
"""Restarts per second: four pods at a maximum of 1 s make about two."""
SLO = f"""
description: So many restarts that a step breaks it.
slos:
  - id: restarts-of-a-step
    sli: {{kind: rate, of: restarts, groups: [crasher]}}
    target: {{at_most: {MOST}, unit: restarts/s}}
    phase: storm
    min_samples: 5
    mode: report
    definition: Restarts per second.
    source: this test
"""
PROFILE = """
nodes:
  - {{name: storm, profile: max-1s}}
loads:
  crashers: {{kind: crash, node: storm}}
stages:
  - &step {{name: storm, mix: 1 pods, duration_s: 12, settle_s: 3, users: {{crashers: 1}}}}
  - {{<<: *step, mix: 2 pods, users: {{crashers: 2}}}}
  - {{<<: *step, mix: 8 pods, users: {{crashers: 8}}}}
slos: {{files: [{slo}]}}
"""


def test_the_verdict_names_the_steps_of_a_run_that_narrows_it(tmp_path: Path) -> None:
    slo, profile = tmp_path / "slo.yaml", tmp_path / "steps.yaml"
    slo.write_text(SLO, encoding="utf-8")
    profile.write_text(PROFILE.format(slo=slo), encoding="utf-8")
    for steps, mixes in (((), ["1 pods", "2 pods", "8 pods"]), (("--steps", "2,4,5,6,8"), NARROWER)):
        folder = tmp_path / f"{len(mixes)} steps"
        folder.mkdir()
        with started(str(profile.with_suffix("")), folder, *steps) as running:
            results = running.ended()
        found = verdict(results, "highest-rate")
        assert running.process.returncode == ExitCode.OK
        assert [each.mix for each in results.stages] == mixes
        assert found.outcome is Outcome.PASS, found
        assert steps or found.sentence.endswith("--steps 2,4,5,6,8 narrows it.")
        assert found.value is not None
        assert 0.5 < found.value <= MOST
        assert left_on_host(running) == []
