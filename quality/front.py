"""A front before the kubelet's own HTTPS server: answers /configz with the declared configuration, and forwards the rest.

It has the node's address and port; the kubelet listens on the same port of the loopback address. One request per
connection: requests are forwarded with `Connection: close`, so that no later one can bypass the front.
"""

import asyncio
import json
import ssl
from typing import Any

from quality.configuration import Config, declared_configz
from quality.connection import HEAD_ENDS, LONGEST_HEAD, LOOPBACK, RequestHead, copy, response, until_closed


class Front:
    """Serves the node's address; `declared` is the configuration to show."""

    def __init__(self, *, address: str, declared: Config) -> None:
        self._address = address
        self._port = int(declared.get("port", 10250))
        self._declared = declared
        self._server: asyncio.Server | None = None
        self._to_kubelet = ssl.create_default_context()
        # The kubelet's certificate names the node's address, not the loopback address.
        self._to_kubelet.check_hostname = False
        self._to_kubelet.verify_mode = ssl.CERT_NONE

    async def start(self) -> None:
        client_ca = self._declared["authentication"]["x509"]["clientCAFile"]
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client_ca)
        tls.verify_mode = ssl.CERT_REQUIRED
        tls.load_cert_chain(self._declared["tlsCertFile"], self._declared["tlsPrivateKeyFile"])
        self._server = await asyncio.start_server(self._serve, self._address, self._port, ssl=tls, limit=LONGEST_HEAD)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with until_closed(writer):
            request = RequestHead.parse(await reader.readuntil(HEAD_ENDS))
            if request.reads_configuration:
                writer.write(response(declared_configz(await self._effective(), self._declared)))
                await writer.drain()
            else:
                await self._pass_on(request, reader, writer)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(LOOPBACK, self._port, ssl=self._to_kubelet)

    async def _effective(self) -> Any:
        """The kubelet's own answer to /configz."""
        reader, writer = await self._connect()
        try:
            writer.write(f"GET /configz HTTP/1.0\r\nHost: {LOOPBACK}\r\n\r\n".encode())
            answer = await reader.read(-1)
            return json.loads(answer.partition(HEAD_ENDS)[2])
        finally:
            writer.close()

    async def _pass_on(self, request: RequestHead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_kubelet, to_kubelet = await self._connect()
        try:
            to_kubelet.write(request.as_the_only_one())
            upward = asyncio.create_task(copy(reader, to_kubelet))
            try:
                await copy(from_kubelet, writer)
            finally:
                upward.cancel()
        finally:
            to_kubelet.close()
