"""`crashloop why` of files, folders, standard input and a cluster."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner, Result

from crashloop.cli import app
from crashloop.errors import UsageError
from suites.selftest.kit.kube_peer import Peer, serving, status
from suites.selftest.why.test_answer import pod
from tools.schemas import schemas

NODE = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"nodeInfo": {"kubeletVersion": "v1.36.2"}}}


def why(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["why", *arguments], input=given, env={"KUBECONFIG": "/nowhere"})


def containers(done: Result) -> list[dict[str, Any]]:
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    jsonschema.validate(answer, schemas()["why"])
    found: list[dict[str, Any]] = answer["containers"]
    return found


@pytest.mark.parametrize("kind", ["List", "PodList"])
@pytest.mark.parametrize("as_text", [lambda it: json.dumps(it, indent="\t"), yaml.safe_dump], ids=["json", "yaml"])
def test_what_kubectl_prints_is_read_from_a_pipe(kind: str, as_text: Any) -> None:
    (found,) = containers(why("-", "--json", given=as_text({"kind": kind, "items": [pod()]})))
    assert (found["pod"], found["delay_s"], found["earliest"]) == ("ns/p", 40.0, "2026-01-02T03:04:45Z")


def test_a_folder_of_a_dump_has_the_pods_once_and_the_release_of_the_node(tmp_path: Path) -> None:
    (tmp_path / "ns" / "pods").mkdir(parents=True)
    (tmp_path / "ns" / "pods.json").write_text(json.dumps({"kind": "PodList", "items": [pod()]}))
    (tmp_path / "ns" / "pods" / "p.yaml").write_text(yaml.safe_dump(pod()))
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "NodeList", "items": [NODE]}))
    (tmp_path / "pods-cut.json").write_text('{"kind": "PodList", "items": [{"ki')
    (found,) = containers(why(str(tmp_path), "--json"))
    assert found["kubelet_version"] == "1.36.2"


WATCHED = "\n".join(json.dumps({"type": "MODIFIED", "object": pod()}) for _ in range(2))
DUMPED = f"{json.dumps(NODE)}\n{json.dumps({'kind': 'PodList', 'items': [pod()]}, indent=4)}\n"
LOGS = (
    "==== START logs for container app of pod ns/p ====\n{no JSON\n==== END logs for container app of pod ns/p ====\n"
)


@pytest.mark.parametrize("given", [WATCHED, DUMPED + LOGS, DUMPED + LOGS + DUMPED], ids=["watch", "dump", "two-pods"])
def test_objects_that_kubectl_prints_one_after_the_other_are_read(given: str) -> None:
    (found,) = containers(why("-", "--json", given=given))
    assert (found["pod"], found["delay_s"]) == ("ns/p", 40.0)


@pytest.mark.parametrize(
    "given",
    [json.dumps([pod()]), yaml.safe_dump([pod()]), json.dumps({"kind": "Table", "rows": [{"object": pod()}]})],
    ids=["jq-items", "yaml", "table"],
)
def test_pods_of_a_bare_list_or_a_table_are_read(given: str) -> None:
    (found,) = containers(why("-", "--json", given=given))
    assert found["pod"] == "ns/p"


def test_a_pod_inside_an_object_of_a_tool_has_its_status() -> None:
    (found,) = containers(why("-", "--json", given=json.dumps({"pods": [pod()]})))
    assert (found["pod"], found["delay_s"]) == ("ns/p", 40.0)


def test_containers_that_an_operator_adds_to_its_pods_are_no_pod() -> None:
    added = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Prometheus",
        "spec": {"containers": [{"name": "prometheus"}]},
    }
    assert "no pod in it (Prometheus)" in str(why("-", given=json.dumps(added)).exception)


def test_a_delay_of_more_than_a_century_has_a_next_start() -> None:
    seen = pod()
    waiting = seen["status"]["containerStatuses"][0]["state"]["waiting"]
    waiting["message"] = waiting["message"].replace("40s", "999999h")
    (found,) = containers(why("-", "--json", given=json.dumps(seen)))
    assert found["earliest"].startswith("2140")


def test_a_pod_whose_name_is_still_to_be_made_has_its_beginning() -> None:
    made = {"kind": "Pod", "metadata": {"generateName": "web-"}, "spec": pod()["spec"]}
    assert "default/web-?, container app" in why("-", given=json.dumps(made)).output


def test_two_clusters_in_one_folder_are_told_apart_from_one(tmp_path: Path) -> None:
    for cluster, version in (("a", "v1.34.1"), ("b", "v1.37.1")):
        (tmp_path / cluster).mkdir()
        node = NODE | {"status": {"nodeInfo": {"kubeletVersion": version}}}
        (tmp_path / cluster / "pods-and-nodes.json").write_text(json.dumps({"kind": "List", "items": [node, pod()]}))
    done = why(str(tmp_path))
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith("node n1: it is there twice, with kubelets v1.34.1 and v1.37.1: two clusters")


def test_a_node_that_is_there_twice_and_once_without_a_version_is_one() -> None:
    bare = {"kind": "Node", "metadata": NODE["metadata"], "status": {}}
    (found,) = containers(why("-", "--json", given=json.dumps({"kind": "List", "items": [bare, NODE, bare, pod()]})))
    assert found["kubelet_version"] == "1.36.2"


@pytest.mark.parametrize(
    "name", ["all.json", "web.yaml", "pods/kubectl_get_-o_json_--namespace_ns_pods", "oc_get_-o_yaml_x"]
)
def test_a_file_of_a_dump_is_found_by_another_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(json.dumps({"kind": "PodList", "items": [pod()]}))
    assert len(containers(why(str(tmp_path), "--json"))) == 1


def test_packed_files_of_a_dump_are_told(tmp_path: Path) -> None:
    (tmp_path / "pods.yaml.gz").write_bytes(b"\x1f\x8b")
    assert "1 packed file in it: unpack it first" in str(why(str(tmp_path)).exception)


def test_pods_of_kubelets_that_are_too_old_hide_no_others() -> None:
    old = pod() | {"metadata": {"name": "old", "uid": "o"}, "spec": pod()["spec"] | {"nodeName": "old"}}
    of_old = {"kind": "Node", "metadata": {"name": "old"}, "status": {"nodeInfo": {"kubeletVersion": "v1.28.3"}}}
    done = why("-", given=json.dumps({"kind": "List", "items": [NODE, of_old, old, pod()]}))
    assert done.exit_code == 0
    assert "pod default/old: its kubelet, 1.28.3, is older" in done.stderr
    assert "ns/p, container app on n1, kubelet 1.36.2" in done.stdout
    assert "is older" in str(why("-", given=json.dumps({"kind": "List", "items": [of_old, old]})).exception)


def test_a_misspelt_field_stands_in_the_answer() -> None:
    given = json.dumps(pod(restartPolicy="Never", restartPolicyRule=[]))
    assert "  left out    spec.containers[0].restartPolicyRule is no field" in why("-", given=given).output


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (
            "v1.39.0",
            "curve       10 s, doubled up to 300 s: the default of 1.37, the newest release that is known here;",
        ),
        ("weird", "node n1: its kubelet has no version (Kubernetes version 'weird': expected"),
    ],
)
def test_a_kubelet_of_another_time_is_named(version: str, said: str) -> None:
    node = NODE | {"status": {"nodeInfo": {"kubeletVersion": version}}}
    done = why("-", given=json.dumps({"kind": "List", "items": [node, pod()]}))
    assert said in done.output + str(done.exception or "")


def test_a_node_whose_clock_is_ahead_is_told() -> None:
    ahead = pod()
    ended = datetime.now(UTC) + timedelta(hours=1)
    ahead["status"]["containerStatuses"][0]["lastState"]["terminated"]["finishedAt"] = f"{ended:%Y-%m-%dT%H:%M:%SZ}"
    assert "so its node's clock is ahead of this one" in why("-", given=json.dumps(ahead)).output


def test_a_name_that_a_folder_has_too_is_that_of_a_pod_beside_options_of_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p").mkdir()
    with serving(Peer([pod(), NODE], [[]]), tmp_path) as kubeconfig:
        done = why("p", "-n", "ns", "--kubeconfig", kubeconfig)
        refused = why("./p", "-n", "ns", "--kubeconfig", kubeconfig)
    assert "ns/p, container app on n1" in done.output
    assert str(refused.exception) == "--namespace: ./p is read as it is, without a cluster."
    assert "give --namespace" in str(why("p").exception)


@pytest.mark.parametrize(
    ("subject", "place"),
    [
        ("deployment.apps/web", "apps/v1/namespaces/ns/deployments/web"),
        ("rs/web", "apps/v1/namespaces/ns/replicasets/web"),
        ("job.batch/web", "batch/v1/namespaces/ns/jobs/web"),
        ("statefulsets/web", "apps/v1/namespaces/ns/statefulsets/web"),
        ("ds/web", "apps/v1/namespaces/ns/daemonsets/web"),
    ],
)
def test_a_workload_is_asked_for_by_each_name_of_its_kind(tmp_path: Path, subject: str, place: str) -> None:
    peer = Peer([{"kind": "X", "metadata": {"name": "web"}, "spec": {"template": {"spec": pod()["spec"]}}}, NODE], [[]])
    with serving(peer, tmp_path) as kubeconfig:
        done = why(subject, "-n", "ns", "--kubeconfig", kubeconfig)
    assert "no status: this is what the spec alone says" in done.output
    assert peer.paths[0] == f"/apis/{place}"


def test_a_workload_says_what_its_template_says(tmp_path: Path) -> None:
    workload = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": {"spec": pod()["spec"]}}}
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(workload))
    done = why(str(tmp_path / "web.yaml"))
    assert "default/web, container app" in done.output
    assert "no status: this is what the spec alone says" in done.output


def test_a_profile_is_the_configuration_of_the_node() -> None:
    (found,) = containers(why("-", "--json", "--profile", "max-10s", given=json.dumps(pod())))
    assert (found["curve"], found["curve_by"]) == ({"initial_s": 10.0, "maximum_s": 10.0}, "profile max-10s")


def test_a_release_that_nothing_names_is_not_stated() -> None:
    given = json.dumps(pod())
    assert "kubelet of unknown release: " in why("-", given=given).output
    assert containers(why("-", "--json", given=given))[0]["kubelet_version"] is None
    assert (
        containers(why("-", "--json", "--kubernetes-version", "1.35.0", given=given))[0]["kubelet_version"] == "1.35.0"
    )


def test_a_pod_of_a_cluster_is_read_with_get_alone(tmp_path: Path) -> None:
    with serving(Peer([pod(), NODE], [[]]), tmp_path) as kubeconfig:
        done = why("p", "--namespace", "ns", "--kubeconfig", kubeconfig)
    assert done.exit_code == 0, done.output
    assert "ns/p, container app on n1, kubelet 1.36.2: 4 restarts" in done.output
    assert "delay       40 s, as the kubelet states" in done.output


def test_a_pod_is_looked_for_in_the_namespace_of_the_context(tmp_path: Path) -> None:
    with serving(Peer([status(404, "NotFound")] * 2, [[]]), tmp_path) as kubeconfig:
        assert "no such object in namespace default" in str(why("p", "--kubeconfig", kubeconfig).exception)
        file = Path(kubeconfig)
        document = yaml.safe_load(file.read_text())
        document["contexts"][0]["context"]["namespace"] = "shop"
        file.write_text(yaml.safe_dump(document))
        assert "no such object in namespace shop" in str(why("p", "--kubeconfig", kubeconfig).exception)


def test_a_pod_that_is_gone_is_named(tmp_path: Path) -> None:
    with serving(Peer([status(404, "NotFound")], [[]]), tmp_path) as kubeconfig:
        done = why("p", "--namespace", "ns", "--kubeconfig", kubeconfig)
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == "p: there is no such object in namespace ns; it may be gone."


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b'{"kind": "PodList", "items": [{"ki', "column 35); it may have been cut off"),
        (b"", "no pod in it"),
        (b"kind: Service\n", "no pod in it"),
        (b"\xff\xff", "it is no text in UTF-8"),
        (b"\x1f\x8b\x08\x00", "it is packed (gzip); unpack it first"),
        (b"kind: Pod\nmetadata: {name: {{ .Values.name }}}\nspec: {}\n", "render the template first"),
        (b"kind: Pod\nspec: {containers: [{name: '{{ .Name }}', image: a}]}\n", "render the template first"),
        (b"k\0i\0n\0d\0", "it has zero bytes"),
        (b"pods.yaml".ljust(257, b"\0") + b"ustar\0".ljust(255, b"\0"), "it is packed (tar); unpack it first"),
        (b"Name: p\nState: x\n  Reason: CrashLoopBackOff\n", "Expected what `kubectl get pods -o yaml`"),
        (b"NAME READY STATUS\n", "as `kubectl get -o yaml` and `-o json` print them"),
    ],
)
def test_what_holds_no_pod_is_refused_in_a_sentence(given: bytes, said: str) -> None:
    done = why("-", given=given)
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)
    assert done.output == ""


@pytest.mark.parametrize(
    ("kind", "api", "meant"),
    [
        ("pod", "v1", "Pod, of v1"),
        ("Pdo", "v1", "Pod, of v1"),
        ("Deploymnet", "apps/v1", "Deployment, of apps/v1"),
        ("Job", "v1", "Job, of batch/v1"),
    ],
)
@pytest.mark.parametrize("is_in_a_list", [False, True])
def test_a_misspelt_kind_is_named_with_the_one_that_is_meant(
    tmp_path: Path, kind: str, api: str, meant: str, is_in_a_list: bool
) -> None:
    wrong = pod() | {"kind": kind, "apiVersion": api}
    given = json.dumps({"kind": "List", "apiVersion": "v1", "items": [wrong]} if is_in_a_list else wrong)
    said = f"it has a {kind} of {api}; Kubernetes has {meant}."
    assert str(why("-", given=given.encode()).exception) == f"standard input: {said}"
    (tmp_path / "pods.json").write_text(given)
    assert str(why(str(tmp_path)).exception) == f"{tmp_path / 'pods.json'}: {said}"
    (tmp_path / "other-pods.json").write_text(json.dumps(pod()))
    assert why(str(tmp_path)).exit_code == 0


@pytest.mark.parametrize(
    ("kind", "api"), [("Pod", "v1"), ("Deployment", "apps/v1beta2"), ("deployments", "of.others/v1"), ("Pod", None)]
)
def test_a_kind_that_an_api_server_or_a_tool_has_is_no_misspelt_one(kind: str, api: str | None) -> None:
    given = {**pod(), "kind": kind, "apiVersion": api}
    given["spec"]["restartPolicy"] = "Always"
    assert why("-", given=json.dumps(given).encode()).exit_code == 0


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("lastState", "terminated", "exitCode"), None, "exitCode"),
        (("lastState", "terminated", "exitCode"), "1", "exitCode"),
        (("restartCount",), -4, "restartCount: expected a whole number >= 0"),
        (("restartCount",), 2**31, "restartCount: expected a whole number <= 2147483647"),
    ],
)
def test_a_status_that_no_kubelet_writes_is_refused(place: tuple[str, ...], value: object, said: str) -> None:
    wrong = pod()
    found = wrong["status"]["containerStatuses"][0]
    for key in place[:-1]:
        found = found.setdefault(key, {})
    found[place[-1]] = value
    done = why("-", given=json.dumps(wrong))
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)


def test_a_time_beyond_which_there_is_none_has_no_next_start() -> None:
    late = pod()
    late["status"]["containerStatuses"][0]["lastState"] = {
        "terminated": {"exitCode": 1, "finishedAt": "9999-12-31T23:59:59Z"}
    }
    (found,) = containers(why("-", "--json", given=json.dumps(late)))
    assert found["earliest"] is None


def test_events_of_another_form_say_nothing() -> None:
    event = {"kind": "Event", "reason": "Killing", "involvedObject": "x", "message": 3}
    assert len(containers(why("-", "--json", given=json.dumps({"kind": "List", "items": [pod(), event]})))) == 1


def test_what_a_terminal_obeys_is_spelled_out() -> None:
    red = pod()
    red["metadata"]["name"] = "\x1b[31mred"
    assert "ns/\\x1b[31mred, container app" in why("-", given=json.dumps(red)).output


@pytest.mark.parametrize("name", ["deploy/", "pod?x=y", "Bad", "\udcff"])
def test_a_name_that_no_pod_can_have_is_not_asked_for(tmp_path: Path, name: str) -> None:
    with serving(Peer([NODE], [[]]), tmp_path) as kubeconfig:
        done = why(name, "--kubeconfig", kubeconfig)
    assert isinstance(done.exception, UsageError)
    assert "no pod or workload has such a name, and there is no such file" in str(done.exception)


@pytest.mark.parametrize(
    ("kind", "meant"), [("deploymnet", "deployment"), ("statfulset", "statefulset"), ("pdo", "pod")]
)
def test_a_misspelt_kind_of_a_workload_is_named_with_the_one_that_is_meant(
    tmp_path: Path, kind: str, meant: str
) -> None:
    with serving(Peer([NODE], [[]]), tmp_path) as kubeconfig:
        done = why(f"{kind}/web", "--kubeconfig", kubeconfig)
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith(f"{kind}/web: did you mean {meant}/web? Expected a pod, ")


@pytest.mark.parametrize(
    ("ended_s_ago", "said"),
    [
        (20, r"in \d+ s to \d+ s"),
        (200, r"2 min \d\d s overdue, or the status is that old"),
        (1000, r"that was 15 min \d\d s ago: the status is old"),
        (28_377_600, r"that was 328 d ago: the status is old"),
    ],
)
def test_the_next_start_is_a_time_that_a_person_reads(ended_s_ago: float, said: str) -> None:
    seen = pod()
    ended = datetime.now(UTC) - timedelta(seconds=ended_s_ago)
    seen["status"]["containerStatuses"][0]["lastState"]["terminated"]["finishedAt"] = f"{ended:%Y-%m-%dT%H:%M:%SZ}"
    (line,) = [each for each in why("-", given=json.dumps(seen)).output.splitlines() if "next start" in each]
    assert re.search(said, line), line
    assert f"{ended:%Y-%m-%d}" in line or ended_s_ago < 86_400
