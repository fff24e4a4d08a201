"""Stress profiles: what a file may say, what contradicts itself, and what `full` means on a host."""

from pathlib import Path

import pytest

from crashloop.errors import UsageError
from crashloop.profiles import load_profile
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.plan import plan_of
from crashloop.stress.profile import Slos, official_pods, pods_on, resolved
from crashloop.stress.profiles import load_stress_profile, stress_profile_names, with_max_pods
from crashloop.stress.rows import LEFT_ALONE, rows_of

GOOD = """\
# What it is for,
# in two lines.
nodes: [{name: a, profile: stock}]
loads:
  crashers: {kind: crash, node: a, run_s: 0.5}
  healthy: {kind: churn, node: a, rate_per_s: 2, in_flight: 5}
stages:
  - {name: storm, duration_s: 10, users: {healthy: 1, crashers: full}}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", stress_profile_names())
def test_every_shipped_profile_can_be_planned_here(name: str) -> None:
    profile = load_stress_profile(name)
    plan = plan_of(profile, provider="local", kubernetes_version="1.37.1", cores=2, kubelet=load_profile)
    assert profile.description
    assert rows_of(profile.slos)
    most = official_pods(2) if name == "quick" else profile.max_pods
    assert all(pods_on(plan.profile, stage, node.name) <= most for stage in plan.stages for node in profile.nodes)


def test_a_file_of_the_user_s_own_is_read_with_its_comment(tmp_path: Path) -> None:
    profile = load_stress_profile(written(tmp_path, GOOD))
    assert (profile.name, profile.description) == ("mine", "What it is for, in two lines.")


@pytest.mark.parametrize(("cores", "crashers"), [(1, 5), (2, 15), (64, 105)], ids=["one", "two", "many"])
def test_full_is_what_the_official_limit_leaves_beside_the_other_loads(
    tmp_path: Path, cores: int, crashers: int
) -> None:
    profile = load_stress_profile(written(tmp_path, GOOD))
    (stage,) = resolved(profile, cores=cores).stages
    assert stage.users == {"healthy": 1, "crashers": crashers}
    assert pods_on(resolved(profile, cores=cores), stage, "a") == official_pods(cores)


@pytest.mark.parametrize(
    ("text", "replaced", "sentence"),
    [
        ("run_s: 0.5", "runs_s: 0.5", "Object contains unknown field `runs_s`"),
        ("kind: crash", "kind: crush", "Invalid value 'crush'"),
        ("rate_per_s: 2", "rate_per_s: 0", "rate_per_s is 0; expected 0.01 to 50"),
        ("duration_s: 10", "duration_s: 0", "duration_s is 0; expected more than 0"),
        ("crashers: full", "breakers: 3", "stage 'storm': there is no load 'breakers'; there are: crashers, healthy."),
        ("crashers: full", "crashers: 251", "251 users of 'crashers'; expected 1 to 250, or full."),
        ("crashers: full", "crashers: 250", "255 pods on node 'a'; its kubelet takes 250."),
        ("kind: crash, node: a", "kind: crash, node: b", "load 'crashers': there is no node 'b'; there are: a."),
        ("nodes: [{name: a", "nodes: [{name: A", "name 'A': expected 1 to 20 lower-case letters, digits and dashes."),
        ("nodes: [", "rounds: 0\nnodes: [", "rounds is 0; expected 1 to 20."),
        ("nodes: [", "format: crashloop.stress/9\nnodes: [", "format is 'crashloop.stress/9'"),
        ("nodes: [", "nodes: {", "it is not YAML"),
    ],
    ids=[
        "misspelt field",
        "unknown kind",
        "no rate",
        "no time",
        "unknown load",
        "too many users",
        "too many pods",
        "unknown node",
        "bad name",
        "no round",
        "newer format",
        "not YAML",
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong(tmp_path: Path, text: str, replaced: str, sentence: str) -> None:
    path = written(tmp_path, GOOD.replace(text, replaced))
    with pytest.raises(UsageError) as refused:
        load_stress_profile(path)
    assert sentence in str(refused.value)
    assert str(path) in str(refused.value)


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"expected one of .*quick"):
        load_stress_profile("quikc")


def test_restart_all_containers_has_one_trigger(tmp_path: Path) -> None:
    rule = "{action: RestartAllContainers, operator: In, values: [88]}"
    path = written(tmp_path, GOOD.replace("run_s: 0.5", f"containers: 2, rule: {rule}"))
    with pytest.raises(UsageError, match="with RestartAllContainers one container triggers it"):
        load_stress_profile(path)


def test_an_unknown_row_is_refused_before_anything_is_brought_up(tmp_path: Path) -> None:
    profile = load_stress_profile(written(tmp_path, GOOD + "slos: {files: [official], report: [no-such-row]}\n"))
    with pytest.raises(UsageError, match="SLO 'no-such-row': no row of official has that id"):
        rows_of(profile.slos)


def test_rows_that_are_only_reported_fail_no_run(tmp_path: Path) -> None:
    profile = load_stress_profile(written(tmp_path, GOOD + 'slos: {files: [official], report: ["*"]}\n'))
    assert {row.mode for row in rows_of(profile.slos)} == {"report"}


def test_times_and_rates_are_promised_only_while_the_host_is_left_alone() -> None:
    under = {row.id for row in rows_of(Slos()) if LEFT_ALONE in row.preconditions}
    assert {"pod-startup-latency", "restart-lateness", "pleg-relist"} <= under
    assert not {"restarts-conserved", "unexpected-restarts", "api-requests-per-restart"} & under


def test_a_kubelet_profile_that_says_how_many_pods_it_takes_wins() -> None:
    own = KubeletProfile(name="p", config={"maxPods": 40})
    assert with_max_pods(own, 250).config == {"maxPods": 40}
    assert with_max_pods(KubeletProfile(name="p"), 250).config == {"maxPods": 250}
