"""A front before the API server, for one kubelet: forwards every request, and changes the phase in the statuses it is sent.

The kubelet reaches it by plain HTTP on the loopback address; it reaches the API server with the kubelet's own certificate.
Statuses are sent as strategic merge patches in JSON (pkg/util/pod/pod.go@v1.37.1 PatchPodStatus).
"""

import asyncio
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from quality.connection import HEAD_ENDS, LONGEST_HEAD, LOOPBACK, RequestHead, copy, until_closed


def altered_status(patch: bytes, phase: str) -> bytes:
    """A patch of a pod's status, with that phase if it says that all the containers that it names wait."""
    body: dict[str, Any] = json.loads(patch)
    status: dict[str, Any] = body.get("status") or {}
    states = [each.get("state") or {} for each in status.get("containerStatuses") or ()]
    if not states or not all(state.get("waiting") for state in states):
        return patch
    return json.dumps({**body, "status": {**status, "phase": phase}}).encode()


def is_status_patch(line: str) -> bool:
    """Whether a request line is that of a patch of a pod's status."""
    method, target, *_ = line.split(" ")
    return method == "PATCH" and target.partition("?")[0].endswith("/status") and "/pods/" in target


class ApiFront:
    """Serves one kubelet, whose kubeconfig it replaces."""

    def __init__(self, kubeconfig: Path, *, phase_while_all_wait: str) -> None:
        self._path = kubeconfig
        self._config: dict[str, Any] = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        self._phase = phase_while_all_wait
        cluster, user = self._config["clusters"][0]["cluster"], self._config["users"][0]["user"]
        self._server = urlsplit(cluster["server"])
        self._tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self._tls.load_cert_chain(user["client-certificate"], user["client-key"])
        self._listening: asyncio.Server | None = None

    async def start(self) -> Path:
        """Serve, and return the kubeconfig by which the kubelet comes here."""
        self._listening = await asyncio.start_server(self._serve, LOOPBACK, 0, limit=LONGEST_HEAD)
        port = self._listening.sockets[0].getsockname()[1]
        named = self._config["clusters"][0]["name"]
        ours = {
            **self._config,
            "clusters": [{"name": named, "cluster": {"server": f"http://{LOOPBACK}:{port}"}}],
            "users": [{"name": self._config["users"][0]["name"], "user": {}}],
        }
        path = self._path.with_name(f"really-{self._path.name}")
        path.write_text(yaml.safe_dump(ours), encoding="utf-8")
        return path

    async def stop(self) -> None:
        if self._listening is not None:
            self._listening.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with until_closed(writer):
            head = RequestHead.parse(await reader.readuntil(HEAD_ENDS))
            body = await reader.readexactly(head.length)
            if is_status_patch(head.line):
                body = altered_status(body, self._phase)
            await self._pass_on(head, body, writer)

    async def _pass_on(self, head: RequestHead, body: bytes, writer: asyncio.StreamWriter) -> None:
        host, port = self._server.hostname, self._server.port
        from_server, to_server = await asyncio.open_connection(host, port, ssl=self._tls)
        try:
            to_server.write(head.with_length(len(body)).as_the_only_one() + body)
            await copy(from_server, writer)
        finally:
            to_server.close()
