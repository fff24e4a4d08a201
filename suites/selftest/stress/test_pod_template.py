"""A template of the user's own: which files hold one, what a load cannot take of it, and that it is read once."""

import gzip
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.cluster.files import File, tar_bytes
from crashloop.errors import UsageError
from crashloop.profiles import load_profile
from crashloop.spec.pod import Action, ContainerKind, RestartPolicy
from crashloop.stress.loads import Crash, has_known_delays, is_stateless
from crashloop.stress.plan import StressPlan, plan_of
from crashloop.stress.plan_text import user_in_words
from crashloop.stress.pod_template import PodTemplate, faults_of, pods_in
from crashloop.stress.pods import pod_of
from crashloop.stress.profile import StressProfile
from crashloop.stress.profiles import load_stress_profile
from crashloop.stress.run import check_archives
from suites.selftest.kit.own_pods import spec, template

PROFILE = """\
nodes: [{name: a, profile: max-1s}]
loads:
  app: {kind: crash, node: a, template: theirs/app.yaml}
stages:
  - {name: storm, duration_s: 10, users: {app: 3}}
"""
POD = spec()


def written(folder: Path, *documents: Any, profile: str = PROFILE) -> Path:
    """A profile in a folder, with the documents of its template below it."""
    (folder / "theirs").mkdir()
    (folder / "theirs" / "app.yaml").write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    path = folder / "mine.yaml"
    path.write_text(profile, encoding="utf-8")
    return path


def own(profile: StressProfile) -> PodTemplate:
    load = profile.loads["app"]
    assert isinstance(load, Crash)
    assert load.own is not None
    return load.own


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as refused:
        load_stress_profile(path)
    return str(refused.value)


LABELLED = {"metadata": {"labels": {"app": "mine"}}, "spec": POD}


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "Pod", **LABELLED},
        {"kind": "Deployment", "spec": {"template": LABELLED}},
        {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": LABELLED}}}},
        {"kind": "PodTemplate", "template": LABELLED},
        {"kind": "JobSet", "spec": {"replicatedJobs": [{"name": "w", "template": {"spec": {"template": LABELLED}}}]}},
        {"kind": "LeaderWorkerSet", "spec": {"leaderWorkerTemplate": {"workerTemplate": LABELLED}}},
        {"kind": "List", "items": [{"kind": "Deployment", "spec": {"template": LABELLED}}]},
    ],
    ids=["pod", "deployment", "cron job", "pod template", "job set", "leader and workers", "list"],
)
def test_a_pod_is_found_in_whatever_makes_pods(tmp_path: Path, document: dict[str, Any]) -> None:
    found = own(load_stress_profile(written(tmp_path, {"kind": "Service", "spec": {"ports": []}}, document)))
    assert (found.file, found.labels, found.spec) == ("app.yaml", {"app": "mine"}, POD)


def test_a_run_keeps_what_was_read(tmp_path: Path) -> None:
    """The plan is read again without the file."""
    path = written(tmp_path, {"kind": "Pod", "spec": POD})
    plan = plan_of(
        load_stress_profile(path), provider="local", kubernetes_version="1.37.1", cores=2, kubelet=load_profile
    )
    (tmp_path / "theirs" / "app.yaml").unlink()
    again = msgspec.json.decode(msgspec.json.encode(plan), type=StressPlan)
    assert own(again.load).spec == POD
    assert again == plan


@pytest.mark.parametrize(
    ("documents", "sentence"),
    [
        (
            [{"kind": "Service", "spec": {"ports": []}}],
            "no pods in it (Service); expected one: a Pod, or an object with a pod template",
        ),
        ([], "no pods in it (nothing); expected one"),
        ([{"kind": "Pod", "spec": POD}] * 11, f"11 pods in it ({'Pod/?, ' * 10}...); expected one"),
        ([{"kind": "Pod", "spec": POD}, {"kind": "Pod", "spec": POD}], "2 pods in it (Pod/?, Pod/?); expected one"),
        ([{"kind": "Pod", "spec": {"containers": []}}], "its pod spec has no containers."),
        ([{"kind": "Pod", "spec": {"volumes": []}}], "spec: containers is missing."),
        ([{"kind": "Pod", "spec": {"containers": [{"name": "a"}]}}], "spec.containers[0]: image is missing."),
        (
            [{"kind": "Pod", "metadata": {"labels": ["a"]}, "spec": POD}],
            "labels: expected a mapping, not a list.",
        ),
        ([{"kind": "Pod", "metadata": "app", "spec": POD}], "its metadata is 'app'; expected a mapping"),
        ([{"kind": "Pod", "spec": POD | {"volumes": ["data"]}}], "spec.volumes[0]: expected a mapping, not text."),
        (
            [{"kind": "Pod", "spec": POD | {"restartPolicy": "Never"}}],
            "restartPolicy is Never, and no container has a restart policy or a restart rule: nothing would restart.",
        ),
        (
            [{"kind": "Pod", "spec": POD | {"restartPolicy": "Sometimes"}}],
            "spec.restartPolicy: 'Sometimes' is none of its values.",
        ),
        ([{"kind": "Pod", "spec": {"containers": POD["containers"] * 2}}], "container names are not unique"),
        (
            [{"kind": "Pod", "spec": spec(restartPolicyRule=[])}],
            "spec.containers[0].restartPolicyRule is no field of Kubernetes 1.37; did you mean restartPolicyRules?",
        ),
        (
            [{"kind": "Pod", "spec": spec(restartPolicyRules=[{"action": "Restart", "exitCode": {}}])}],
            "spec.containers[0].restartPolicyRules[0].exitCode is no field of Kubernetes 1.37; did you mean exitCodes?",
        ),
        (
            [{"kind": "Pod", "spec": spec(restartPolicyRules=[{"action": "Restart", "onExit": {}}])}],
            "spec.containers[0].restartPolicyRules[0].onExit is no field of Kubernetes 1.37.",
        ),
        (
            [{"kind": "Pod", "spec": spec(livenessProbe={"exec": {"command": ["a"]}, "failureTreshold": 1})}],
            "spec.containers[0].livenessProbe.failureTreshold is no field of Kubernetes 1.37; did you mean failureThreshold?",
        ),
        (
            [{"kind": "Pod", "spec": spec(comand=["a"])}],
            "spec.containers[0].comand is no field of Kubernetes 1.37; did you mean",
        ),
        (
            [{"kind": "Pod", "spec": spec(resources={"limits": 5})}],
            "spec.containers[0].resources.limits is 5; a kubelet decodes it as map[string]any.",
        ),
        (
            [{"kind": "Pod", "spec": spec(command="a")}],
            'spec.containers[0].command is "a"; a kubelet decodes it as []string.',
        ),
    ],
    ids=[
        "no pod",
        "empty",
        "many pods",
        "two pods",
        "no containers",
        "no list of containers",
        "no image",
        "no labels",
        "no metadata",
        "no volume",
        "never",
        "unknown policy",
        "one name twice",
        "misspelt field",
        "misspelt field of a rule",
        "unknown field of a rule",
        "misspelt field of a probe",
        "misspelt field that decides no restart",
        "no mapping",
        "no list",
    ],
)
def test_a_template_that_a_load_cannot_take_is_refused(tmp_path: Path, documents: list[Any], sentence: str) -> None:
    path = written(tmp_path, *documents)
    said = refusal(path)
    assert sentence in said
    assert said.startswith("stress profile \"mine\": load 'app', template theirs/app.yaml: ")
    assert said.endswith(f"Seen in {path}.")


OF_IT = {"template": LABELLED}


@pytest.mark.parametrize(
    ("document", "names"),
    [
        (
            {"kind": "RayCluster", "spec": {"headGroupSpec": OF_IT, "workerGroupSpecs": [{"groupName": "w", **OF_IT}]}},
            ["RayCluster/r/headGroupSpec", "RayCluster/r/w"],
        ),
        (
            {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Master": OF_IT, "Worker": OF_IT}}},
            ["PyTorchJob/r/Master", "PyTorchJob/r/Worker"],
        ),
        ({"kind": "RayService", "spec": {"rayClusterConfig": {"headGroupSpec": OF_IT}}}, ["RayService/r"]),
        ({"kind": "Job", "spec": {"tasks": [{"name": "a", **OF_IT}]}}, ["Job/r"]),
        ({"kind": "JobSet", "spec": {"replicatedJobs": [{"name": "a", "template": {"spec": OF_IT}}]}}, ["JobSet/r/a"]),
        ({"kind": "VirtualMachine", "spec": {"template": {"spec": {"domain": {}}}}}, []),
        ({"kind": "Workflow", "spec": {"templates": [{"name": "a", "container": {"image": "b"}}]}}, []),
        ({"kind": "TaskRun", "spec": {"taskSpec": {"steps": [{"name": "a", "image": "b"}]}}}, []),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_templates_in_objects_of_others_are_named_by_what_they_are_of(
    document: dict[str, Any], names: list[str]
) -> None:
    assert [name for name, _ in pods_in({**document, "metadata": {"name": "r"}})] == names


@pytest.mark.parametrize(
    ("of", "policies"),
    [
        ({"restartPolicy": "OnFailure"}, ["OnFailure"]),
        ({"restartPolicy": "ExitCode"}, ["Never"]),
        ({}, []),
    ],
    ids=str,
)
def test_a_replica_of_kubeflow_has_the_policy_beside_its_template(of: dict[str, Any], policies: list[str]) -> None:
    job = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "spec": {"tfReplicaSpecs": {"Worker": {**of, **OF_IT}}}}
    assert [pod["spec"]["restartPolicy"] for _, pod in pods_in(job)] == policies


def test_a_template_whose_policy_its_program_replaces_is_none() -> None:
    never = {"template": {"spec": {**POD, "restartPolicy": "Always"}}}
    spark = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "spec": {"driver": never}}
    assert list(pods_in(spark)) == []


def test_what_is_knatives_own_is_no_field_of_a_pod() -> None:
    service = {
        "kind": "Service",
        "spec": {"template": {"spec": {**POD, "containerConcurrency": 5, "timeoutSeconds": 3}}},
    }
    ((_, pod),) = pods_in(service)
    assert pod["spec"] == POD


def test_a_template_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, profile=PROFILE.replace("theirs/app.yaml", "app.yml"))
    assert "load 'app', template app.yml: it cannot be read (No such file or directory)." in refusal(path)


def test_a_template_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "theirs" / "app.yaml").write_text("kind: {Pod", encoding="utf-8")
    assert "template theirs/app.yaml: it cannot be read (it is neither JSON nor YAML: " in refusal(path)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ("run_s: 1", "run_s"),
        ("exit_code: 3, succeeding: 0.5", "exit_code, succeeding"),
        ("containers: 2, companions: 1", "companions, containers"),
        ("rule: {operator: In, values: [1]}", "rule"),
        ("startup: {cpu_s: 1}", "startup"),
        ("restart_policy: OnFailure", "restart_policy"),
        ("host_network: true, volume: host", "host_network, volume"),
    ],
    ids=["life", "exit codes", "containers", "rule", "start-up", "policy", "surroundings"],
)
def test_fields_that_a_template_decides_are_refused_beside_it(tmp_path: Path, fields: str, named: str) -> None:
    path = written(tmp_path, {"kind": "Pod", "spec": POD}, profile=PROFILE.replace("template:", f"{fields}, template:"))
    sentence = f"{named} beside template; the pod of the template is used as it is, so leave {named} out"
    assert sentence in refusal(path)


def test_a_pull_that_is_rare_is_taken() -> None:
    for fields in ({"image": "app", "imagePullPolicy": "IfNotPresent"}, {"image": f"h:5000/app@sha256:{0:064}"}):
        assert list(faults_of(template(spec(**fields)))) == []


def test_restart_policies_and_rules_of_a_template_are_those_of_its_scenario() -> None:
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    regular = spec(restartPolicy="Never", restartPolicyRules=[rule])["containers"]
    inits = [{"name": "proxy", "image": "p:1", "restartPolicy": "Always"}]
    theirs = template({"restartPolicy": "Never", "containers": regular, "initContainers": inits})
    assert list(faults_of(theirs)) == []
    proxy, app = pod_of(Crash(node="a", template=theirs), 0).containers
    assert (proxy.kind, proxy.is_sidecar, app.restart_policy) == (ContainerKind.INIT, True, RestartPolicy.NEVER)
    assert [(each.action, each.values) for each in app.rules] == [(Action.RESTART, (42,))]
    assert not app.program.known


def test_rules_of_a_template_need_a_kubelet_that_heeds_them(tmp_path: Path) -> None:
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    path = written(tmp_path, {"kind": "Pod", "spec": spec(restartPolicy="Never", restartPolicyRules=[rule])})
    with pytest.raises(UsageError, match="load 'app': its restart rule needs the feature gate ContainerRestartRules"):
        plan_of(load_stress_profile(path), provider="local", kubernetes_version="1.34.4", cores=2, kubelet=load_profile)


@pytest.mark.parametrize(
    ("fields", "killed_after_s", "known"),
    [
        ({}, {}, True),
        ({"readinessProbe": {"periodSeconds": 1}}, {}, True),
        ({"livenessProbe": {"initialDelaySeconds": 5}}, {"app": 24.0}, True),
        ({"startupProbe": {"failureThreshold": 1}}, {"app": 0.0}, False),
        ({"lifecycle": {"postStart": {"exec": {"command": ["true"]}}}}, {"app": 0.0}, False),
    ],
    ids=["nothing", "readiness", "liveness", "startup at once", "hook"],
)
def test_a_kill_is_possible_once_a_probe_can_have_failed_often_enough(
    fields: dict[str, Any], killed_after_s: dict[str, float], known: bool
) -> None:
    theirs = template(spec(**fields))
    assert theirs.killed_after_s == killed_after_s
    assert has_known_delays(Crash(node="a", template=theirs)) is known


def test_a_template_with_a_volume_of_the_host_is_stateful() -> None:
    for source, stateless in (("emptyDir", True), ("hostPath", False)):
        theirs = template(POD | {"volumes": [{"name": "v", source: {}}]})
        assert is_stateless(Crash(node="a", template=theirs)) is stateless


def test_a_load_with_a_template_is_told_by_its_file_and_images() -> None:
    assert user_in_words(Crash(node="a", template=template(POD))) == (
        "the pod of app.yaml, as it is: 1 container, image registry.example/app:1; restart policy Always"
    )


def test_a_file_that_is_no_archive_of_images_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "app.tar"
    with pytest.raises(UsageError, match=r"--image-archive .*app.tar: it cannot be read as a tar \(No such file"):
        check_archives([str(path)])
    path.write_text("no tar", encoding="utf-8")
    with pytest.raises(UsageError, match=r"--image-archive .*app.tar: it cannot be read as a tar"):
        check_archives([str(path)])
    path.write_bytes(gzip.compress(tar_bytes([File(name="manifest.json", content=b"[]")]))[:40])
    with pytest.raises(UsageError, match=r"--image-archive .*app.tar: it cannot be read as a tar"):
        check_archives([str(path)])
    path.write_bytes(tar_bytes([File(name="app", content=b"")]))
    with pytest.raises(
        UsageError, match=r"no images in it; expected a file as `docker save` writes it, with index.json or"
    ):
        check_archives([str(path)])
    path.write_bytes(tar_bytes([File(name="manifest.json", content=b"[]")]))
    check_archives([str(path)])


def deployment(name: str, pod_spec: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {"template": template}}


def test_one_of_several_is_chosen_by_its_kind_and_name(tmp_path: Path) -> None:
    several = [deployment("a", POD), deployment("b", POD)]
    path = written(tmp_path, *several, profile=PROFILE.replace("app.yaml", "app.yaml#Deployment/b"))
    assert own(load_stress_profile(path)).labels == {"app": "b"}
    path.write_text(PROFILE)
    assert "2 pods in it (Deployment/a, Deployment/b); expected one" in refusal(path)
    assert "expected one. Choose it: app.yaml#Deployment/b" in refusal(path)


def test_what_a_run_decides_itself_is_replaced_and_said(tmp_path: Path) -> None:
    placed = spec(image="h:5000/app:latest") | {"nodeName": "n", "nodeSelector": {"a": "b"}, "affinity": {}}
    found = own(load_stress_profile(written(tmp_path, deployment("a", placed))))
    assert found.spec == spec(image="h:5000/app:latest", imagePullPolicy="IfNotPresent")
    assert [each.split()[0] for each in found.replaced] == [
        "spec.affinity",
        "spec.nodeName",
        "spec.nodeSelector",
        "spec.containers[0].imagePullPolicy",
    ]


def test_a_class_of_priority_that_no_other_cluster_has_is_left_out_with_what_it_decides(tmp_path: Path) -> None:
    path, of_class = tmp_path / "app.yaml", {"priority": 1000, "preemptionPolicy": "Never"}
    gold = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gold"}, "value": 1000}
    path.write_text(yaml.safe_dump_all([gold, deployment("a", POD | of_class | {"priorityClassName": "gold"})]))
    found = own(load_stress_profile(path))
    assert found.spec == POD
    assert found.replaced == (
        "spec.priorityClassName is left out, with what it decides: a cluster may have no class gold.",
    )


def test_a_class_of_priority_that_every_cluster_has_is_kept(tmp_path: Path) -> None:
    critical = POD | {"priorityClassName": "system-node-critical", "priority": 2_000_001_000}
    found = own(load_stress_profile(written(tmp_path, deployment("a", critical))))
    assert (found.spec, found.replaced) == (critical, ())


def test_an_empty_restart_policy_is_none(tmp_path: Path) -> None:
    assert own(load_stress_profile(written(tmp_path, deployment("a", POD | {"restartPolicy": ""})))).spec == POD


def test_a_manifest_is_a_profile_of_its_pods(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(yaml.safe_dump_all([deployment("a", POD), deployment("b", POD)]))
    found = load_stress_profile(f"{path}#Deployment/a", pods=7, kubelet="max-10s")
    assert (own(found).labels, found.nodes[0].profile, found.stages[1].users["app"]) == ({"app": "a"}, "max-10s", 7)
    profile = written(tmp_path, deployment("a", POD))
    with pytest.raises(UsageError, match="--pods, --profile and #KIND/NAME are for a file with the pods themselves"):
        load_stress_profile(profile, pods=7)


def test_a_manifest_is_read_once_and_may_be_a_pipe() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end), os.fdopen(write_end, "wb") as pipe:
        pipe.write(yaml.safe_dump(deployment("a", POD)).encode())
        pipe.close()
        assert own(load_stress_profile(f"/dev/fd/{read_end}#Deployment/a")).labels == {"app": "a"}


def test_a_dry_run_of_a_manifest_says_what_would_run_and_what_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "app.yaml"
    path.write_text(yaml.safe_dump(deployment("a", POD | {"nodeSelector": {"kubernetes.io/os": "linux"}})))
    done = CliRunner().invoke(app, ["stress", str(path), "--pods", "7", "--profile", "max-10s", "--dry-run"])
    assert done.exit_code == 0, done.output
    assert (
        "node storm: kubelet profile max-10s\nload app: crash app.yaml (registry.example/app:1) on node storm"
        in done.output
    )
    assert "stage storm: 360 s with 1 healthy, 7 app" in done.output
    assert "load 'app', app.yaml: spec.nodeSelector is left out" in done.output


@pytest.mark.parametrize("option", ["--image-archive", "--kubelet-binary"])
def test_a_dry_run_names_a_file_that_is_not_there(tmp_path: Path, option: str) -> None:
    with pytest.raises(UsageError, match=f"{option} {tmp_path}/gone"):
        CliRunner().invoke(app, ["stress", "--dry-run", option, f"{tmp_path}/gone"], catch_exceptions=False)
