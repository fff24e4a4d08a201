"""`crashloop alerts`, with Prometheus' own promtool."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from crashloop.alerts.promtool import Case, Fired, evaluated
from crashloop.alerts.rules import Rules
from crashloop.cli import app
from crashloop.errors import UsageError
from crashloop.resources import MANIFESTS
from crashloop.rundir import RunDir
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Mode
from suites.selftest.kit.sim_kit import crashing, pod_of, profile
from suites.selftest.kit.simulated_runs import simulated_run
from tools.schemas import schemas

MIXIN, OWN = (str(MANIFESTS / "alerts" / each) for each in ("kubernetes-mixin.yaml", "crash-loop.yaml"))
pytestmark = pytest.mark.usefixtures("promtool")


@pytest.fixture(scope="module")
def loop_at(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The run of a crash loop at a maximum, by the simulated kubelet."""
    found: dict[str, RunDir] = {}

    def of(period: str) -> str:
        if period not in found:
            loop = crashing(9, mode=Mode.NATURAL)
            found[period] = simulated_run(tmp_path_factory.mktemp(period), profile(period), loop)
        return str(found[period].root)

    return of


def alerts(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["alerts", *arguments])


def answer(*arguments: str) -> dict[str, Any]:
    done = alerts(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(found, schemas()["alerts"])
    return found


@pytest.mark.parametrize(("period", "fired"), [("30s", 0), ("60s", 0), ("300s", 3)])
def test_the_alert_of_the_field_fires_where_delays_are_longer_than_a_minute(
    loop_at: Any, period: str, fired: int
) -> None:
    (row,) = answer(MIXIN, loop_at(period), "--phases", "3", "--for", "3h")["rows"]
    assert (row["alert"], row["fired"], row["maximum_s"]) == ("KubePodCrashLooping", fired, float(period[:-1]))


def test_rules_in_an_object_of_prometheus_operator_are_the_same_rules(loop_at: Any, tmp_path: Path) -> None:
    spec = yaml.safe_load(Path(MIXIN).read_text(encoding="utf-8"))
    found = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "mixin"},
        "spec": spec,
    }
    for name, document in (("one", found), ("list", {"kind": "List", "items": [found]})):
        (tmp_path / name).write_text(yaml.safe_dump(document), encoding="utf-8")
        (row,) = answer(str(tmp_path / name), loop_at("300s"), "--phases", "3", "--for", "3h")["rows"]
        assert (row["alert"], row["fired"]) == ("KubePodCrashLooping", 3)


@pytest.mark.parametrize("period", ["1s", "10s", "30s", "60s", "300s"])
def test_our_alert_fires_within_five_minutes_and_goes_on_firing(loop_at: Any, period: str) -> None:
    found = answer(OWN, loop_at(period), "--phases", "4", "--for", "2h", "--must-fire", "5m")
    (row,) = found["rows"]
    assert row["fired"] == 4
    assert row["share"] > 0.95
    assert (found["healthy"], found["rollouts"]) == ({"ContainerCrashLooping": 0}, 100)


def test_our_alert_fires_for_an_init_container_too(tmp_path: Path) -> None:
    program = exits_with(1, after_s=1, times=6)
    setup = Container(name="setup", program=program, kind=ContainerKind.INIT)
    pod = pod_of(setup, Container(), restarts={"setup": 5}, mode=Mode.NATURAL)
    run = simulated_run(tmp_path, profile("10s"), pod)
    (ours,) = answer(OWN, str(run.root), "--phases", "1", "--for", "1h")["rows"]
    (theirs,) = answer(MIXIN, str(run.root), "--phases", "1", "--for", "1h")["rows"]
    assert (ours["container"], ours["fired"], theirs["fired"]) == ("setup", 1, 0)


def test_a_loop_that_no_alert_fires_for_in_time_is_a_failure(loop_at: Any) -> None:
    done = alerts(MIXIN, loop_at("30s"), "--phases", "2", "--for", "1h", "--must-fire", "5m")
    assert done.exit_code == 1
    assert "--must-fire 5m: scenario (maximum 30 s): no alert fires within 5 min in every phase." in done.stderr
    assert "never fires" in done.output


def rules(folder: Path, expr: str) -> str:
    path = folder / "rules.yaml"
    path.write_text(json.dumps({"groups": [{"name": "g", "rules": [{"alert": "A b", "expr": expr}]}]}))
    return str(path)


def test_a_false_alarm_is_a_failure(loop_at: Any, tmp_path: Path) -> None:
    done = alerts(
        rules(tmp_path, "kube_pod_container_status_running == 0"), loop_at("30s"), "--for", "1h", "--must-fire", "5m"
    )
    assert done.exit_code == 1
    assert "A b fires for" in done.stderr


def test_an_alert_that_names_no_pod_is_not_counted_in_pods(loop_at: Any, tmp_path: Path) -> None:
    file = rules(tmp_path, "sum(kube_pod_info) > 0")
    arguments = (file, loop_at("30s"), "--phases", "1", "--for", "10m")
    assert answer(*arguments)["of_no_pod"] == ["A b"]
    assert "A b fires while 100 healthy rollouts go on, and names no pod." in alerts(*arguments).stdout


def test_series_have_the_labels_that_the_alert_asks_for(loop_at: Any, tmp_path: Path) -> None:
    file = rules(tmp_path, 'kube_pod_info{cluster="prod", namespace="shop"} == 1')
    arguments = (file, loop_at("30s"), "--phases", "1", "--for", "10m")
    assert answer(*arguments)["rows"][0]["fired"] == 0
    assert answer(*arguments, "--label", "cluster=prod", "--label", "namespace=shop")["rows"][0]["fired"] == 1
    assert str(alerts(*arguments, "--label", "cluster").exception).startswith("--label 'cluster': expected NAME=VALUE")


def test_alerts_that_fire_together_are_told_apart(loop_at: Any, tmp_path: Path) -> None:
    """promtool prints several samples in one line, and numbers from 1e2 on with an exponent."""
    of = {"expr": "kube_pod_container_status_restarts_total >= 0", "labels": {"severity": "x"}}
    rules = [{"alert": 'One "{}\\', **of}, {"alert": "Two", **of}, {"alert": "Late", **of, "for": "2h"}]
    rules.append({"record": "up:sum", "expr": "sum(up)"})
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": [{"name": "g", "rules": rules}]}))
    found = answer(str(tmp_path / "rules.yaml"), loop_at("300s"), "--phases", "2", "--for", "3h")
    rows = found["rows"]
    assert [(each["alert"], each["fired"]) for each in rows] == [('One "{}\\', 2), ("Two", 2), ("Late", 2)]
    assert (found["healthy"]["Two"], found["healthy"][rows[0]["alert"]]) == (100, 100)
    assert rows[0]["first_s"][0] < rows[2]["first_s"][0]


def test_a_name_that_a_terminal_obeys_is_spelled_out(loop_at: Any, tmp_path: Path) -> None:
    text = {"groups": [{"name": "g", "rules": [{"alert": "[red]\x1b[1m", "expr": "kube_pod_info"}]}]}
    (tmp_path / "rules.yaml").write_text(json.dumps(text))
    done = alerts(str(tmp_path / "rules.yaml"), loop_at("30s"), "--phases", "1", "--for", "10m")
    assert (done.exit_code, "\x1b[1m" in done.output) == (0, False)
    assert "[red]\\x1b[1m fires for 100 of 100 healthy rollouts" in done.output


def test_a_pod_of_a_loop_has_an_owner_as_those_of_users_have(loop_at: Any, tmp_path: Path) -> None:
    joined = 'kube_pod_info * on(namespace, pod) group_left(owner_name) kube_pod_owner{owner_kind="ReplicaSet"}'
    found = answer(rules(tmp_path, joined), loop_at("30s"), "--phases", "1", "--for", "10m")
    assert found["rows"][0]["fired"] == 1


def test_a_name_that_yaml_takes_for_a_number_or_a_word_is_text(loop_at: Any, tmp_path: Path) -> None:
    rules = ", ".join(f"{{alert: {name}, expr: kube_pod_info}}" for name in ("404", "on", "~x"))
    (tmp_path / "rules.yaml").write_text(f"groups: [{{name: 1, rules: [{rules}]}}]")
    found = answer(str(tmp_path / "rules.yaml"), loop_at("30s"), "--phases", "1", "--for", "10m")
    assert [(each["alert"], each["fired"]) for each in found["rows"]] == [("404", 1), ("true", 1), ("~x", 1)]


def test_a_field_that_the_operator_keeps_from_prometheus_is_no_fault(loop_at: Any, tmp_path: Path) -> None:
    group = {"name": "g", "partial_response_strategy": "warn", "rules": [{"alert": "A", "expr": "kube_pod_info"}]}
    found = {"kind": "PrometheusRule", "spec": {"groups": [group]}}
    (tmp_path / "rules.yaml").write_text(json.dumps(found))
    (row,) = answer(str(tmp_path / "rules.yaml"), loop_at("30s"), "--phases", "1", "--for", "10m")["rows"]
    assert row["fired"] == 1


@pytest.mark.parametrize("limit", [0, 1])
def test_loops_that_are_evaluated_together_have_the_rows_of_each(tmp_path: Path, limit: int) -> None:
    """Also where a group's limit of alerts is less than the loops."""
    loops = [replace(crashing(9, mode=Mode.NATURAL), name=name) for name in ("first", "second")]
    runs = [
        str(simulated_run(tmp_path / each.name, profile(period), each).root)
        for each, period in zip(loops, ("30s", "300s"), strict=True)
    ]
    rule = {"alert": "A", "expr": "increase(kube_pod_container_status_restarts_total[20m]) > 5", "for": "5m"}
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": [{"name": "g", "limit": limit, "rules": [rule]}]}))
    how = ("--phases", "2", "--for", "3h")
    together = answer(str(tmp_path / "rules.yaml"), *runs, *how)["rows"]
    assert together == [row for each in runs for row in answer(str(tmp_path / "rules.yaml"), each, *how)["rows"]]
    assert [row["fired"] for row in together] == [2, 2]


@pytest.mark.parametrize("until_s", [5200.0, 5201.5])
def test_a_loop_of_many_short_scrapes_is_evaluated_at_each_of_them_once(promtool: Path, until_s: float) -> None:
    """Promtool takes fewer samples in a query than these are."""
    rule = {"alert": "A", "expr": "a > 0"}
    rules = Rules(Path("rules.yaml"), {"A": "a > 0"}, {}, json.dumps({"groups": [{"name": "g", "rules": [rule]}]}))
    cases = [Case(pod, [{"series": f'a{{pod="{pod}"}}', "values": f"0x{begin - 1} 1x5200"}]) for pod, begin in LATE]
    crowd = [series for each in cases for series in each.series]
    found = evaluated(rules, cases, crowd, promtool=promtool, scrape_s=2.0, until_s=until_s)
    assert [each["A"] for each in found.cases] == [Fired(begin * 2.0, 2601 - begin) for _, begin in LATE]
    assert found.crowd == {"A": len(LATE)}


LATE = (("first", 1), ("second", 600), ("third", 601), ("fourth", 2600))
"""Pods, each with the number of the scrape from which on its alert fires."""


def test_an_alert_about_what_no_recording_has_is_not_evaluated(loop_at: Any, tmp_path: Path) -> None:
    found = answer(
        rules(tmp_path, "kube_pod_info * kube_node_role > 0"), loop_at("30s"), "--phases", "1", "--for", "10m"
    )
    assert found["rows"][0]["unknown"] == ["kube_node_role"]
    assert found["healthy"] == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('groups: [{name: g, rules: [{alert: A, expr: "up >=> 1"}]}]', "could not parse expression: 1:6: parse error"),
        ("groups: [{name: g, rules: [{alert: A, exp: up}]}]", "field exp not found"),
        ("groups: []", "no rule is an alert"),
        ("groups: [{name: g, rules: [{record: a, expr: up}]}]", "no rule is an alert"),
        ("groups: {", "did not find expected"),
        ("", "no rule is an alert"),
        ("apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule", "no rule is an alert"),
    ],
)
def test_rules_that_prometheus_refuses_are_named_with_its_sentence(
    loop_at: Any, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    done = alerts(str(path), loop_at("30s"))
    assert isinstance(done.exception, UsageError)
    assert str(path) in str(done.exception)
    assert said in str(done.exception)
    if "cannot be read" not in str(done.exception) and "no rule" not in said:
        assert re.search(r": Prometheus [0-9.]+ refuses them: ", str(done.exception))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiVersion: v1\nkind: ConfigMap", "it is ConfigMap (v1)"),
        (
            "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRules",
            "it is PrometheusRules (monitoring.coreos.com/v1); the operator has PrometheusRule",
        ),
        ("global: {}\nrule_files: [a.yaml]", "it has global, rule_files, and no groups"),
        ("- alert: A", "it is no mapping"),
    ],
)
def test_a_file_of_another_kind_is_refused_before_prometheus_sees_it(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rules.yaml").write_text(text)
    done = alerts(str(tmp_path / "rules.yaml"), "no-run")
    assert str(done.exception) == (
        f"rules {tmp_path / 'rules.yaml'}: {said}.\n"
        "Expected a file of rules, with groups, or PrometheusRules of Prometheus' operator."
    )


def test_rules_that_cannot_be_evaluated_on_these_series_are_named(loop_at: Any, tmp_path: Path) -> None:
    done = alerts(
        rules(tmp_path, "kube_pod_info * on(pod) kube_pod_status_phase"),
        loop_at("30s"),
        "--phases",
        "1",
        "--for",
        "10m",
    )
    assert isinstance(done.exception, UsageError)
    assert "cannot be evaluated" in str(done.exception)


def test_a_host_without_promtool_and_packages_is_told_what_to_install(
    loop_at: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = loop_at("30s")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CRASHLOOP_CACHE_DIR", str(tmp_path))
    done = alerts(MIXIN, run)
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith("promtool: it is neither on PATH")


@pytest.mark.parametrize(("scrape", "time"), [("30s", "20s"), ("1s", "1000h")])
def test_a_time_of_no_scrapes_and_of_too_many_is_refused(loop_at: Any, scrape: str, time: str) -> None:
    done = alerts(MIXIN, loop_at("30s"), "--scrape", scrape, "--for", time)
    assert str(done.exception) == f"--for {time} with --scrape {scrape}: expected 2 to 20000 scrapes in that time."


def test_a_run_without_a_loop_says_why(tmp_path: Path) -> None:
    run = simulated_run(tmp_path, profile("30s"), crashing(3))
    done = alerts(MIXIN, str(run.root))
    assert isinstance(done.exception, UsageError)
    assert "no crash loop can be continued (1 touched by the run)" in str(done.exception)
