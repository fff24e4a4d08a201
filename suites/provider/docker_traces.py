"""What a cluster could leave in Docker, and of it on this host; nothing where no Docker answers."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from crashloop.cluster.host_settings import MADE_BY_DOCKER
from crashloop.cluster.kind.docker import CLUSTER_LABEL, Docker
from crashloop.cluster.processes import CommandFailed
from crashloop.errors import PrerequisiteError

_OURS = "crashloop-"
_CONTAINER_CGROUP = re.compile(r"/docker[/-]([0-9a-f]{64})")


def docker_traces() -> Iterator[str]:
    """Containers and networks of ours, volumes without a container, cgroups of containers that are gone, folders."""
    try:
        containers = _listed("ps", "--all", "--no-trunc", f'--format={{{{.ID}}}} {{{{.Label "{CLUSTER_LABEL}"}}}}')
    except (PrerequisiteError, CommandFailed):
        return
    for line in containers:
        _, _, cluster = line.partition(" ")
        if cluster.startswith(_OURS):
            yield f"container {line} /clusters/{cluster.removeprefix(_OURS)}"
    for network in _listed("network", "ls", "--format={{.Name}}"):
        if network.startswith(_OURS):
            yield f"network /clusters/{network.removeprefix(_OURS)}"
    yield from (f"volume {name}" for name in _listed("volume", "ls", "--quiet", "--filter=dangling=true"))
    yield from (f"folder {folder}" for folder in MADE_BY_DOCKER if Path(folder).exists())
    cgroups = [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if _CONTAINER_CGROUP.search(folder)]
    alive = {*(line.split()[0] for line in containers), *_listed("ps", "--all", "--no-trunc", "--quiet")}
    for folder in cgroups:
        match = _CONTAINER_CGROUP.search(folder)
        if match and match[1] not in alive:
            yield f"cgroup {folder}"


def _listed(*arguments: str) -> list[str]:
    return Docker().run(*arguments, describe=f"docker {arguments[0]}").splitlines()
