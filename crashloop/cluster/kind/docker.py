"""Docker, through its own client, which `kind` uses as well: requests, and paths on this host into a container's file system."""

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crashloop.cluster.processes import CommandFailed, run

ANSWER_S = 60.0
"""A daemon on two busy cores that starts ten containers answers within a few seconds."""
CLUSTER_LABEL = "io.x-k8s.kind.cluster"
"""pkg/cluster/internal/providers/docker/constants.go of sigs.k8s.io/kind@v0.33.0."""
TLS_VARIABLES = ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")


class Docker:
    """One Docker daemon; which one, the environment says (DOCKER_HOST, DOCKER_CONTEXT)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.environment = dict(environment or {})

    def run(self, *arguments: str, describe: str, timeout_s: float = ANSWER_S, input: str | None = None) -> str:
        """Output of `docker ARGUMENTS`. Raises PrerequisiteError if there is no `docker`, CommandFailed if it fails."""
        return run(["docker", *arguments], describe=describe, timeout_s=timeout_s, env=self.environment, input=input)

    def command(self, *arguments: str) -> tuple[str, ...]:
        """Argument vector of a docker client that outlives a call."""
        return ("env", *(f"{name}={value}" for name, value in self.environment.items()), "docker", *arguments)

    def execute(
        self, container: str, *argv: str, describe: str, timeout_s: float = ANSWER_S, input: str | None = None
    ) -> str:
        """Output of a command in a container. Raises CommandFailed."""
        interactive = () if input is None else ("--interactive",)
        return self.run("exec", *interactive, container, *argv, describe=describe, timeout_s=timeout_s, input=input)

    def console(self, container: str) -> str:
        """What a container has printed on its terminal. Raises CommandFailed if there is no such container."""
        return self.run("logs", container, describe=f"console of {container}")

    def image(self, name: str) -> dict[str, Any] | None:
        """An image by `docker image inspect`; None if Docker does not have it."""
        try:
            printed = self.run("image", "inspect", name, describe=f"image {name}")
        except CommandFailed as error:
            if "no such image" in error.output.lower():
                return None
            raise
        found: dict[str, Any] = json.loads(printed)[0]
        return found

    def sees(self, file: Path, image: str) -> bool:
        """Whether a container of an image reads the same content in a file: to Docker a path is one of its own host."""
        mount = f"type=bind,source={file},target=/seen,readonly"
        options = ("--rm", "--network=none", "--userns=host", "--security-opt=label=disable", "--mount", mount)
        try:
            seen = self.run("run", *options, "--entrypoint=cat", image, "/seen", describe=f"a look at {file}")
        except CommandFailed as error:
            if "bind source path does not exist" in error.output:
                return False
            raise
        return seen == file.read_text()

    def process_ids(self, containers: Sequence[str]) -> dict[str, int]:
        """Process id on the daemon's host of the first process of each container, by its name; 0 for one that does not run."""
        words = ("inspect", "--type=container", "--format={{.Name}} {{.State.Pid}}", *containers)
        rows = (line.split() for line in self.run(*words, describe="process ids of the nodes").splitlines())
        return {name.removeprefix("/"): int(pid) for name, pid in rows}

    def containers_of(self, cluster: str) -> list[str]:
        """Names of all containers of a kind cluster, running or not."""
        return self._containers(f"label={CLUSTER_LABEL}={cluster}")

    def containers_on(self, network: str) -> list[str]:
        """Names of all containers that use a network, running or not."""
        return self._containers(f"network={network}")

    def _containers(self, condition: str) -> list[str]:
        words = ("ps", "--all", "--format={{.Names}}", "--filter", condition)
        return self.run(*words, describe=f"containers with {condition}").split()

    def mounts(self, container: str) -> list[str]:
        """Paths on the daemon's host that a container mounts; none if it is gone."""
        words = ("inspect", "--type=container", "--format={{range .Mounts}}{{println .Source}}{{end}}", container)
        try:
            return self.run(*words, describe=f"mounts of {container}").splitlines()
        except CommandFailed as error:
            if "no such container" in error.output.lower():
                return []
            raise

    def cgroup_version(self) -> int:
        """1 or 2, of the daemon's host."""
        return int(self.run("info", "--format", "{{.CgroupVersion}}", describe="docker info"))

    def import_image(self, archive: Path, name: str, *, changes: Sequence[str], timeout_s: float) -> None:
        """Make an image of a root file system."""
        options = [word for change in changes for word in ("--change", change)]
        self.run("import", *options, str(archive), name, describe=f"image {name}", timeout_s=timeout_s)

    def has_network(self, name: str) -> bool:
        return bool(
            self.run("network", "ls", "--quiet", "--filter", f"name=^{name}$", describe=f"network {name}").strip()
        )

    def remove_network(self, name: str) -> None:
        self.run("network", "rm", name, describe=f"network {name}")


def chosen_docker(environment: Mapping[str, str] = os.environ) -> Docker:
    """The Docker that this user's `docker` talks to now, by its address.

    Contexts, environments and users change, but a later removal has to find the Docker that the cluster was made on.
    Raises PrerequisiteError if there is no `docker`, CommandFailed if its context is not known.
    """
    words = ("context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
    address = Docker().run(*words, describe="docker context").strip()
    # To the client an empty value is no value, and it hides the value of a later process.
    return Docker({"DOCKER_HOST": address, **{name: environment.get(name, "") for name in TLS_VARIABLES}})


RUNTIME_SOCKET = "run/containerd/containerd.sock"


def may_reach() -> bool:
    """Whether this process may read others' file systems in /proc (proc(5), /proc/pid/root)."""
    return sys.platform == "linux" and os.geteuid() == 0


def roots(docker: Docker, containers: tuple[str, ...]) -> dict[str, Path]:
    """Path on this host of every container's root folder, if it is in reach.

    A process id from another machine's Docker, or from a virtual machine, is another process here: the host name differs.
    """
    if not may_reach():
        return {}
    found = {name: Path(f"/proc/{pid}/root") for name, pid in docker.process_ids(containers).items() if pid}
    return {name: root for name, root in found.items() if _host_name_in(root) == name and _runtime_accepts(root)}


def _host_name_in(root: Path) -> str:
    try:
        return (root / "etc/hostname").read_text().strip()
    except OSError:
        return ""


def _runtime_accepts(root: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(str(root / RUNTIME_SOCKET)) == 0
