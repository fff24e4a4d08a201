"""What loads make: pods of the conformance suite, bounded in time, labelled, and asked for at a stated time."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.spec.pod import Action, RestartPolicy, restart_in
from crashloop.stress.assignment import Order
from crashloop.stress.loads import (
    ASKED_ANNOTATION,
    AnyLoad,
    Churn,
    Crash,
    Demand,
    Finish,
    Jobs,
    Rollout,
    ServerProbe,
    StartUp,
    is_stateless,
    large_images,
    load_of,
    succeeds,
)
from crashloop.stress.pod_template import PodTemplate
from crashloop.stress.pods import serial_of
from load.manifests import Maker, Series, made

CRASH = Crash(node="n", run_s=0.5, containers=2, companions=1, exit_code=7)


def maker(load: AnyLoad) -> Maker:
    order = Order(
        kubeconfig="k",
        namespace="ns",
        run="r",
        image="localhost/image",
        hosts={"n": "node-1"},
        loads={"crashers": load},
        stages=(),
        folder=str(Path()),
        ends_after_s=300,
    )
    return Maker(order=order, load="crashers", worker=2)


def arguments(pod: dict[str, Any], container: int = 0) -> list[str]:
    """What follows the script in a container's command: journal, exit code on SIGTERM, lives."""
    command: list[str] = pod["spec"]["containers"][container]["command"]
    return command[4:]


def test_a_crashing_pod_is_bound_to_its_node_labelled_and_ends_by_itself() -> None:
    pod = maker(CRASH).crashing(CRASH, 5)
    assert pod["metadata"]["name"] == "crashers-2-5"
    assert pod["metadata"]["labels"]["crashloop.dev/run"] == "r"
    assert pod["metadata"]["labels"]["crashloop.dev/load"] == "crashers"
    assert pod["metadata"]["labels"]["crashloop.dev/worker"] == "2"
    assert pod["spec"]["nodeName"] == "node-1"
    assert pod["spec"]["activeDeadlineSeconds"] == 300


def test_all_its_containers_crash_and_companions_hold() -> None:
    pod = maker(CRASH).crashing(CRASH, 0)
    assert [each["name"] for each in pod["spec"]["containers"]] == ["app", "app-2", "beside-1"]
    assert arguments(pod, 0)[-1] == "0.5:7:100000"
    assert arguments(pod, 1)[-1] == "0.5:7:100000"
    assert len(arguments(pod, 2)) == 2


def test_a_share_of_the_pods_exits_with_zero() -> None:
    load = Crash(node="n", succeeding=0.25)
    codes = [arguments(maker(load).crashing(load, serial))[-1].split(":")[1] for serial in range(8)]
    assert codes == ["1", "1", "1", "0", "1", "1", "1", "0"]


def test_each_life_may_start_up_with_cpu_and_reads() -> None:
    load = Crash(node="n", startup=StartUp(cpu_s=0.5, read_mb=20))
    assert arguments(maker(load).crashing(load, 0))[2:] == ["startup=50:20:/evidence/app.data", "0:1:100000"]


def test_a_pod_may_have_a_large_image_that_no_registry_has() -> None:
    load = Crash(node="n", image_mib=500, containers=2)
    containers = maker(load).crashing(load, 0)["spec"]["containers"]
    assert [(each["image"], each["imagePullPolicy"]) for each in containers] == [
        ("localhost/crashloop/program-500-mib:1", "Never")
    ] * 2
    assert large_images([load, Crash(node="n"), load, Churn(node="n", rate_per_s=1)]) == {
        "localhost/crashloop/program-500-mib:1": 500
    }


def test_a_pod_may_have_the_network_of_its_node() -> None:
    of_the_node, of_its_own = Crash(node="n", host_network=True), Crash(node="n")
    assert maker(of_the_node).crashing(of_the_node, 0)["spec"]["hostNetwork"] is True
    assert "hostNetwork" not in maker(of_its_own).crashing(of_its_own, 0)["spec"]


@pytest.mark.parametrize(
    ("load", "source", "stateless"),
    [
        (Crash(node="n", companions=1, volume="memory"), {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}, True),
        (Crash(node="n", companions=1, volume="host"), {"hostPath": {"path": "/usr", "type": "Directory"}}, False),
    ],
    ids=["memory", "host"],
)
def test_all_containers_mount_a_further_volume_and_that_of_the_host_makes_the_pod_stateful(
    load: Crash, source: dict[str, Any], *, stateless: bool
) -> None:
    spec = maker(load).crashing(load, 0)["spec"]
    assert spec["volumes"][1] == {"name": "volume", **source}
    assert [[each["mountPath"] for each in one["volumeMounts"]] for one in spec["containers"]] == [
        ["/evidence", "/volume"],
        ["/evidence", "/volume"],
    ]
    assert is_stateless(load) is stateless


def test_a_rule_comes_with_the_container_s_own_policy() -> None:
    rule = restart_in(42, action=Action.RESTART_ALL_CONTAINERS)
    load = Crash(node="n", exit_code=42, restart_policy=RestartPolicy.NEVER, rule=rule, companions=1)
    app, beside = maker(load).crashing(load, 0)["spec"]["containers"]
    assert app["restartPolicy"] == "Never"
    assert app["restartPolicyRules"][0]["action"] == "RestartAllContainers"
    assert "restartPolicyRules" not in beside


def test_a_healthy_pod_goes_through_the_scheduler() -> None:
    load = Churn(node="n", rate_per_s=1)
    spec = maker(load).healthy(load, 0)["spec"]
    assert "nodeName" not in spec
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    assert term["matchFields"] == [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]


SPREAD = {"worker-b": "b.example", "worker-a": "a.example"}
ON_THESE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a.example", "b.example"]}
                    ]
                }
            ]
        }
    }
}
EVENLY = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"crashloop.dev/run": "r", "crashloop.dev/load": "crashers"}},
}


def spreading(load: AnyLoad) -> Maker:
    made = maker(load)
    return msgspec.structs.replace(made, order=msgspec.structs.replace(made.order, hosts={"n": "n"}, spread=SPREAD))


HEALTHY, JOBS, ROLLOUT = Churn(node="n", rate_per_s=1), Jobs(node="n", rate_per_s=1), Rollout(node="n")
MADE: dict[str, dict[str, Any]] = {
    "crash": spreading(CRASH).crashing(CRASH, 0),
    "churn": spreading(HEALTHY).healthy(HEALTHY, 0),
    "jobs": spreading(JOBS).job(JOBS, 0)["spec"]["template"],
    "rollout": spreading(ROLLOUT).deployment(ROLLOUT, 0)["spec"]["template"],
}


@pytest.mark.parametrize("kind", MADE)
def test_a_pod_that_is_spread_is_placed_by_the_scheduler_as_many_of_its_load_on_each_node(kind: str) -> None:
    pod = MADE[kind]
    assert "nodeName" not in pod["spec"]
    assert pod["spec"]["affinity"] == ON_THESE
    assert pod["spec"]["topologySpreadConstraints"] == [EVENLY]
    assert EVENLY["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()  # type: ignore[index]


def test_a_user_s_own_pod_keeps_its_constraints_where_it_is_spread() -> None:
    own = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    of_our_pair = EVENLY | {"maxSkew": 3, "labelSelector": {"matchLabels": {"app": "app"}}}
    theirs = {"containers": [{"name": "app", "image": "i:1"}], "topologySpreadConstraints": [own, of_our_pair]}
    load = Crash(node="n", template=PodTemplate(file="app.yaml", spec=theirs))
    spec = spreading(load).crashing(load, 0)["spec"]
    assert "nodeName" not in spec
    assert (spec["affinity"], spec["topologySpreadConstraints"]) == (ON_THESE, [own, EVENLY])
    assert theirs["topologySpreadConstraints"] == [own, of_our_pair]


def test_a_pod_that_ends_has_containers_that_no_rule_restarts() -> None:
    load = Finish(node="n", rate_per_s=1, containers=3, rule=restart_in(42))
    spec = maker(load).finishing(load, 0)["spec"]
    assert spec["restartPolicy"] == "Never"
    assert [each["name"] for each in spec["containers"]] == ["app", "app-2", "app-3"]
    assert all(each["restartPolicyRules"][0]["exitCodes"]["values"] == [42] for each in spec["containers"])


def test_a_rule_that_would_restart_pods_that_have_to_stay_down_is_refused() -> None:
    with pytest.raises(ValueError, match="rule matches exit code 7; the pods of this load have to stay down"):
        Finish(node="n", rate_per_s=1, rule=restart_in(7))


def test_a_job_fails_some_times_and_then_succeeds() -> None:
    load = Jobs(node="n", rate_per_s=1, failures=2, run_s=0.1)
    job = maker(load).job(load, 0)
    assert job["spec"]["backoffLimit"] == 5
    assert job["spec"]["activeDeadlineSeconds"] == 300
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert arguments(job["spec"]["template"])[2:] == ["0.1:1:2", "0.1:0:1"]


def test_a_deployment_selects_its_own_pods_only_and_may_have_no_deadline() -> None:
    load = Rollout(node="n", replicas=3)
    deployment = maker(load).deployment(load, 1)
    template = deployment["spec"]["template"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert deployment["spec"]["selector"]["matchLabels"] == {"crashloop.dev/rollout": "crashers-2-1"}
    assert "activeDeadlineSeconds" not in template["spec"]


def server(**fields: Any) -> dict[str, Any]:
    """The container of a server."""
    load = Demand(node="n", rate_per_s=5, **fields)
    (container,) = maker(load).server(load, 0)["spec"]["containers"]
    return dict(container)


def test_a_server_has_its_work_and_its_workers() -> None:
    env = {each["name"]: each["value"] for each in server(work_ms=2.5, workers=3)["env"]}
    assert env == {"EVIDENCE": "/evidence", "WORK_US": "2500", "WORKERS": "3"}


def test_servers_of_one_service_carry_its_label_and_are_asked_whether_they_are_ready() -> None:
    load = Demand(node="n", rate_per_s=5, service="shared", readiness=ServerProbe(period_s=1), probe=None)
    made = maker(load)
    pod, service = made.server(load, 0), made.service("shared")
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert service["metadata"]["labels"]["crashloop.dev/run"] == "r"
    (container,) = pod["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"] == {"path": "/cgi-bin/health", "port": 8080}
    assert "livenessProbe" not in container
    assert "crashloop.dev/service" not in maker(CRASH).crashing(CRASH, 0)["metadata"]["labels"]


def test_a_limit_and_a_probe_are_there_only_if_they_are_planned() -> None:
    bare = server(probe=None, cpu_request="30m")
    assert bare["resources"] == {"requests": {"cpu": "30m", "memory": "8Mi"}}
    assert "livenessProbe" not in bare
    limited = server(cpu_limit="60m", probe=ServerProbe(timeout_s=5))
    assert limited["resources"]["limits"] == {"cpu": "60m"}
    assert limited["livenessProbe"] == {
        "httpGet": {"path": "/cgi-bin/health", "port": 8080},
        "periodSeconds": 10,
        "timeoutSeconds": 5,
        "failureThreshold": 3,
    }


def test_a_probe_with_a_worker_of_its_own_asks_for_a_file() -> None:
    probe = server(probe=ServerProbe(own_worker=True))["livenessProbe"]
    assert probe["httpGet"]["path"] == "/health"


def test_what_is_asked_for_says_when_it_was_asked_for() -> None:
    manifest = {"kind": "Pod", "metadata": {"name": "x"}}
    asked = {"kind": "Pod", "metadata": {"name": "x", "annotations": {ASKED_ANNOTATION: "17"}}}
    assert msgspec.json.decode(made(manifest).asked(17)) == asked
    assert manifest == {"kind": "Pod", "metadata": {"name": "x"}}


@pytest.mark.parametrize(
    ("load", "make"),
    [
        (Churn(node="n", rate_per_s=1, volume="host"), Maker.healthy),
        (Finish(node="n", rate_per_s=1, containers=2), Maker.finishing),
        (Jobs(node="n", rate_per_s=1, failures=2), Maker.job),
    ],
    ids=["churn", "finish", "jobs"],
)
@pytest.mark.parametrize("serial", [0, 7, 12_345])
def test_an_object_of_a_series_is_the_one_that_would_be_made_alone(
    load: AnyLoad, make: Callable[[Maker, Any, int], dict[str, Any]], serial: int
) -> None:
    by_itself = partial(make, maker(load), load)
    series = Series(maker(load).name, by_itself)
    assert series.of(serial).asked(17) == made(by_itself(serial)).asked(17)
    assert (series.of(serial).kind, series.of(serial).name) == (by_itself(0)["kind"], f"crashers-2-{serial}")


@given(st.integers(0, 500), st.floats(0, 1))
def test_of_any_first_pods_the_share_succeeds_rounded_down(number: int, share: float) -> None:
    load = Crash(node="n", succeeding=share)
    assert sum(succeeds(load, serial) for serial in range(number)) == int(number * share + 1e-9)


@pytest.mark.parametrize(
    ("pod", "load"),
    [
        ("crashers-0-1", "crashers"),
        ("crashers-many-0-1", "crashers-many"),
        ("crashers-0-3-abc9x", "crashers"),
        ("other-0-1", None),
        ("crashers", None),
    ],
    ids=["plain", "longest", "made by a controller", "stranger", "no serial"],
)
def test_a_pod_tells_its_load_by_its_name(pod: str, load: str | None) -> None:
    assert load_of(pod, ("crashers", "crashers-many")) == load


def test_a_pod_tells_its_serial_number_by_its_name() -> None:
    assert [serial_of(name) for name in ("a-0-12", "a-0-1-abcde")] == [12, 0]


def test_an_order_comes_back_as_it_was_written() -> None:
    order = maker(CRASH).order
    assert msgspec.json.decode(msgspec.json.encode(order), type=Order) == order


def test_a_pod_of_a_template_is_the_user_s_but_for_what_the_run_needs() -> None:
    theirs = {
        "containers": [{"name": "app", "image": "registry.example/app:1", "command": ["/app"]}],
        "restartPolicy": "OnFailure",
        "tolerations": [{"key": "pool"}],
    }
    labels = {"app": "theirs", "crashloop.dev/run": "another"}
    load = Crash(
        node="n", template=PodTemplate(file="app.yaml", labels=labels, annotations={"note": "theirs"}, spec=theirs)
    )
    pod = msgspec.json.decode(made(maker(load).crashing(load, 5)).asked(17))
    assert pod["metadata"] == {
        "name": "crashers-2-5",
        "labels": {
            "app": "theirs",
            "crashloop.dev/scenario": "crashers-2-5",
            "crashloop.dev/run": "r",
            "crashloop.dev/load": "crashers",
            "crashloop.dev/worker": "2",
        },
        "annotations": {"note": "theirs", ASKED_ANNOTATION: "17"},
    }
    assert pod["spec"] == theirs | {
        "nodeName": "node-1",
        "activeDeadlineSeconds": 300,
        "tolerations": [{"key": "pool"}, {"operator": "Exists"}],
    }
    assert theirs["tolerations"] == [{"key": "pool"}]
