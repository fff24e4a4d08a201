"""The proxy between kubelet and runtime, against a runtime that only remembers what it was asked."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import grpc.aio
import pytest

from quality.cri import api_pb2
from quality.cri_proxy import CriProxy, serve_all
from quality.fault import PASSES_ON, Meddling
from quality.lies import (
    CONTAINER_STATUS,
    CREATE_CONTAINER,
    LIST_CONTAINERS,
    REMOVE_CONTAINER,
    START_CONTAINER,
    STOP_CONTAINER,
    Lie,
)
from suites.selftest.quality.test_lies import create_request

Ask = Callable[[str, bytes], Awaitable[bytes]]


class RememberingRuntime:
    """Containers c0, c1, ... that have all exited; `asked` holds what reached it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes]] = []
        self.created = 0

    async def answer(self, method: str, request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        self.asked.append((method, request))
        if method == CREATE_CONTAINER:
            self.created += 1
            return api_pb2.CreateContainerResponse(container_id=f"c{self.created - 1}").SerializeToString()
        if method == LIST_CONTAINERS:
            exited = [api_pb2.Container(id=f"c{each}", state=api_pb2.CONTAINER_EXITED) for each in range(self.created)]
            return api_pb2.ListContainersResponse(containers=exited).SerializeToString()
        if method == CONTAINER_STATUS:
            gone = api_pb2.ContainerStatus(id="c0", state=api_pb2.CONTAINER_EXITED)
            return api_pb2.ContainerStatusResponse(status=gone).SerializeToString()
        if method == REMOVE_CONTAINER:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such container")
        return request

    @property
    def methods(self) -> list[str]:
        return [method.rpartition("/")[2] for method, _ in self.asked]


def proxied(folder: Path, meddling: Meddling, conversation: Callable[[Ask], Awaitable[None]]) -> RememberingRuntime:
    """Lead a conversation with a remembering runtime through the proxy."""
    runtime = RememberingRuntime()

    async def lead() -> None:
        server = grpc.aio.server()
        serve_all(server, runtime.answer)
        server.add_insecure_port(f"unix:{folder}/runtime")
        await server.start()
        proxy = CriProxy(listen=folder / "proxy", runtime=folder / "runtime", meddling=meddling)
        await proxy.start()
        async with grpc.aio.insecure_channel(f"unix:{folder}/proxy") as channel:

            async def ask(method: str, request: bytes) -> bytes:
                answer: bytes = await channel.unary_unary(method)(request)
                return answer

            await conversation(ask)
        await proxy.stop()
        await server.stop(grace=None)

    asyncio.run(lead())
    return runtime


def test_bytes_pass_unchanged_in_both_directions(tmp_path: Path) -> None:
    async def conversation(ask: Ask) -> None:
        assert await ask("/runtime.v1.ImageService/PullImage", b"\xffanything") == b"\xffanything"

    runtime = proxied(tmp_path, PASSES_ON, conversation)
    assert runtime.asked == [("/runtime.v1.ImageService/PullImage", b"\xffanything")]


def test_an_error_of_the_runtime_passes_with_its_code_and_text(tmp_path: Path) -> None:
    async def conversation(ask: Ask) -> None:
        with pytest.raises(grpc.aio.AioRpcError, match="no such container") as refused:
            await ask(REMOVE_CONTAINER, b"")
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND

    proxied(tmp_path, PASSES_ON, conversation)


def test_a_hidden_container_is_not_found(tmp_path: Path) -> None:
    async def conversation(ask: Ask) -> None:
        with pytest.raises(grpc.aio.AioRpcError, match="container c0: not found") as refused:
            await ask(CONTAINER_STATUS, b"")
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND

    proxied(tmp_path, Meddling(lie=Lie(hides_exited=True)), conversation)


def test_exited_containers_are_replaced_once_before_the_kubelet_hears_of_them(tmp_path: Path) -> None:
    async def conversation(ask: Ask) -> None:
        await ask(CREATE_CONTAINER, create_request(attempt=0))
        await ask(LIST_CONTAINERS, b"")

    runtime = proxied(tmp_path, Meddling(replaces_exited=True), conversation)
    assert runtime.methods == [
        *("CreateContainer", "ListContainers"),
        *("CreateContainer", "StartContainer", "ListContainers"),
    ]
    assert api_pb2.CreateContainerRequest.FromString(runtime.asked[2][1]).config.metadata.attempt == 1
    assert api_pb2.StartContainerRequest.FromString(runtime.asked[3][1]).container_id == "c1"


def test_a_container_that_the_kubelet_stops_is_not_replaced(tmp_path: Path) -> None:
    async def conversation(ask: Ask) -> None:
        await ask(CREATE_CONTAINER, create_request(attempt=0))
        await ask(STOP_CONTAINER, api_pb2.StopContainerRequest(container_id="c0").SerializeToString())
        await ask(LIST_CONTAINERS, b"")

    runtime = proxied(tmp_path, Meddling(replaces_exited=True), conversation)
    assert runtime.methods == ["CreateContainer", "StopContainer", "ListContainers"]


def test_exited_containers_are_removed_and_a_refusal_of_that_is_borne(tmp_path: Path) -> None:
    async def conversation(ask: Ask) -> None:
        await ask(CREATE_CONTAINER, create_request(attempt=0))
        await ask(LIST_CONTAINERS, b"")

    runtime = proxied(tmp_path, Meddling(removes_exited=True), conversation)
    assert runtime.methods == ["CreateContainer", "ListContainers", "RemoveContainer", "ListContainers"]


@pytest.mark.parametrize(("attempt", "starts"), [pytest.param(0, 1, id="first"), pytest.param(1, 2, id="restart")])
def test_only_a_restart_gets_a_twin(tmp_path: Path, attempt: int, starts: int) -> None:
    async def conversation(ask: Ask) -> None:
        await ask(CREATE_CONTAINER, create_request(attempt=attempt))
        await ask(START_CONTAINER, api_pb2.StartContainerRequest(container_id="c0").SerializeToString())

    runtime = proxied(tmp_path, Meddling(starts_twice=True), conversation)
    assert runtime.methods.count("StartContainer") == starts
