"""Removing everything that a kind cluster has put on the host. Goes by names and labels, so its owner may be long gone.

Straight through Docker, as `kind delete cluster` does it too: that would look into the user's own kubeconfig besides.
"""

from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.plan import Blueprint
from crashloop.cluster.local.processes import kill_until_gone, marked_processes
from crashloop.cluster.local.teardown import unmount_below
from crashloop.cluster.ownership import OutOfReach
from crashloop.cluster.runner import CommandFailed
from crashloop.errors import PrerequisiteError
from crashloop.waiting import pause

SETTLE_S = 1.0
"""The daemon may be making a container for a client that has just been killed."""
REMOVE_S = 120.0


def remove_cluster(blueprint: Blueprint) -> None:
    """Remove the processes, containers and network of a cluster.

    Raises OutOfReach if its Docker does not answer, ClusterError naming what resists.
    """
    state = blueprint.layout.root
    interrupted = marked_processes(state) or not blueprint.layout.kubeconfig.exists()
    kill_until_gone(lambda: marked_processes(state), describe=f"processes of cluster {blueprint.cluster} to end")
    docker = Docker(blueprint.docker)
    try:
        _remove_containers(docker, blueprint.kind_name)
        if interrupted:
            pause(SETTLE_S)
            _remove_containers(docker, blueprint.kind_name)
        docker.remove_network(blueprint.kind_name)
    except (PrerequisiteError, CommandFailed) as error:
        if not _answers(docker):
            where = blueprint.docker.get("DOCKER_HOST", "the local one")
            raise OutOfReach(
                f"cluster {blueprint.cluster!r}: its Docker ({where}) does not answer, so its containers cannot be removed.\n"
                "Start that Docker; the next start of crashloop, or `crashloop down`, removes them."
            ) from error
        raise
    unmount_below(state)


def _remove_containers(docker: Docker, cluster: str) -> None:
    containers = docker.containers_of(cluster)
    if containers:
        words = ("rm", "--force", "--volumes", *containers)
        docker.run(*words, describe=f"containers of {cluster}", timeout_s=REMOVE_S)


def _answers(docker: Docker) -> bool:
    try:
        docker.run("version", describe="docker version")
    except (PrerequisiteError, CommandFailed):
        return False
    return True
