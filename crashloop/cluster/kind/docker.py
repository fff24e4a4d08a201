"""The few questions to Docker and orders to it, through its own client, which is what `kind` uses as well."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crashloop.cluster.runner import CommandFailed, run

ANSWER_S = 60.0
"""A daemon on two busy cores that starts ten containers answers within a few seconds."""
CLUSTER_LABEL = "io.x-k8s.kind.cluster"
"""pkg/cluster/internal/providers/docker/constants.go of sigs.k8s.io/kind@v0.33.0."""


class Docker:
    """One Docker daemon; which one, the environment says (DOCKER_HOST, DOCKER_CONTEXT)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.environment = dict(environment or {})

    def run(self, *arguments: str, describe: str, timeout_s: float = ANSWER_S, input: str | None = None) -> str:
        """What `docker ARGUMENTS` printed. Raises PrerequisiteError if there is no `docker`, CommandFailed if it fails."""
        return run(["docker", *arguments], describe=describe, timeout_s=timeout_s, env=self.environment, input=input)

    def command(self, *arguments: str) -> tuple[str, ...]:
        """Argument vector of a docker client that is to live longer than a call."""
        return ("env", *(f"{name}={value}" for name, value in self.environment.items()), "docker", *arguments)

    def execute(
        self, container: str, *argv: str, describe: str, timeout_s: float = ANSWER_S, input: str | None = None
    ) -> str:
        """What a command in a container printed. Raises CommandFailed."""
        interactive = () if input is None else ("--interactive",)
        return self.run("exec", *interactive, container, *argv, describe=describe, timeout_s=timeout_s, input=input)

    def image(self, name: str) -> dict[str, Any] | None:
        """An image that Docker has, as `docker image inspect` tells it, or None."""
        try:
            printed = self.run("image", "inspect", name, describe=f"image {name}")
        except CommandFailed as error:
            if "no such image" in error.output.lower():
                return None
            raise
        found: dict[str, Any] = json.loads(printed)[0]
        return found

    def process_ids(self, containers: Sequence[str]) -> dict[str, int]:
        """Process id on the daemon's host of the first process of each container, by its name; 0 for one that does not run."""
        words = ("inspect", "--type=container", "--format={{.Name}} {{.State.Pid}}", *containers)
        rows = (line.split() for line in self.run(*words, describe="process ids of the nodes").splitlines())
        return {name.removeprefix("/"): int(pid) for name, pid in rows}

    def containers_of(self, cluster: str) -> list[str]:
        """Ids of all containers of a kind cluster, running or not."""
        label = f"label={CLUSTER_LABEL}={cluster}"
        return self.run("ps", "--all", "--quiet", "--filter", label, describe=f"containers of {cluster}").split()

    def cgroup_version(self) -> int:
        """1 or 2, as the daemon's host has it."""
        return int(self.run("info", "--format", "{{.CgroupVersion}}", describe="docker info"))

    def images_labelled(self, label: str) -> list[str]:
        """Ids of all images with a label (`key=value`)."""
        return self.run("images", "--quiet", "--filter", f"label={label}", describe=f"images with {label}").split()

    def import_image(self, archive: Path, name: str, *, changes: Sequence[str], timeout_s: float) -> None:
        """Make an image of a root file system."""
        options = [word for change in changes for word in ("--change", change)]
        self.run("import", *options, str(archive), name, describe=f"image {name}", timeout_s=timeout_s)

    def remove_network(self, name: str) -> None:
        """Remove a network; one that is gone already is no error."""
        if self.run("network", "ls", "--quiet", "--filter", f"name=^{name}$", describe=f"network {name}").strip():
            self.run("network", "rm", name, describe=f"network {name}")
