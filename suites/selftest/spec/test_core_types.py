"""The types that everything is built on survive their JSON form, and refuse what makes no sense.

Durations, read as Go does.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crashloop.errors import UsageError
from crashloop.rundir import RunDir, RunInfo, new_run_path
from crashloop.spec.duration import NotADuration, duration_seconds, parse_duration_ns
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.plan import Judgement, Plan, PlannedNode, unique_scenarios
from crashloop.spec.pod import Container, Pod, Probe, ProbeKind, restart_in, restart_not_in
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import (
    HOLDS,
    Life,
    LifeEnd,
    Program,
    exits_with,
    hook_fails,
    killed,
    out_of_memory,
    refused,
    runs,
)
from crashloop.spec.scenario import PodScenario, Until
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import ExitCode, Outcome, Verdict, VerdictMode, exit_code, run_outcome, worst

CRASHING = PodScenario(
    name="crashing",
    profile="stock",
    pod=Pod(containers=(Container(program=exits_with(1, times=3)),)),
    until=Until(restarts={"app": 3}),
)
DISTURBED = msgspec.structs.replace(
    CRASHING,
    name="disturbed",
    interventions=(Intervention(trigger=Trigger(after_s=1), action=InterventionKind.RESTART_KUBELET),),
)


def verdict(outcome: Outcome, *, requirement: str = "CAP-3", **more: Any) -> Verdict:
    return Verdict(requirement=requirement, scenario="s", profile="p", outcome=outcome, **more)


def test_a_plan_survives_its_json_form() -> None:
    plan = Plan(
        suite="conformance",
        provider="local",
        kubernetes_version="1.37.1",
        scope="quick",
        profiles=(KubeletProfile(name="stock", config={"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}}),),
        scenarios=(CRASHING, DISTURBED),
        judgements=(Judgement(requirement="CAP-3", scenario="crashing"),),
        feature_gates={"ContainerRestartRules": False},
        nodes=(PlannedNode(name="stock", profile="stock"),),
        placements={"crashing": "stock", "disturbed": "stock"},
    )
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


def test_a_plan_of_an_earlier_version_with_waves_is_still_read() -> None:
    plan = {
        "format": "crashloop.plan/1",
        "suite": "conformance",
        "provider": "local",
        "kubernetes_version": "1.37.1",
        "scope": "quick",
        "profiles": [{"name": "stock"}],
        "scenarios": msgspec.to_builtins((CRASHING,)),
        "judgements": [{"requirement": "CAP-3", "scenario": "crashing"}],
        "waves": [{"nodes": [{"name": "stock", "profile": "stock"}], "placements": {"crashing": "stock"}}],
    }
    read = msgspec.json.decode(msgspec.json.encode(plan), type=Plan)
    assert (read.scenarios, read.nodes, read.placements, read.feature_gates) == ((CRASHING,), (), {}, {})


def test_two_different_scenarios_cannot_share_a_name() -> None:
    other = msgspec.structs.replace(CRASHING, profile="max-1s")
    assert unique_scenarios((CRASHING, CRASHING)) == (CRASHING,)
    with pytest.raises(UsageError, match="'crashing' is declared twice"):
        unique_scenarios((CRASHING, other))


def test_rules_match_by_operator() -> None:
    assert restart_in(42, 43).matches(43)
    assert not restart_in().matches(0)
    assert restart_not_in(42).matches(0)
    assert restart_not_in().matches(42)


def test_a_program_counts_its_exits_and_then_holds() -> None:
    assert exits_with(1, times=4).exits == 4
    assert [life.exit_code for life in runs((1, 1), (2, 0)).each_life()] == [1, 0]
    assert HOLDS.exits == 0
    with pytest.raises(ValueError, match="exit_code"):
        exits_with(256)


@pytest.mark.parametrize("text", ["1.37.1", "v1.37.1", "v1.37.1-rc.0+abc"], ids=["plain", "prefixed", "suffixed"])
def test_versions_are_read_in_every_usual_form(text: str) -> None:
    assert KubernetesVersion.parse(text) == (1, 37, 1)


@pytest.mark.parametrize("text", ["latest", "1." + "9" * 5000])
def test_a_version_that_is_none_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match=f"'{text}'"):
        KubernetesVersion.parse(text)


def test_the_worst_outcome_stands_for_all() -> None:
    assert worst([Outcome.PASS, Outcome.INCONCLUSIVE, Outcome.ERROR]) is Outcome.ERROR
    assert worst([Outcome.ERROR, Outcome.FAIL]) is Outcome.FAIL
    assert worst([]) is Outcome.SKIPPED


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([], ExitCode.INCONCLUSIVE),
        ([verdict(Outcome.SKIPPED)], ExitCode.INCONCLUSIVE),
        ([verdict(Outcome.PASS), verdict(Outcome.SKIPPED)], ExitCode.OK),
        ([verdict(Outcome.FAIL, deviation="known")], ExitCode.OK),
        ([verdict(Outcome.FAIL, deviation="known"), verdict(Outcome.FAIL)], ExitCode.FAIL),
        ([verdict(Outcome.INCONCLUSIVE), verdict(Outcome.PASS)], ExitCode.INCONCLUSIVE),
        ([verdict(Outcome.INCONCLUSIVE), verdict(Outcome.ERROR)], ExitCode.ERROR),
        ([verdict(Outcome.FAIL, mode=VerdictMode.REPORT)], ExitCode.OK),
        ([verdict(Outcome.INCONCLUSIVE, mode=VerdictMode.REPORT)], ExitCode.INCONCLUSIVE),
        ([verdict(Outcome.ERROR, requirement="LOAD-1", mode=VerdictMode.REPORT), verdict(Outcome.PASS)], ExitCode.OK),
    ],
    ids=[
        "none",
        "all-skipped",
        "passes",
        "known-deviation",
        "fail",
        "inconclusive",
        "error",
        "reported",
        "nothing-judged",
        "reported-error",
    ],
)
def test_the_exit_code_follows_the_worst_verdict(verdicts: list[Verdict], code: int) -> None:
    assert exit_code(run_outcome(verdicts)) == code


def test_a_run_that_judges_fewer_requirements_than_asked_for_is_inconclusive() -> None:
    passes = [verdict(Outcome.PASS), verdict(Outcome.SKIPPED, requirement="CAP-4")]
    assert run_outcome(passes, at_least=1) is Outcome.PASS
    assert run_outcome(passes, at_least=2) is Outcome.INCONCLUSIVE
    assert run_outcome([*passes, verdict(Outcome.FAIL)], at_least=2) is Outcome.FAIL


INFO = RunInfo(suite="conformance", started=datetime(2026, 1, 1, tzinfo=UTC), crashloop_version="0")


def test_a_run_directory_is_never_taken_twice(tmp_path: Path) -> None:
    RunDir.create(tmp_path / "run", INFO)
    with pytest.raises(UsageError, match="never overwritten"):
        RunDir.create(tmp_path / "run", INFO)
    assert RunDir.open(tmp_path / "run").info() == INFO


def test_a_run_directory_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run", INFO)
    run.write(run.run_json, {"format": "crashloop.run/2"})
    with pytest.raises(UsageError, match=r"'crashloop.run/2'; this version reads 'crashloop.run/1'"):
        RunDir.open(run.root)


def test_a_damaged_run_directory_is_named(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run", INFO)
    run.run_json.write_text('{"format": "crashloop.run/1", "suite"')
    with pytest.raises(UsageError, match=r"run\.json is damaged"):
        RunDir.open(run.root)


def test_run_directories_sort_by_time(tmp_path: Path) -> None:
    now = datetime(2026, 11, 21, 16, 0, tzinfo=UTC)
    first = new_run_path(tmp_path, "conformance", now)
    assert first.name == "20261121T160000Z-conformance"
    first.mkdir()
    assert new_run_path(tmp_path, "conformance", now).name == "20261121T160000Z-conformance-2"


def test_a_life_has_one_end() -> None:
    for end in (LifeEnd.MEMORY, LifeEnd.SIGNAL):
        with pytest.raises(ValueError, match=f"one end; {end} leaves 137, not 3"):
            Life(exit_code=3, end=end)
    assert [life.exit_code for life in (*killed().lives, *out_of_memory().lives)] == [137, 137]


def test_a_command_that_does_not_exist_has_no_life_no_probe_and_no_hook() -> None:
    assert (refused(times=3).exits, refused(times=3).each_life()[0].exit_code) == (3, 128)
    with pytest.raises(ValueError, match="a command that does not exist has no other lives"):
        Program((*refused(times=1).lives, Life()))
    with pytest.raises(ValueError, match="'app' never runs, and has no probe and no hook"):
        Container(program=refused(times=1), post_start=True)


def test_a_container_that_its_hook_is_to_end_needs_one_and_exits_as_on_sigterm() -> None:
    for post_start, code in ((False, 143), (True, 5)):
        with pytest.raises(ValueError, match="'app': lives that its hook ends need post_start and exit_code_on_term"):
            Container(program=hook_fails(), post_start=post_start, exit_code_on_term=code)
    assert Container(program=hook_fails(times=2), post_start=True).program.exits == 2


def test_a_container_that_is_to_die_of_its_memory_needs_a_limit() -> None:
    with pytest.raises(ValueError, match="'app' is to die of its memory and has no memory_limit"):
        Container(program=out_of_memory())
    assert Container(program=out_of_memory(), memory_limit="32Mi").program.exits == 1


@pytest.mark.parametrize(
    ("probe", "because"),
    [
        ({"pattern": "FF"}, "shorter than the failureThreshold of 3"),
        ({"pattern": "FXF"}, "expected S and F only"),
        ({"pattern": "FFF", "fails_after_s": 2.0}, "not both"),
        ({"period_s": 0}, "at least 1"),
        ({"success_threshold": 2}, "1, or more of a readiness probe"),
        ({"grace_s": 0}, "grace_s is at least 1"),
        ({"grace_s": 3, "kind": ProbeKind.READINESS}, "none of a readiness probe"),
    ],
)
def test_a_probe_that_cannot_be_is_refused(probe: dict[str, Any], because: str) -> None:
    with pytest.raises(ValueError, match=because):
        Probe(**probe)


def test_two_probes_of_a_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="two probes of a kind"):
        Container(probes=(Probe(), Probe(fails_after_s=3)))


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        ("0", 0),
        ("1m30s", 90_000_000_000),
        ("1.5h", 5_400_000_000_000),
        ("300.0009s", 300_000_900_000),
        (".5s", 500_000_000),
        ("-2s", -2_000_000_000),
        ("+1us2µs3ns", 3_003),
        ("0" * 5000 + "1.5" + "0" * 5000 + "s", 1_500_000_000),
    ],
)
def test_go_durations_are_read_as_go_reads_them(text: str, duration_ns: int) -> None:
    assert parse_duration_ns(text) == duration_ns


@pytest.mark.parametrize("text", [".s", "-", "s", "1s.", "9999999999h", "9" * 5000 + "s", "1.2.3s"])
def test_what_go_does_not_read_is_refused(text: str) -> None:
    with pytest.raises(NotADuration):
        parse_duration_ns(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("10s", 10.0),
        ("5m0s", 300.0),
        ("1h2m3.5s", 3723.5),
        ("500ms", 0.5),
        ("", None),
        ("10", None),
        ("1s!", None),
        (2, None),
    ],
)
def test_what_is_no_duration_has_no_seconds(value: object, expected: float | None) -> None:
    assert duration_seconds(value) == expected
