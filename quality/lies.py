"""False answers to the kubelet: CRI answers, rewritten on their way from the runtime. Pure.

Everything else reaches the kubelet byte for byte or, in a rewritten message, as an unknown field.
"""

from collections.abc import MutableMapping, Sequence

import msgspec

from crashloop.spec.pod import ProbeKind
from quality.cri import api_pb2

RESTART_COUNT = "io.kubernetes.container.restartCount"
"""Annotation in which the kubelet keeps restartCount with the runtime (pkg/kubelet/kuberuntime/labels.go@v1.37.1)."""

SERVICE = "/runtime.v1.RuntimeService/"
LIST_CONTAINERS = f"{SERVICE}ListContainers"
CONTAINER_STATUS = f"{SERVICE}ContainerStatus"
POD_SANDBOX_STATUS = f"{SERVICE}PodSandboxStatus"
CREATE_CONTAINER = f"{SERVICE}CreateContainer"
START_CONTAINER = f"{SERVICE}StartContainer"
STOP_CONTAINER = f"{SERVICE}StopContainer"
REMOVE_CONTAINER = f"{SERVICE}RemoveContainer"
EXEC_SYNC = f"{SERVICE}ExecSync"


class Lie(msgspec.Struct, frozen=True, kw_only=True):
    """False statements about containers. The default is the truth."""

    finished_by_ms: tuple[int, ...] = ()
    """Added to finishedAt of each instance by its number, from 0; the last one counts for all that follow."""
    exit_codes: dict[int, int] = {}
    """Exit codes that are replaced."""
    restart_count_by: int = 0
    """Added to restartCount."""
    hides_exited: bool = False
    """Exited containers are hidden."""
    succeeding_probes: tuple[ProbeKind, ...] = ()
    """Kinds of exec probes whose commands are said to have succeeded."""


TRUTH = Lie()


class NotThere(Exception):
    """The container is hidden."""


def altered(method: str, answer: bytes, lie: Lie) -> bytes:
    """The runtime's answer as the kubelet receives it. Raises NotThere for the status of a hidden container."""
    if lie == TRUTH:
        return answer
    if method == LIST_CONTAINERS:
        return _altered_list(answer, lie)
    if method == CONTAINER_STATUS:
        response = api_pb2.ContainerStatusResponse.FromString(answer)
        if _is_hidden(response.status.state, lie):
            raise NotThere(response.status.id)
        _alter_status(response.status, lie)
        return response.SerializeToString()
    if method == POD_SANDBOX_STATUS:
        return _altered_sandbox(answer, lie)
    return answer


def altered_exec(request: bytes, answer: bytes, lie: Lie) -> bytes:
    """The answer to ExecSync as the kubelet receives it."""
    command = api_pb2.ExecSyncRequest.FromString(request).cmd
    if not any(kind.value in command for kind in lie.succeeding_probes):
        return answer
    response = api_pb2.ExecSyncResponse.FromString(answer)
    response.exit_code = 0
    return response.SerializeToString()


def with_environment_of(before: bytes, request: bytes) -> bytes:
    """The CreateContainer request with the environment of another one."""
    copy = api_pb2.CreateContainerRequest.FromString(request)
    del copy.config.envs[:]
    copy.config.envs.extend(api_pb2.CreateContainerRequest.FromString(before).config.envs)
    return copy.SerializeToString()


def container_of(request: bytes) -> tuple[str, str]:
    """Sandbox and name of the container of a CreateContainer request."""
    copy = api_pb2.CreateContainerRequest.FromString(request)
    return copy.pod_sandbox_id, copy.config.metadata.name


def _altered_list(answer: bytes, lie: Lie) -> bytes:
    response = api_pb2.ListContainersResponse.FromString(answer)
    for index in _hidden(response.containers, lie):
        del response.containers[index]
    for each in response.containers:
        _alter_restart_count(each.annotations, lie)
    return response.SerializeToString()


def _altered_sandbox(answer: bytes, lie: Lie) -> bytes:
    response = api_pb2.PodSandboxStatusResponse.FromString(answer)
    for index in _hidden(response.containers_statuses, lie):
        del response.containers_statuses[index]
    for each in response.containers_statuses:
        _alter_status(each, lie)
    return response.SerializeToString()


def _hidden(containers: Sequence[api_pb2.Container | api_pb2.ContainerStatus], lie: Lie) -> list[int]:
    """Positions of the hidden ones, last first."""
    return [index for index, each in reversed([*enumerate(containers)]) if _is_hidden(each.state, lie)]


def _is_hidden(state: int, lie: Lie) -> bool:
    return lie.hides_exited and state == api_pb2.CONTAINER_EXITED


def _alter_status(status: api_pb2.ContainerStatus, lie: Lie) -> None:
    _alter_restart_count(status.annotations, lie)
    if status.state != api_pb2.CONTAINER_EXITED:
        return
    if status.finished_at and lie.finished_by_ms:
        number = min(int(status.annotations[RESTART_COUNT]), len(lie.finished_by_ms) - 1)
        status.finished_at += lie.finished_by_ms[number] * 10**6
    if status.exit_code in lie.exit_codes:
        status.exit_code = lie.exit_codes[status.exit_code]
        # containerd's own words for the two (internal/cri/server/container_status.go at v2.3.7).
        status.reason = "Error" if status.exit_code else "Completed"


def _alter_restart_count(annotations: MutableMapping[str, str], lie: Lie) -> None:
    if lie.restart_count_by and RESTART_COUNT in annotations:
        annotations[RESTART_COUNT] = str(int(annotations[RESTART_COUNT]) + lie.restart_count_by)


def exited_in(answer: bytes) -> tuple[str, ...]:
    """Ids of the containers that have exited, from an answer to ListContainers."""
    containers = api_pb2.ListContainersResponse.FromString(answer).containers
    return tuple(each.id for each in containers if each.state == api_pb2.CONTAINER_EXITED)


def is_restart(request: bytes) -> bool:
    """Whether a CreateContainer request is for a later instance of a container than the first."""
    return attempt_of(request) > 0


def attempt_of(request: bytes) -> int:
    """The number of the instance of a CreateContainer request, from 0."""
    number: int = api_pb2.CreateContainerRequest.FromString(request).config.metadata.attempt
    return number


def successor(request: bytes) -> bytes:
    """The CreateContainer request that would restart the container of `request`."""
    copy = api_pb2.CreateContainerRequest.FromString(request)
    before = copy.config.metadata.attempt
    copy.config.metadata.attempt = before + 1
    copy.config.annotations[RESTART_COUNT] = str(before + 1)
    copy.config.log_path = copy.config.log_path.replace(f"/{before}.log", f"/{before + 1}.log")
    return copy.SerializeToString()
