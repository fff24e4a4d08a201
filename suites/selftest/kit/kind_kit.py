"""A blueprint of a kind cluster whose paths are placeholders, and programs that stand in for `docker` and `kind`."""

from pathlib import Path

import pytest

from crashloop.cluster.host_settings import HostSettings
from crashloop.cluster.kind.plan import Blueprint, Init, NodeImage, NodePlan, container_names
from crashloop.cluster.ownership import ClusterStore, StateFolder, new_facts
from crashloop.profiles import load_profile

IMAGE = NodeImage(
    name="localhost/crashloop/node:v1.37.1-0123456789ab",
    kubernetes_version="1.37.1",
    init=Init.SERVICE,
    has_program_image=True,
)
OFFICIAL = NodeImage(
    name="kindest/node:v1.35.4", kubernetes_version="1.35.4", init=Init.SYSTEMD, has_program_image=False
)


def blueprint(*profiles: str, image: NodeImage = IMAGE, cluster: str = "demo", **fields: object) -> Blueprint:
    """A cluster with a node for each profile, named after it."""
    first, *others = container_names(cluster, len(profiles))
    version = image.kubernetes_version
    nodes = [NodePlan(name=first, container=first, index=0, profile=None, kubelet_version=version)]
    for index, (name, container) in enumerate(zip(profiles, others, strict=True), start=1):
        profile = load_profile(name)
        nodes.append(NodePlan(name=name, container=container, index=index, profile=profile, kubelet_version=version))
    known = {
        "cluster": cluster,
        "state_folder": "<STATE>",
        "kind": "<BIN>/kind",
        "docker": {},
        "image": image,
        "program_image": "localhost/crashloop/program:1",
        "program_archive": "<CACHE>/images.tar",
        "cgroup_version": 2,
        "nodes": tuple(nodes),
    }
    return Blueprint(**(known | fields))  # type: ignore[arg-type]


def write_script(path: Path, body: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


ADDRESS = "unix:///its/docker.sock"
ANSWERS = f"""
--version) echo 'Docker version 26.1.5+dfsg1, build a72d7cd' ;;
'context inspect'*) echo "${{DOCKER_HOST:-{ADDRESS}}}" ;;
version*) echo '26.1.5+dfsg1 Engine;containerd;runc;' ;;
'ps '*|'network ls'*) ;;
'image inspect'*) echo 'Error: No such image' >&2; exit 1 ;;
"""
"""What a Docker answers that has nothing."""


def fake_docker(folder: Path, monkeypatch: pytest.MonkeyPatch, cases: str = "") -> Path:
    """Put a `docker` on PATH that answers `docker ARGUMENTS` by the first case that fits (sh(1)); the log of its calls."""
    log = folder / "docker.log"
    log.touch()
    body = f'printf "%s %s\\n" "$DOCKER_HOST" "$*" >>{log}\ncase "$*" in\n{cases}\n{ANSWERS}\n*) exit 9 ;;\nesac'
    write_script(folder / "bin" / "docker", body)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    return log


def calls(log: Path) -> list[str]:
    """What `docker` was asked for, each with the address that it was asked at."""
    return log.read_text().splitlines()


class Daemon:
    """A `docker` on PATH whose daemon has containers and a network, as files of a folder, and removes them when told."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, cases: str = "") -> None:
        self.containers = folder / "containers"
        self.containers.mkdir()
        self.network = folder / "network"
        self.log = fake_docker(
            folder,
            monkeypatch,
            f"""{cases}
'ps '*) ls {self.containers} ;;
'inspect '*) for name; do :; done; cat {self.containers}/$name 2>/dev/null || {{ echo "No such container" >&2; exit 1; }} ;;
'rm --force --volumes '*) shift 3; cd {self.containers} && rm "$@" ;;
'network ls'*) [ ! -e {self.network} ] || echo 9abc ;;
'network rm '*) rm {self.network} ;;""",
        )

    def add(self, container: str, *mounts: str | Path) -> None:
        """A container of the cluster's label, on its network, that mounts paths of its host."""
        (self.containers / container).write_text("".join(f"{path}\n" for path in mounts))
        self.network.touch()

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.containers.iterdir())


def store_in(folder: Path) -> ClusterStore:
    """A store that leaves this host's settings alone."""
    host = HostSettings(folder / "host-settings.json", sysctls=folder / "sys", cgroups=folder, folders=())
    return ClusterStore(folder / "state", host=host)


def begun(store: ClusterStore, *, cluster: str = "demo") -> StateFolder:
    """The state folder of a kind cluster, whose owner this process is."""
    facts = new_facts(name=cluster, provider="kind", owner_pid=4711, kubernetes_version="1.37.1", nodes=("stock",))
    with store.locked():
        return store.create(facts)
