"""Stress profiles: what a file may say, what contradicts itself, and what `full` means on a host."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from crashloop.errors import UsageError
from crashloop.profiles import load_profile
from crashloop.spec.pod import RestartPolicy
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.loads import Crash
from crashloop.stress.plan import StressPlan, plan_of
from crashloop.stress.profile import Slos, changes_places, hosts_in, official_pods, pods_on, resolved
from crashloop.stress.profiles import STRESS_MANIFESTS, load_stress_profile, with_max_pods
from crashloop.stress.requirements import LEFT_ALONE, fitting_rows, rows_of
from crashloop.stress.run import StressOptions, plan_stress

LIVE = Path(__file__).parents[2] / "stress"
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


@pytest.mark.parametrize("name", sorted(path.stem for path in STRESS_MANIFESTS.glob("*.yaml")))
def test_every_shipped_profile_can_be_planned_here(name: str) -> None:
    profile = load_stress_profile(name)
    plan = plan_of(profile, provider="local", kubernetes_version="1.37.1", cores=2, kubelet=load_profile)
    assert profile.description
    assert fitting_rows(profile)
    most = official_pods(2) if name == "quick" else profile.max_pods
    assert all(pods_on(plan.load, stage, node.name) <= most for stage in plan.stages for node in profile.nodes)


@pytest.mark.parametrize("path", sorted(LIVE.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_profile_of_the_live_tests_can_be_planned_here(path: Path) -> None:
    profile = load_stress_profile(path)
    assert plan_of(profile, provider="local", kubernetes_version="1.37.1", cores=2, kubelet=load_profile).stages
    assert fitting_rows(profile)


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
    ("text", "said"),
    [
        ("kind: Deployment\nspec: {}\n", "apiVersion is missing; Kubernetes takes no object without it."),
        (
            "kind: deployment\napiVersion: apps/v1\n",
            "it has a deployment of apps/v1; Kubernetes has Deployment, of apps/v1.",
        ),
        (
            "kind: Deploymnt\napiVersion: apps/v1\n",
            "it has a Deploymnt of apps/v1; Kubernetes has Deployment, of apps/v1.",
        ),
        ("kind: Job\napiVersion: bach/v1\n", "it has a Job of bach/v1; Kubernetes has Job, of batch/v1."),
        (
            "{kind: List, apiVersion: v1, items: [{kind: List, apiVersion: v1, items: [{kind: Pod, apiVersion: core/v1}]}]}",
            "it has a Pod of core/v1; Kubernetes has Pod, of v1.",
        ),
        (
            "kind: PriorityClass\napiVersion: scheduling.k8s.io/v1\nvalue: x\n",
            "PriorityClass: value is 'x'; a whole number up to",
        ),
        ("kind: list\napiVersion: v1\nitems: []\n", "it has a list of v1; Kubernetes has List, of v1."),
        ("apiVersion: apps/v1\nspec: {}\n", "kind is missing; Kubernetes takes no object without it."),
        (
            "resources: [a.yaml]\n",
            "there is no field resources.\nExpected a stress profile (docs/stress.md), or objects with",
        ),
        ("", "it is empty.\nExpected a stress profile"),
        ("- a\n", "expected a mapping, not a list.\nExpected a stress profile"),
    ],
    ids=[
        "no-version",
        "other-case",
        "a-letter-too-few",
        "no-group",
        "in-lists",
        "a-class",
        "list",
        "no-kind",
        "of-another-tool",
        "empty",
        "a-list",
    ],
)
@pytest.mark.parametrize("options", [{}, {"pods": 3, "kubelet": "max-10s"}], ids=["alone", "with-options"])
def test_what_is_neither_a_profile_nor_a_manifest_says_what_it_lacks(
    tmp_path: Path, text: str, said: str, options: dict[str, Any]
) -> None:
    with pytest.raises(UsageError) as refused:
        load_stress_profile(written(tmp_path, text), **options)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "replaced", "sentence"),
    [
        ("run_s: 0.5", "runs_s: 0.5", "there is no field runs_s"),
        ("kind: crash", "kind: crush", "loads[...].kind: 'crush' is none of its values"),
        ("rate_per_s: 2", "rate_per_s: 0", "rate_per_s is 0; expected 0.01 to 50"),
        ("duration_s: 10", "duration_s: 0", "duration_s is 0; expected more than 0"),
        ("crashers: full", "breakers: 3", "stage 'storm': unknown load 'breakers'; known are: crashers, healthy."),
        ("crashers: full", "crashers: 251", "251 users of 'crashers'; expected 1 to 250, or full."),
        ("crashers: full", "crashers: 250", "255 pods on node 'a'; its kubelet takes 250."),
        ("kind: crash, node: a", "kind: crash, node: b", "load 'crashers': unknown node 'b'; known are: a."),
        ("nodes: [{name: a", "nodes: [{name: A", "name 'A': expected 1 to 20 lower-case letters, digits and dashes."),
        ("nodes: [", "rounds: 0\nnodes: [", "rounds is 0; expected 1 to 20."),
        (
            "kind: crash, node: a, run_s: 0.5",
            "kind: demand, node: a, rate_per_s: 2, bursts: [{after_s: 5, for_s: 11, rate_per_s: 9}]",
            "stage 'storm': a burst of load 'crashers' ends at 16 s; expected at most 15 s, its settle_s and duration_s.",
        ),
        ("nodes: [", "scrape_nodes: 0\nnodes: [", "scrape_nodes is 0; expected 1 to 100."),
        ("nodes: [", "format: crashloop.stress/9\nnodes: [", "format is 'crashloop.stress/9'"),
        ("nodes: [", "nodes: {", "it is neither JSON nor YAML"),
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
        "endless burst",
        "no scraped node",
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


AT_MOST_5_S = {"target": {"at_most": 5, "unit": "s"}}
AT_MOST_5 = {"target": {"at_most": 5, "unit": "of them"}}


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            AT_MOST_5_S
            | {
                "sli": {"kind": "samples", "of": "pod-startup", "groups": ["crashers"]},
                "percentile": 50,
                "min_samples": 2,
            },
            "groups 'crashers' is not known; expected crasher.",
        ),
        (
            {
                "sli": {"kind": "share", "of": "unexpected-restarts", "groups": ["all"]},
                "target": {"below": 1, "unit": "%"},
            },
            "groups 'all' is not known; expected canary, crasher, finished, healthy, job, server.",
        ),
        (
            AT_MOST_5 | {"sli": {"kind": "rate", "of": "restarts"}, "phase": "strom"},
            "phase 'strom' is not known; expected storm.",
        ),
        (
            AT_MOST_5
            | {"sli": {"kind": "ratio", "metric": "process_cpu_seconds_total", "per": "restarts", "idle": "baseline"}},
            "idle 'baseline' is not known; expected storm.",
        ),
        (
            {"sli": {"kind": "conservation", "groups": ["jobs"]}, "target": {"at_most": 0, "unit": "starts"}}
            | {"decided_by": "interval"},
            "groups 'jobs' is not known; expected job.",
        ),
    ],
    ids=["groups of samples", "groups of a share", "phase", "idle phase", "groups of a conservation"],
)
def test_a_row_that_looks_for_what_the_load_has_not_is_refused_before_anything_is_brought_up(
    tmp_path: Path, row: dict[str, Any], sentence: str
) -> None:
    mine = {"id": "mine", "definition": "what it says", "source": "this test"} | row
    rows = tmp_path / "rows.yaml"
    rows.write_text(yaml.safe_dump({"description": "rows of the user's own", "slos": [mine]}), encoding="utf-8")
    path = written(tmp_path, GOOD + f"slos: {{files: [{rows}]}}\n")
    with pytest.raises(UsageError) as refused:
        plan_stress(StressOptions(profile=str(path)))
    assert str(refused.value) == (
        f"SLO 'mine': {sentence}\nSeen in {rows}, for the stress profile \"mine\".\n"
        "Correct the row, or leave it out of this profile: slos.without."
    )


def test_rows_that_are_only_reported_fail_no_run(tmp_path: Path) -> None:
    profile = load_stress_profile(written(tmp_path, GOOD + 'slos: {files: [official], report: ["*"]}\n'))
    assert {row.mode for row in rows_of(profile.slos)} == {"report"}


def test_times_and_rates_are_promised_only_while_the_host_is_left_alone() -> None:
    under = {row.id for row in rows_of(Slos()) if LEFT_ALONE in row.preconditions}
    assert {"pod-startup-latency", "restart-lateness", "pleg-relist"} <= under
    assert not {"restarts-conserved", "unexpected-restarts", "api-requests-per-restart"} & under


@pytest.mark.parametrize(
    "name",
    ["at-the-cap", "configurations", "costs", "full", "knee", "neighbours", "quick", "revert", "rules", "settled"],
)
def test_lateness_is_judged_by_the_kubelet_s_own_schedule_on_every_curve(name: str) -> None:
    (row,) = (row for row in fitting_rows(load_stress_profile(name)) if row.id == "restarts-within-bounds")
    assert row.mode == "report"


def test_a_kubelet_profile_that_says_how_many_pods_it_takes_wins() -> None:
    own = KubeletProfile(name="p", config={"maxPods": 40})
    assert with_max_pods(own, 250).config == {"maxPods": 40}
    assert with_max_pods(KubeletProfile(name="p"), 250).config == {"maxPods": 250}


RULED = "rule: {operator: In, values: [42]}, restart_policy: Never"


def planned(folder: Path, crashing: str, *, version: str, kubelet: str = "max-1s") -> StressPlan:
    """The plan of a load that crashes as planned."""
    text = GOOD.replace("profile: stock", f"profile: {kubelet}").replace("run_s: 0.5", crashing)
    profile = load_stress_profile(written(folder, text))
    return plan_of(profile, provider="local", kubernetes_version=version, cores=2, kubelet=load_profile)


@pytest.mark.parametrize(
    ("version", "kubelet", "kept"),
    [
        ("1.37.1", "max-1s", True),
        ("1.37.1", "rules-off", False),
        ("1.34.8", "max-1s", False),
        ("1.33.13", "max-1s", False),
    ],
    ids=["rules", "gate off", "off by default", "unknown"],
)
def test_a_rule_that_no_exit_asks_for_goes_where_the_kubelet_heeds_none(
    tmp_path: Path, version: str, kubelet: str, kept: bool
) -> None:
    load = planned(tmp_path, f"exit_code: 7, {RULED}", version=version, kubelet=kubelet).load.loads["crashers"]
    assert isinstance(load, Crash)
    assert (load.rule is not None) is kept
    assert load.restart_policy is RestartPolicy.NEVER


def test_a_rule_that_exits_ask_for_is_refused_where_the_kubelet_heeds_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        planned(tmp_path, f"exit_code: 42, {RULED}", version="1.34.8")
    assert str(refused.value) == (
        "load 'crashers': its restart rule needs the feature gate ContainerRestartRules, which kubelet profile 'max-1s' "
        "does not enable in Kubernetes 1.34.8.\nUse another profile or another version."
    )


def test_restart_all_containers_has_a_gate_of_its_own(tmp_path: Path) -> None:
    every = RULED.replace("{", "{action: RestartAllContainers, ")
    with pytest.raises(UsageError, match="needs the feature gate RestartAllContainersOnContainerExits"):
        planned(tmp_path, f"exit_code: 42, {every}", version="1.35.4")


A_AND_B = "{name: a, profile: stock, arm: baseline}, {name: b, profile: stock, arm: treatment}"
PAIR = (
    GOOD.replace("{name: a, profile: stock}", A_AND_B)
    .split("stages:")[0]
    .replace("healthy:", "other: {kind: crash, node: b}\n  healthy:")
    + """\
stages:
  - {name: storm, arm: baseline, duration_s: 10, users: {crashers: 3}}
  - {name: storm, arm: treatment, duration_s: 10, users: {other: 3}}
rounds: 4
comparison: {alternates: true, primary: [kubelet_cpu_cores]}
"""
)


def test_rounds_that_alternate_balance_the_order_and_the_places_of_the_arms(tmp_path: Path) -> None:
    stages = tuple(load_stress_profile(written(tmp_path, PAIR)).each_stage())
    assert "".join(each.arm[0] for each in stages) == "bttbbttb"
    assert [each.exchanged for each in stages[::2]] == [None, ("a", "b"), ("a", "b"), None]
    assert [index for index in range(8) if changes_places(stages, index)] == [2, 6]
    assert hosts_in(stages[2], {"a": "one", "b": "two"}) == {"a": "two", "b": "one"}
    assert hosts_in(stages[0], {"a": "one", "b": "two"}) == {"a": "one", "b": "two"}


REVERTED = PAIR.replace("comparison: {alternates: true, primary: [kubelet_cpu_cores]}", "").replace("rounds: 4", "") + (
    "  - {name: after, duration_s: 10, users: {crashers: 3}, exchanged: [a, b]}\n"
)


def test_a_stage_may_load_a_node_whose_kubelet_got_the_profile_of_the_other(tmp_path: Path) -> None:
    stages = tuple(load_stress_profile(written(tmp_path, REVERTED)).each_stage())
    assert [index for index in range(3) if changes_places(stages, index)] == [2]
    assert hosts_in(stages[2], {"a": "one", "b": "two"})["a"] == "two"


def test_such_a_stage_is_refused_where_kubelets_cannot_be_reconfigured(tmp_path: Path) -> None:
    profile = load_stress_profile(written(tmp_path, REVERTED))
    with pytest.raises(UsageError, match="which provider kind cannot do"):
        plan_of(
            profile, provider="kind", kubernetes_version="1.37.1", cores=2, kubelet=load_profile, reconfigures=False
        )


def test_where_kubelets_cannot_be_reconfigured_only_the_order_alternates(tmp_path: Path) -> None:
    profile = load_stress_profile(written(tmp_path, PAIR))
    stages = plan_of(
        profile, provider="kind", kubernetes_version="1.37.1", cores=2, kubelet=load_profile, reconfigures=False
    ).stages
    assert "".join(each.arm[0] for each in stages) == "bttbbttb"
    assert not any(each.exchanged for each in stages)


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("kubelet_cpu_cores", "kubelet_cpu", "comparison: primary effect 'kubelet_cpu' is not known; expected some of"),
        (
            ", arm: treatment}",
            "}",
            "comparison: the nodes have the arms baseline; expected one baseline and one treatment",
        ),
        ("primary: [", "margin: 1.5, primary: [", "margin is 1.5; expected more than 0 and less than 1"),
        (
            "kind: crash, node: b",
            "kind: crash, node: a",
            "stage 'storm': its loads run on a; expected one on node 'b', which has the arm treatment.",
        ),
        (
            "arm: baseline, duration_s",
            "arm: both, duration_s",
            "stage 'storm': its loads run on a; expected one on node 'b', which has the arm treatment.",
        ),
        ("users: {other: 3}", "users: {other: 3}, exchanged: [a, b]", "exchanged is set; with comparison:"),
        (
            "users: {other: 3}}\nrounds: 4\ncomparison: {alternates: true, ",
            "users: {other: 3}, exchanged: [a, c]}\ncomparison: {",
            "exchanged is a, c; expected the two nodes that have an arm.",
        ),
    ],
    ids=[
        "unknown effect",
        "one arm",
        "margin",
        "two arms on one node",
        "both arms on one node",
        "alternates and is exchanged",
        "unknown node is exchanged",
    ],
)
def test_a_faulty_comparison_is_refused(tmp_path: Path, before: str, after: str, fault: str) -> None:
    with pytest.raises(UsageError, match=re.escape(fault)):
        load_stress_profile(written(tmp_path, PAIR.replace(before, after, 1)))


def test_two_arms_on_the_only_node_are_refused(tmp_path: Path) -> None:
    stages = "  - {name: storm, arm: baseline, duration_s: 10, users: {healthy: 1}}\n"
    with pytest.raises(UsageError) as refused:
        load_stress_profile(written(tmp_path, GOOD.replace("name: storm,", "name: storm, arm: treatment,") + stages))
    assert "comparison: the nodes have the arms none; expected one baseline and one treatment." in str(refused.value)


def with_own_kubelet(tmp_path: Path, text: str) -> StressPlan:
    return plan_of(
        load_stress_profile(written(tmp_path, text)),
        provider="local",
        kubernetes_version="1.37.1",
        cores=2,
        kubelet=load_profile,
        kubelet_binary="/mine/kubelet",
    )


def test_the_user_s_own_kubelet_is_that_of_the_treatment(tmp_path: Path) -> None:
    made = with_own_kubelet(tmp_path, PAIR)
    assert [(each.name, each.kubelet_binary) for each in made.kubelets] == [
        ("stock", None),
        ("stock-own-kubelet", "/mine/kubelet"),
    ]


def test_without_arms_the_user_s_own_kubelet_is_that_of_all_nodes(tmp_path: Path) -> None:
    made = with_own_kubelet(tmp_path, GOOD)
    assert [each.kubelet_binary for each in made.kubelets] == ["/mine/kubelet"]
