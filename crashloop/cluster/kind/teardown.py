"""Removes a kind cluster from the host. It reads the cluster's blueprint, so it works after the owner has ended.

It talks to Docker directly: `kind delete cluster` does so too, but also reads the user's own kubeconfig, and removes every
container with the cluster's name. Names do not prove that a Docker object belongs to a cluster: another state folder, or `kind`
itself, may use them too.
"""

import logging
from pathlib import Path

from crashloop.cluster.host_settings import unmount_below
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.plan import Blueprint
from crashloop.cluster.ownership import OutOfReach, read_blueprint
from crashloop.cluster.processes import CommandFailed, kill_until_gone, marked_processes
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.waiting import wait_until

_DOCKER_DESKTOP = "/host_mnt"
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
    return [name for name in docker.containers_of(blueprint.kind_name) if _mounts_state_folder(docker, name, blueprint)]


def strangers(docker: Docker, blueprint: Blueprint) -> list[str]:
    """Names of containers on the cluster's network that are not the cluster's."""
    return [
        name for name in docker.containers_on(blueprint.kind_name) if not _mounts_state_folder(docker, name, blueprint)
    ]


def _mounts_state_folder(docker: Docker, container: str, blueprint: Blueprint) -> bool:
    """Whether it mounts a file of the state folder, as every node does."""
    sources = (Path(source.removeprefix(_DOCKER_DESKTOP)) for source in docker.mounts(container))
    return any(source.is_relative_to(blueprint.layout.root) for source in sources)


LOOK_AGAIN_S = 1.0
"""The daemon may still be creating a container or a network for a client that was just killed."""
AT_ONCE_S = 0.05
REMOVE_S = 120.0

log = logging.getLogger(__name__)


def remove_what_is_left(state: Path) -> None:
    """Remove the cluster of a state folder; nothing if it ended before it had a blueprint."""
    blueprint = read_blueprint(state, Blueprint)
    if blueprint is not None:
        remove_cluster(blueprint)


def remove_cluster(blueprint: Blueprint) -> None:
    """Remove the processes, containers and network of a cluster.

    Raises OutOfReach if its Docker does not answer, ClusterError naming what remains.
    """
    state = blueprint.layout.root
    interrupted = bool(marked_processes(state)) or not blueprint.layout.kubeconfig.exists()
    kill_until_gone(lambda: marked_processes(state), describe=f"processes of cluster {blueprint.cluster} to end")
    docker = Docker(blueprint.docker)
    try:
        _remove_from(docker, blueprint, interrupted=interrupted)
    except (PrerequisiteError, CommandFailed) as error:
        if not _docker_answers(docker):
            where = blueprint.docker.get("DOCKER_HOST", "the local one")
            raise OutOfReach(
                f"cluster {blueprint.cluster!r}: its Docker ({where}) does not answer, so its containers cannot be removed.\n"
                "Start that Docker; the next start of crashloop, or `crashloop down`, removes them."
            ) from error
        raise
    unmount_below(state)


def _remove_from(docker: Docker, blueprint: Blueprint, *, interrupted: bool) -> None:
    looks = 0

    def gone() -> bool:
        nonlocal looks
        containers = own_containers(docker, blueprint)
        if containers:
            words = ("rm", "--force", "--volumes", *containers)
            docker.run(*words, describe=f"containers of {blueprint.kind_name}", timeout_s=REMOVE_S)
            looks = 0
            return False
        looks += 1
        return looks > interrupted and _network_is_gone(docker, blueprint)

    wait_until(
        f"containers and network {blueprint.kind_name} to go",
        gone,
        timeout_s=REMOVE_S,
        every_s=LOOK_AGAIN_S if interrupted else AT_ONCE_S,
    )


def _network_is_gone(docker: Docker, blueprint: Blueprint) -> bool:
    network = blueprint.kind_name
    if not docker.has_network(network):
        return True
    others = strangers(docker, blueprint)
    if others:
        log.warning("network %s: left in place, since other containers use it (%s)", network, ", ".join(others))
        return True
    try:
        docker.remove_network(network)
    except CommandFailed as error:
        if "active endpoints" not in error.output:
            raise
        return False
    return True


def _docker_answers(docker: Docker) -> bool:
    try:
        docker.run("version", describe="docker version")
    except (PrerequisiteError, CommandFailed):
        return False
    return True
