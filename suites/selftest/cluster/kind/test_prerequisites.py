"""What the provider `kind` asks of Docker and of a request.

Which `kind` is used.
Which Docker is asked, and what it answers.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from crashloop.cluster.binaries.ensure import ensure_kind
from crashloop.cluster.kind.docker import Docker, chosen_docker
from crashloop.cluster.kind.prerequisites import (
    DockerFacts,
    check_docker,
    check_request,
    docker_facts,
    docker_release,
    problems,
)
from crashloop.cluster.prerequisites import MIB, Inotify
from crashloop.cluster.processes import CommandFailed
from crashloop.cluster.provider import ClusterRequest, NodeRequest
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.progress import SilentProgress
from crashloop.spec.profile import KubeletProfile
from suites.selftest.kit.binaries_kit import settings_for
from suites.selftest.kit.kind_kit import ADDRESS, calls, fake_docker, write_script

GIB = 1 << 30
GOOD = DockerFacts(
    system="linux",
    client="Docker version 26.1.5+dfsg1, build a72d7cd",
    address="unix:///var/run/docker.sock",
    server="26.1.5+dfsg1",
    components="Engine;containerd;runc;",
    memory_available=8 * GIB,
    inotify=Inotify(allowed=128, used=20, can_be_raised=True),
)
TIGHT = Inotify(allowed=128, used=28, can_be_raised=False)
"""A hundred instances are free."""


def test_nothing_stands_in_the_way_on_a_usual_host() -> None:
    assert list(problems(GOOD, nodes=9, systemd=True)) == []


@pytest.mark.parametrize(
    ("change", "subject", "remedy"),
    [
        ({"system": "darwin"}, "system", "virtual machine"),
        ({"client": ""}, "docker", 'no "docker" on PATH: install Docker 23.0 or newer'),
        (
            {"server": "", "complaint": "Cannot connect to the Docker daemon"},
            "docker",
            "its daemon does not answer at unix:///var/run/docker.sock (Cannot connect to the Docker daemon): start it",
        ),
        (
            {"server": "", "complaint": "permission denied while trying to connect"},
            "docker",
            "this user may not use unix:///var/run/docker.sock: run as root, or add the user to the group docker",
        ),
        ({"server": "20.10.24"}, "docker", "its daemon is 20.10.24: install Docker 23.0 or newer"),
        (
            {"client": "podman version 4.9.3"},
            "docker",
            "this `docker` is another program (podman version 4.9.3); Podman is not supported: install Docker 23.0",
        ),
        (
            {"server": "4.9.3", "components": "Podman Engine;Conmon;"},
            "docker",
            "what answers at unix:///var/run/docker.sock is Podman, which is not supported",
        ),
        (
            {"address": "tcp://far:2376"},
            "docker",
            "its daemon is reached over a network (tcp://far:2376), and nodes mount files of this host",
        ),
        ({"address": "ssh://me@far", "server": ""}, "docker", "reached over a network (ssh://me@far)"),
        ({"memory_available": GIB}, "memory", "1024 MiB are available, 2500 MiB are needed"),
        ({"experimental_provider": "podman"}, "KIND_EXPERIMENTAL_PROVIDER", "'podman' is not supported yet"),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_everything_that_stands_in_the_way_is_named_with_a_remedy(
    change: dict[str, Any], subject: str, remedy: str
) -> None:
    (problem,) = problems(msgspec.structs.replace(GOOD, **change), nodes=9, systemd=False)
    assert problem.subject == subject
    assert remedy in problem.text


def test_nodes_with_systemd_need_more_memory_and_inotify_instances() -> None:
    facts = msgspec.structs.replace(GOOD, memory_available=2600 * MIB, inotify=TIGHT)
    assert list(problems(facts, nodes=9, systemd=False)) == []
    assert [problem.text for problem in problems(facts, nodes=9, systemd=True)] == [
        "2600 MiB are available, 2800 MiB are needed: end other programs.",
        "128 instances are allowed, 162 are needed: `sysctl fs.inotify.max_user_instances=1024`.",
    ]


def test_a_host_whose_limit_is_not_known_is_not_refused_for_it() -> None:
    unknown = Inotify(allowed=0, used=0, can_be_raised=False)
    assert list(problems(msgspec.structs.replace(GOOD, inotify=unknown), nodes=9, systemd=True)) == []


def test_all_of_it_is_said_at_once() -> None:
    facts = msgspec.structs.replace(GOOD, client="", memory_available=GIB)
    with pytest.raises(PrerequisiteError) as caught:
        check_docker(facts, nodes=9, systemd=False)
    assert str(caught.value).splitlines() == [
        "provider kind: this host cannot run nodes in Docker.",
        '- docker: no "docker" on PATH: install Docker 23.0 or newer.',
        "- memory: 1024 MiB are available, 2500 MiB are needed: end other programs.",
        "On Linux, as root, --provider local needs no Docker.",
    ]


@pytest.mark.parametrize(
    ("version", "release"),
    [("26.1.5+dfsg1", (26, 1)), ("28.2.2", (28, 2)), ("20.10.24", (20, 10)), ("dev", (0, 0))],
    ids=["debian", "plain", "old", "none"],
)
def test_a_version_is_read_as_docker_writes_it(version: str, release: tuple[int, int]) -> None:
    assert docker_release(version) == release


def test_the_daemon_is_asked_where_the_clients_context_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = fake_docker(tmp_path, monkeypatch)
    facts = docker_facts({})
    assert (facts.client[:14], facts.server, facts.address) == ("Docker version", "26.1.5+dfsg1", ADDRESS)
    assert facts.components == "Engine;containerd;runc;"
    assert [call.split()[:2] for call in calls(log)][-1] == [ADDRESS, "version"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert docker_facts({}).client == ""


def test_what_the_client_says_instead_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_docker(tmp_path, monkeypatch, "version*) echo first >&2; echo 'Cannot connect' >&2; exit 1 ;;")
    facts = docker_facts({})
    assert (facts.server, facts.complaint) == ("", "Cannot connect")
    fake_docker(tmp_path, monkeypatch, """'context inspect'*) echo 'context "x": not found' >&2; exit 1 ;;""")
    assert docker_facts({}).complaint == 'context "x": not found'


def test_podman_is_asked_for_nothing_but_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = fake_docker(tmp_path, monkeypatch, "--version) echo 'podman version 4.9.3' ;;")
    assert docker_facts({}).client == "podman version 4.9.3"
    assert calls(log) == [" --version"]


def request(name: str = "demo", *nodes: str, **options: str) -> ClusterRequest:
    return ClusterRequest(
        name=name,
        kubernetes_version="1.37.1",
        nodes=tuple(NodeRequest(name=node, profile=KubeletProfile(name="stock")) for node in nodes),
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (request("Demo"), "a name has lower-case letters"),
        (request("demo", "a", "a"), "node 'a' is requested twice"),
        (request("x" * 50), "would have 74 characters, at most 63 fit.\nChoose a name of at most 39"),
        (request("demo", "crashloop-demo-control-plane"), "would have the name of the control plane's node"),
        (request(node_image="a/b:1", bin_dir="/opt/k8s"), "--node-image and --bin-dir"),
        (request(kind_binary="/nowhere/kind"), "--kind-binary /nowhere/kind: no such executable file"),
    ],
    ids=["letters", "twice", "long", "taken", "both", "kind"],
)
def test_a_request_that_makes_no_cluster_is_refused(asked: ClusterRequest, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_request(asked)
    assert message in str(caught.value)


def test_a_container_runtime_of_a_node_alone_is_refused() -> None:
    node = NodeRequest(name="own", profile=KubeletProfile(name="max-2s+containerd-1.7", runtime="containerd-1.7"))
    with pytest.raises(
        UsageError,
        match=r'"max-2s\+containerd-1\.7": nodes of the provider kind have the container runtime of their image',
    ):
        check_request(msgspec.structs.replace(request(), nodes=(node,)))


def test_a_usual_request_is_accepted() -> None:
    check_request(request("demo", "stock", "max-2s", node_image="kindest/node:v1.37.1", kind_binary="/bin/sh"))


def test_the_users_own_runs_where_it_lies(tmp_path: Path) -> None:
    own = write_script(tmp_path / "kind", "echo kind v0.32.0 go1.26.0 linux/amd64")
    assert ensure_kind(settings_for(tmp_path / "cache"), kind_binary=own, progress=SilentProgress()) == own
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("version", ["0.31.0", "0.9.0"])
def test_one_that_writes_configurations_of_another_shape_is_refused(tmp_path: Path, version: str) -> None:
    own = write_script(tmp_path / "kind", f"echo kind v{version} go1.25.5 linux/amd64")
    with pytest.raises(UsageError) as caught:
        ensure_kind(settings_for(tmp_path / "cache"), kind_binary=own, progress=SilentProgress())
    assert str(caught.value) == (
        f"--kind-binary {own}: is kind {version}; 0.32 or newer is needed.\nLeave the option out."
    )


def test_a_program_that_is_no_kind_is_refused(tmp_path: Path) -> None:
    own = write_script(tmp_path / "kind", "echo minikube version: v1.34.0")
    with pytest.raises(UsageError) as caught:
        ensure_kind(settings_for(tmp_path / "cache"), kind_binary=own, progress=SilentProgress())
    assert str(caught.value).startswith(f"--kind-binary {own}: to `version` it answered 'minikube version: v1.34.0'")


def test_a_host_with_no_way_to_get_it_shows_all_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrerequisiteError) as caught:
        ensure_kind(settings_for(tmp_path / "cache"), kind_binary=None, progress=SilentProgress())
    message = str(caught.value)
    assert message.startswith("kind 0.33.0: not in the cache")
    assert "official release: http://127.0.0.1:1: " in message
    assert "build with Go: no `go` on PATH" in message
    assert message.endswith("a `kind` of your own: --kind-binary.")


def test_a_docker_is_known_by_the_address_of_the_clients_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_docker(tmp_path, monkeypatch)
    docker = chosen_docker({})
    assert docker.environment["DOCKER_HOST"] == ADDRESS
    monkeypatch.setenv("DOCKER_HOST", "unix:///another.sock")
    docker.containers_of("x")
    assert calls(log)[-1].split()[0] == ADDRESS
    assert chosen_docker().environment["DOCKER_HOST"] == "unix:///another.sock"


def test_variables_of_a_later_process_do_not_reach_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tmp_path / "seen"
    fake_docker(tmp_path, monkeypatch, f"'ps '*) echo \"$DOCKER_TLS_VERIFY,$DOCKER_CERT_PATH\" >{seen} ;;")
    docker = chosen_docker({"DOCKER_CERT_PATH": "/certificates"})
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    docker.containers_of("x")
    assert seen.read_text() == ",/certificates\n"


def test_a_file_that_docker_does_not_have_or_has_otherwise_is_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kind.yaml"
    file.write_text("name: x\n")
    fake_docker(tmp_path, monkeypatch, f"'run '*'source={file},'*) echo 'name: x' ;;")
    assert Docker().sees(file, "node:1")
    fake_docker(tmp_path, monkeypatch, "'run '*) echo 'name: y' ;;")
    assert not Docker().sees(file, "node:1")
    fake_docker(tmp_path, monkeypatch, f"'run '*) echo 'bind source path does not exist: {file}' >&2; exit 125 ;;")
    assert not Docker().sees(file, "node:1")
    fake_docker(tmp_path, monkeypatch, "'run '*) echo 'no space left on device' >&2; exit 125 ;;")
    with pytest.raises(CommandFailed, match="no space left on device"):
        Docker().sees(file, "node:1")


def test_a_container_that_is_gone_mounts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_docker(tmp_path, monkeypatch, "'inspect '*) echo 'Error: No such container: x' >&2; exit 1 ;;")
    assert Docker().mounts("x") == []
