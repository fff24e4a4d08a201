"""A proxy between the kubelet and its container runtime: forwards every CRI call, changes answers, and acts on its own.

It knows only the messages that it changes: everything else is forwarded as bytes. All CRI calls of the kubelet have one
request and one answer (its gates EventedPLEG and CRIListStreaming are off).
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from quality.cri import api_pb2
from quality.fault import Meddling
from quality.lies import (
    CREATE_CONTAINER,
    EXEC_SYNC,
    LIST_CONTAINERS,
    REMOVE_CONTAINER,
    START_CONTAINER,
    STOP_CONTAINER,
    NotThere,
    altered,
    altered_exec,
    attempt_of,
    container_of,
    exited_in,
    is_restart,
    successor,
    with_environment_of,
)

TWIN_AFTER_S = 0.4
"""Twins that started at the same moment would both write the same life into their journal, which then proves nothing."""

_ANY_SIZE = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class CriProxy:
    """Serves one kubelet on a Unix socket."""

    def __init__(self, *, listen: Path, runtime: Path, meddling: Meddling) -> None:
        self._meddling = meddling
        self._channel = grpc.aio.insecure_channel(
            f"unix:{runtime}", options=[("grpc.default_authority", "localhost"), *_ANY_SIZE]
        )
        self._server = grpc.aio.server(options=_ANY_SIZE)
        serve_all(self._server, self._serve)
        self._server.add_insecure_port(f"unix:{listen}")
        self._requests: dict[str, bytes] = {}
        """The request that created each container that has not been replaced or stopped."""
        self._first: dict[tuple[str, str], bytes] = {}
        """The first request to create each container, by its sandbox and name."""
        self._acting = asyncio.Lock()

    async def start(self) -> None:
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop(grace=None)
        await self._channel.close()

    async def _serve(self, method: str, request: bytes, context: Any) -> bytes:
        try:
            return await self._answer(method, request)
        except NotThere as hidden:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"container {hidden}: not found")
        except grpc.aio.AioRpcError as error:
            await context.abort(error.code(), error.details() or "")
        raise AssertionError("abort does not return")

    async def _answer(self, method: str, request: bytes) -> bytes:
        if method == CREATE_CONTAINER and attempt_of(request) >= self._meddling.create_late_from:
            await asyncio.sleep(self._meddling.create_late_s)
        if method == STOP_CONTAINER:
            self._requests.pop(api_pb2.StopContainerRequest.FromString(request).container_id, None)
        if method == CREATE_CONTAINER and self._meddling.keeps_environment:
            request = with_environment_of(self._first.setdefault(container_of(request), request), request)
        answer = await self._ask(method, request)
        if method == EXEC_SYNC:
            return altered_exec(request, answer, self._meddling.lie)
        if method == CREATE_CONTAINER:
            self._remember(request, answer)
        elif method == START_CONTAINER and self._meddling.starts_twice:
            await self._start_twin(api_pb2.StartContainerRequest.FromString(request).container_id)
        elif method == LIST_CONTAINERS and await self._acted_on(exited_in(answer)):
            answer = await self._ask(method, request)
        return altered(method, answer, self._meddling.lie)

    async def _ask(self, method: str, request: bytes) -> bytes:
        answer: bytes = await self._channel.unary_unary(method)(request)
        return answer

    def _remember(self, request: bytes, answer: bytes) -> str:
        created: str = api_pb2.CreateContainerResponse.FromString(answer).container_id
        self._requests[created] = request
        return created

    async def _acted_on(self, exited: tuple[str, ...]) -> bool:
        """Whether it acted on exited containers."""
        if not (self._meddling.removes_exited or self._meddling.replaces_exited):
            return False
        async with self._acting:
            known = [each for each in exited if each in self._requests]
            for each in known:
                request = self._requests.pop(each)
                with suppress(grpc.aio.AioRpcError):  # its pod is being deleted
                    await self._act_on(each, request)
        return bool(known)

    async def _act_on(self, container_id: str, request: bytes) -> None:
        if self._meddling.replaces_exited:
            await self._start_another(request)
        else:
            removal = api_pb2.RemoveContainerRequest(container_id=container_id)
            await self._ask(REMOVE_CONTAINER, removal.SerializeToString())

    async def _start_twin(self, container_id: str) -> None:
        request = self._requests.get(container_id)
        if request is not None and is_restart(request):
            await asyncio.sleep(TWIN_AFTER_S)
            await self._start_another(request)

    async def _start_another(self, request: bytes) -> None:
        """Create and start the successor of the request's container."""
        another = successor(request)
        created = self._remember(another, await self._ask(CREATE_CONTAINER, another))
        start = api_pb2.StartContainerRequest(container_id=created)
        await self._ask(START_CONTAINER, start.SerializeToString())


Serve = Callable[[str, bytes, Any], Awaitable[bytes]]
"""Answers a call: its method, the request and the call's context."""


def serve_all(server: Any, serve: Serve) -> None:
    """Let one function answer every method of a server, in bytes."""
    server.add_generic_rpc_handlers((_Handlers(serve),))


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Finds the same handler for every method."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve

    def service(self, details: Any) -> Any:
        method: str = details.method

        async def handle(request: bytes, context: Any) -> bytes:
            return await self._serve(method, request, context)

        return grpc.unary_unary_rpc_method_handler(handle)
