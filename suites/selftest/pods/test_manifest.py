"""The pod of a scenario says what the scenario says, in core/v1's words, and fits into any namespace."""

from typing import Any

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from crashloop.pods.manifest import config_manifest, ephemeral_containers, job_manifest, pod_manifest, pull_policy
from crashloop.spec.dependency import ConfigKind, ConfigObject, PullPolicy, RegistryImage, Variable
from crashloop.spec.owner import Job
from crashloop.spec.pod import (
    Action,
    Container,
    ContainerKind,
    Handler,
    Pod,
    Probe,
    ProbeKind,
    QosClass,
    RestartPolicy,
    restart_in,
    restart_not_in,
)
from crashloop.spec.program import HOLDS, Life, Program, exits_with, out_of_memory, runs
from crashloop.spec.scenario import PodScenario, Until

RICH = PodScenario(
    name="rich",
    profile="stock",
    pod=Pod(
        restart_policy=RestartPolicy.NEVER,
        containers=(
            Container(name="first", kind=ContainerKind.INIT, program=runs((0.5, 1), (0, 0))),
            Container(
                name="sidecar",
                kind=ContainerKind.INIT,
                restart_policy=RestartPolicy.ALWAYS,
                probes=(
                    Probe(kind=ProbeKind.STARTUP, period_s=2, failure_threshold=5, timeout_s=3, fails_after_s=1.25),
                ),
            ),
            Container(
                name="app",
                program=exits_with(42, after_s=2, times=3),
                restart_policy=RestartPolicy.ON_FAILURE,
                rules=(restart_in(42, 43), restart_not_in(0, action=Action.RESTART_ALL_CONTAINERS)),
                exit_code_on_term=0,
            ),
            Container(name="shell", kind=ContainerKind.EPHEMERAL, program=HOLDS),
        ),
    ),
    until=Until(),
)

SETTINGS = ConfigObject(name="settings", data={"GREETING": "one"})
GREETING = Variable(name="GREETING", object="settings")
OVER_HTTP = Probe(handler=Handler.HTTP, pattern="SSS")


def manifest(scenario: PodScenario = RICH) -> dict[str, Any]:
    return pod_manifest(scenario, node="worker", image="localhost/program:1", run="run-1")


def without_scripts(value: Any) -> Any:
    """The scripts are tested by running them."""
    if isinstance(value, dict):
        return {key: without_scripts(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_scripts(each) for each in value]
    return "<script>" if isinstance(value, str) and "\n" in value else value


def test_a_container_that_marks_a_volume_has_one_in_memory_beside_its_journal() -> None:
    marking = Container(program=msgspec.structs.replace(HOLDS, marks_volume=True))
    made = manifest(msgspec.structs.replace(RICH, pod=Pod(containers=(marking, Container(name="other")))))["spec"]
    assert made["volumes"][1] == {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
    assert [[each["mountPath"] for each in one["volumeMounts"]] for one in made["containers"]] == [
        ["/evidence", "/memory"],
        ["/evidence"],
    ]


def test_a_deadline_and_a_success_threshold_are_those_of_the_scenario() -> None:
    probed = Container(probes=(Probe(kind=ProbeKind.READINESS, success_threshold=2),))
    made = manifest(msgspec.structs.replace(RICH, pod=Pod(containers=(probed,), active_deadline_s=15)))["spec"]
    assert made["activeDeadlineSeconds"] == 15
    assert made["containers"][0]["readinessProbe"]["successThreshold"] == 2
    assert "activeDeadlineSeconds" not in manifest()["spec"]


def test_grace_periods_are_those_of_pod_and_probe() -> None:
    probed = Container(probes=(Probe(grace_s=4),))
    made = manifest(msgspec.structs.replace(RICH, pod=Pod(containers=(probed,), grace_s=30)))["spec"]
    assert made["terminationGracePeriodSeconds"] == 30
    assert made["containers"][0]["livenessProbe"]["terminationGracePeriodSeconds"] == 4


def test_each_container_that_answers_over_http_has_a_port_of_its_own() -> None:
    answering = (Container(name=name, env=(GREETING,), probes=(OVER_HTTP,)) for name in ("one", "other"))
    pod = Pod(containers=tuple(answering))
    scenario = PodScenario(name="two", profile="stock", pod=pod, until=Until(), objects=(SETTINGS,))
    containers = manifest(scenario)["spec"]["containers"]
    assert [each["livenessProbe"]["httpGet"]["port"] for each in containers] == [8080, 8081]
    served = [{each["name"]: each.get("value") for each in container["env"]} for container in containers]
    assert [each["PROBE_PORT"] for each in served] == ["8080", "8081"]
    assert all("GREETING" in each for each in served), "its own variables stay"


@pytest.mark.parametrize("qos", QosClass, ids=str)
def test_the_containers_of_a_pod_ask_for_what_its_class_of_service_means(qos: QosClass) -> None:
    pod = Pod(containers=(Container(), Container(name="setup", kind=ContainerKind.INIT)), qos=qos)
    spec = manifest(msgspec.structs.replace(RICH, pod=pod))["spec"]
    ample = {"cpu": "200m", "memory": "32Mi"}
    expected = {
        QosClass.BURSTABLE: {"requests": {"cpu": "10m", "memory": "8Mi"}},
        QosClass.GUARANTEED: {"requests": ample, "limits": ample},
        QosClass.BEST_EFFORT: {},
    }
    assert [each["resources"] for each in (*spec["containers"], *spec["initContainers"])] == [expected[qos]] * 2


def test_a_memory_limit_makes_a_pod_burstable() -> None:
    limited = Container(memory_limit="32Mi")
    assert Pod(containers=(limited,)).qos is QosClass.BURSTABLE
    with pytest.raises(ValueError, match="a pod that is BestEffort has containers with a memory_limit"):
        Pod(containers=(limited,), qos=QosClass.BEST_EFFORT)


def test_objects_are_mounted_as_folders_of_their_names() -> None:
    settings = ConfigObject(name="settings", data={"A": "b"})
    token = ConfigObject(name="token", data={"T": "red"}, kind=ConfigKind.SECRET)
    pod = Pod(containers=(Container(folders=("settings", "token")), Container(name="other", folders=("settings",))))
    made = manifest(msgspec.structs.replace(RICH, pod=pod, objects=(settings, token)))["spec"]
    assert made["volumes"][1:] == [
        {"name": "settings", "configMap": {"name": "rich-settings"}},
        {"name": "token", "secret": {"secretName": "rich-token"}},
    ]
    assert [[each["mountPath"] for each in one["volumeMounts"]] for one in made["containers"]] == [
        ["/evidence", "/folders/settings", "/folders/token"],
        ["/evidence", "/folders/settings"],
    ]


def test_the_manifest_of_a_rich_scenario_is_as_agreed(snapshot: SnapshotAssertion) -> None:
    assert without_scripts(manifest()) == snapshot.use_extension(JSONSnapshotExtension)


def test_a_manifest_is_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(manifest())) == manifest()


def test_a_container_without_policy_and_rules_has_neither_field() -> None:
    plain = msgspec.structs.replace(RICH, pod=Pod(containers=(Container(),)))
    (container,) = manifest(plain)["spec"]["containers"]
    assert not {"restartPolicy", "restartPolicyRules", "livenessProbe"} & container.keys()


def test_ephemeral_containers_are_added_later_and_ask_for_nothing() -> None:
    assert {"shell"}.isdisjoint(each["name"] for each in manifest()["spec"]["containers"])
    (shell,) = ephemeral_containers(RICH, image="localhost/program:1")
    assert shell["name"] == "shell"
    assert not {"resources", "restartPolicy", "livenessProbe"} & shell.keys()


@pytest.mark.parametrize(
    ("image", "policy"),
    [("localhost/program:1", "Never"), ("docker.io/library/busybox:1.36", "IfNotPresent")],
    ids=["of-the-nodes", "of-a-registry"],
)
def test_only_an_image_that_a_registry_has_is_pulled(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


FEATURES = PodScenario(
    name="features",
    profile="max-2s",
    by_scheduler=True,
    pod=Pod(
        containers=(
            Container(
                program=out_of_memory(),
                memory_limit="32Mi",
                env=(Variable(name="GREETING", object="settings"), Variable(name="TOKEN", object="token")),
                post_start=True,
                restarts_on_resize=True,
            ),
        )
    ),
    until=Until(),
    objects=(
        ConfigObject(name="settings", data={"GREETING": "one"}),
        ConfigObject(name="token", data={"TOKEN": "red"}, kind=ConfigKind.SECRET),
    ),
)


def test_the_manifest_of_a_pod_with_features_is_as_agreed(snapshot: SnapshotAssertion) -> None:
    assert without_scripts(manifest(FEATURES)) == snapshot.use_extension(JSONSnapshotExtension)


def test_an_object_is_stored_under_a_name_of_its_scenario() -> None:
    settings, token = FEATURES.objects
    assert config_manifest("features", settings, {"GREETING": "two"}, labels={"a": "b"}) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "features-settings", "labels": {"a": "b"}},
        "data": {"GREETING": "two"},
    }
    assert config_manifest("features", token, token.data, labels={})["stringData"] == {"TOKEN": "red"}


def test_an_image_of_the_registry_is_named_with_its_pull_policy_and_secret() -> None:
    image = RegistryImage(policy=PullPolicy.ALWAYS, secret="login")
    scenario = PodScenario(
        name="pulled",
        profile="stock",
        pod=Pod(containers=(Container(image=image), Container(name="other"))),
        until=Until(),
        objects=(ConfigObject(name="login", kind=ConfigKind.SECRET, data={"password": "wrong"}),),
    )
    names = {"app": "10.101.0.1:5000/ns/pulled/app:current"}
    spec = pod_manifest(scenario, node="worker", image="localhost/program:1", run="run-1", images=names)["spec"]
    assert spec["imagePullSecrets"] == [{"name": "pulled-login"}]
    assert [(each["image"], each["imagePullPolicy"]) for each in spec["containers"]] == [
        (names["app"], "Always"),
        ("localhost/program:1", "Never"),
    ]
    assert "env=IMAGE_VERSION" in spec["containers"][0]["command"]
    assert "imagePullSecrets" not in manifest()["spec"]


def test_the_pods_of_a_job_take_their_image_from_the_registry() -> None:
    pod = Pod(
        containers=(Container(image=RegistryImage(policy=PullPolicy.ALWAYS)),), restart_policy=RestartPolicy.NEVER
    )
    scenario = PodScenario(name="s", profile="stock", pod=pod, until=Until(), owner=Job())
    names = {"app": "registry:5000/ns/s/app:current"}
    made = job_manifest(scenario, node="worker", image="localhost/program:1", run="run-1", images=names)
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["imagePullPolicy"]) == (names["app"], "Always")


def test_a_job_whose_first_pod_alone_fails_numbers_its_pods() -> None:
    lives = (Life(exit_code=42), Life(exit_code=0))

    def made(program: Program) -> dict[str, Any]:
        group = PodScenario(
            name="group",
            profile="stock",
            pod=Pod(containers=(Container(program=program),), restart_policy=RestartPolicy.NEVER),
            until=Until(),
            owner=Job(parallelism=5, backoff_limit=0),
        )
        job: dict[str, Any] = job_manifest(group, node="node", image="i", run="r")["spec"]
        return job

    assert made(Program(lives, first_pod_only=True))["completionMode"] == "Indexed"
    assert "completionMode" not in made(Program(lives))


def test_lives_leave_their_names_in_the_pods_of_a_recording_only() -> None:
    def words(made: dict[str, Any]) -> list[list[str]]:
        each = (*made["spec"]["initContainers"], *made["spec"]["containers"])
        return [[word for word in one["command"] if word.startswith("words=")] for one in each]

    assert words(manifest()) == [[], [], []]
    recorded = pod_manifest(RICH, node="worker", image="localhost/program:1", run="run-1", last_words=True)
    assert words(recorded) == [["words=/dev/termination-log"], [], ["words=/dev/termination-log"]]


def test_the_rule_of_a_job_names_the_container_that_it_looks_at() -> None:
    pod = Pod(containers=(Container(),), restart_policy=RestartPolicy.NEVER)

    def rule(job: Job) -> Any:
        owned = PodScenario(name="s", profile="stock", pod=pod, until=Until(), owner=job)
        made: dict[str, Any] = job_manifest(owned, node="node", image="i", run="r")["spec"]
        return made["podFailurePolicy"]["rules"][0]["onExitCodes"]

    assert rule(Job(fails_on=(42,), fails_on_container="app"))["containerName"] == "app"
    assert "containerName" not in rule(Job(fails_on=(42,)))
