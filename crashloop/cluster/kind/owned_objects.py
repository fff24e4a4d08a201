"""Docker objects that belong to a cluster. Names do not prove it: another state folder, or `kind` itself, may use them too."""

from pathlib import Path

from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.plan import Blueprint
from crashloop.errors import UsageError

_DESKTOP = "/host_mnt"
"""Path of the host's files in the virtual machine of Docker Desktop."""


def require_unused(docker: Docker, blueprint: Blueprint) -> None:
    """Raise UsageError if Docker has containers or a network with the name of a new cluster."""
    name = blueprint.kind_name
    found = [f"container {container}" for container in docker.containers_of(name)]
    found += [f"network {name}"] if docker.has_network(name) else []
    if found:
        raise UsageError(
            f"cluster {blueprint.cluster!r}: Docker has {', '.join(found)}, not made by crashloop.\n"
            f"Choose another name, or remove those: `kind delete cluster --name {name}`, "
            f"`docker network rm {name}`."
        )


def own_containers(docker: Docker, blueprint: Blueprint) -> list[str]:
    """Names of the cluster's containers."""
    return [name for name in docker.containers_of(blueprint.kind_name) if _is_own(docker, name, blueprint)]


def strangers(docker: Docker, blueprint: Blueprint) -> list[str]:
    """Names of containers on the cluster's network that are not the cluster's."""
    return [name for name in docker.containers_on(blueprint.kind_name) if not _is_own(docker, name, blueprint)]


def _is_own(docker: Docker, container: str, blueprint: Blueprint) -> bool:
    """Whether it mounts a file of the state folder, as every node does."""
    sources = (Path(source.removeprefix(_DESKTOP)) for source in docker.mounts(container))
    return any(source.is_relative_to(blueprint.layout.root) for source in sources)
