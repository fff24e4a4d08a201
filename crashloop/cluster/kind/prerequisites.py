"""Prerequisites of the provider `kind`, of host and request; everything missing is reported at once."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import psutil

from crashloop.cluster.binaries.versions import is_executable_file
from crashloop.cluster.kind.docker import Docker, chosen_docker
from crashloop.cluster.kind.plan import CONTROL_PLANE, kind_name
from crashloop.cluster.prerequisites import (
    CONTROL_PLANE_INOTIFY,
    NODE_INOTIFY,
    NODE_MEMORY,
    SYSTEMD_INOTIFY,
    SYSTEMD_MEMORY,
    Inotify,
    Problem,
    check_names,
    inotify_of_host,
    inotify_problems,
    memory_problems,
    require_none,
)
from crashloop.cluster.processes import CommandFailed
from crashloop.cluster.provider import ClusterRequest
from crashloop.errors import PrerequisiteError, UsageError

OLDEST_DOCKER = (23, 0)
"""20.10, which Debian 12 has, starts no privileged container on a host that lacks CAP_SYS_RESOURCE."""
MOST_NODES = 30
LONGEST_HOSTNAME = 63
_ANSWER_S = 20.0
_SERVER = "{{.Server.Version}} {{range .Server.Components}}{{.Name}};{{end}}"


class DockerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about Docker and its host, gathered without changing anything."""

    system: str
    """sys.platform."""
    client: str
    """What `docker --version` printed; empty if there is no `docker`."""
    address: str
    """The daemon's address, by the client."""
    server: str = ""
    """Version of the daemon; empty if it did not answer."""
    components: str = ""
    """The daemon's components, by its own report."""
    complaint: str = ""
    """The client's error message."""
    memory_available: int
    """Bytes."""
    inotify: Inotify
    experimental_provider: str = ""
    """KIND_EXPERIMENTAL_PROVIDER."""


def docker_facts(environment: Mapping[str, str] = os.environ) -> DockerFacts:
    """Facts about Docker on this host."""
    client = server = components = complaint = ""
    address = environment.get("DOCKER_HOST", "")
    try:
        client = Docker().run("--version", describe="docker --version").strip()
        if is_docker(client):
            docker = chosen_docker(environment)
            address = docker.environment["DOCKER_HOST"]
            answer = docker.run("version", "--format", _SERVER, describe="docker version", timeout_s=_ANSWER_S)
            server, _, components = answer.strip().partition(" ")
    except PrerequisiteError:
        pass  # there is no `docker`, which the empty `client` says
    except CommandFailed as error:
        complaint = (error.output.strip().splitlines() or ["it does not answer"])[-1]
    return DockerFacts(
        system=sys.platform,
        client=client,
        address=address,
        server=server,
        components=components,
        complaint=complaint,
        memory_available=psutil.virtual_memory().available,
        inotify=inotify_of_host(),
        experimental_provider=environment.get("KIND_EXPERIMENTAL_PROVIDER", ""),
    )


def check_docker(facts: DockerFacts, *, nodes: int, systemd: bool) -> None:
    """Raise one PrerequisiteError that lists every problem with its remedy; `systemd`: whether nodes may have one."""
    require_none(
        problems(facts, nodes=nodes, systemd=systemd),
        failure="provider kind: this host cannot run nodes in Docker.",
        alternative="On Linux, as root, --provider local needs no Docker.",
    )


def problems(facts: DockerFacts, *, nodes: int, systemd: bool) -> Iterator[Problem]:
    """Every problem of the host. Pure."""
    if facts.system != "linux":
        yield Problem("system", f"{facts.system}; only Linux is supported: use a virtual machine.")
    if facts.experimental_provider not in ("", "docker"):
        yield Problem(
            "KIND_EXPERIMENTAL_PROVIDER",
            f"{facts.experimental_provider!r} is not supported yet: unset it and use Docker.",
        )
    problem = docker_problem(facts)
    if problem is not None:
        yield problem
    memory = NODE_MEMORY + (SYSTEMD_MEMORY if systemd else 0)
    yield from memory_problems(facts.memory_available, nodes=nodes + 1, of_each=memory)
    instances = NODE_INOTIFY + (SYSTEMD_INOTIFY if systemd else 0)
    yield from inotify_problems(facts.inotify, needed=CONTROL_PLANE_INOTIFY + (nodes + 1) * instances)


def docker_problem(facts: DockerFacts) -> Problem | None:
    """The problem with Docker itself, if any. Pure."""
    text = _docker(facts)
    return None if text is None else Problem("docker", text)


def _docker(facts: DockerFacts) -> str | None:
    install = f"install Docker {'.'.join(map(str, OLDEST_DOCKER))} or newer"
    where = f" at {facts.address}" if facts.address else ""
    if not facts.client:
        return f'no "docker" on PATH: {install}.'
    if not is_docker(facts.client):
        return f"this `docker` is another program ({facts.client}); Podman is not supported: {install}."
    if facts.address and not facts.address.startswith("unix://"):
        return (
            f"its daemon is reached over a network ({facts.address}), and nodes mount files of this host: "
            "use one of this host, by its socket (unset DOCKER_HOST, or `docker context use default`)."
        )
    if "permission denied" in facts.complaint.lower():
        return f"this user may not use {facts.address}: run as root, or add the user to the group docker."
    if not facts.server:
        return (
            f"its daemon does not answer{where} ({facts.complaint}): "
            "start it (`systemctl start docker`), or set DOCKER_HOST."
        )
    if "podman" in facts.components.lower():
        return f"what answers{where} is Podman, which is not supported: {install}, or set DOCKER_HOST."
    if docker_release(facts.server) < OLDEST_DOCKER:
        return f"its daemon is {facts.server}: {install}."
    return None


def is_docker(client: str) -> bool:
    """Whether the version line is that of Docker's own client; packages also install Podman under the name `docker`."""
    return client.startswith("Docker version")


def docker_release(version: str) -> tuple[int, int]:
    """Major and minor number of a version as Docker writes it (`26.1.5+dfsg1`); (0, 0) for anything else."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def check_request(request: ClusterRequest) -> None:
    """Raise UsageError for invalid names, or for an option that names a missing file."""
    check_names(request, most_nodes=MOST_NODES)
    hostname = f"{kind_name(request.name)}-{CONTROL_PLANE}"
    if len(hostname) > LONGEST_HOSTNAME:
        spare = LONGEST_HOSTNAME - len(hostname) + len(request.name)
        raise UsageError(
            f"cluster {request.name!r}: the name of its first container would have {len(hostname)} characters, "
            f"at most {LONGEST_HOSTNAME} fit.\nChoose a name of at most {spare}."
        )
    if any(node.name == hostname for node in request.nodes):
        raise UsageError(
            f"cluster {request.name!r}: node {hostname!r} would have the name of the control plane's node."
        )
    chosen = next((each.profile for each in request.nodes if each.profile.runtime is not None), None)
    if chosen is not None:
        raise UsageError(
            f'kubelet profile "{chosen.name}": nodes of the provider kind have the container runtime of their image.\n'
            "Use --provider local."
        )
    if request.node_image is not None and request.bin_dir is not None:
        raise UsageError(
            "--node-image and --bin-dir: a node image has its own binaries; --bin-dir builds an image of yours.\n"
            "Leave one of them out."
        )
    if request.kind_binary is not None and not is_executable_file(Path(request.kind_binary)):
        raise UsageError(
            f"--kind-binary {request.kind_binary}: no such executable file; the path of a `kind` was expected."
        )
