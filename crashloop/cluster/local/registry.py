"""The image registry of a local cluster: a process of its hub, started when it is first needed.

It runs in the hub's namespaces, so its port is the cluster's own, and the ledger and the mark of the state folder make it go
with the cluster, however its owner ends.
"""

import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from crashloop.cluster import registry_server
from crashloop.cluster.binaries.components import architecture
from crashloop.cluster.files import write_file
from crashloop.cluster.images import layer_of
from crashloop.cluster.local.addresses import REGISTRY_PORT
from crashloop.cluster.local.bring_up import accepts
from crashloop.cluster.local.control_plane import HUB
from crashloop.cluster.local.executor import Machinery
from crashloop.cluster.local.plan import Blueprint, ProcessPlan
from crashloop.cluster.registry import Offer, Request
from crashloop.cluster.registry_images import registry_images
from crashloop.waiting import wait_until

ANSWERS_WITHIN_S = 60.0


class LocalRegistry:
    """Implements `crashloop.cluster.registry.Registry`. Its methods may be called from several threads."""

    def __init__(self, machinery: Machinery, blueprint: Callable[[], Blueprint]) -> None:
        """`blueprint` returns the present one."""
        self._machinery = machinery
        self._blueprint = blueprint
        self._root = machinery.layout.registry
        self._lock = threading.Lock()
        self._manifests: dict[int, str] = {}

    @property
    def address(self) -> str:
        return self._blueprint().network.registry

    def offer(self, repository: str, offer: Offer) -> None:
        with self._lock:
            self._ensure()
        folder = self._folder(repository)
        folder.mkdir(parents=True, exist_ok=True)
        manifest = None if offer.version is None else self._manifests[offer.version]
        answer = {"manifest": manifest, "password": offer.password, "answers_after_s": offer.answers_after_s}
        write_file(folder / "offer.json", msgspec.json.encode(answer))

    def requests(self, repository: str) -> tuple[Request, ...]:
        log = self._folder(repository) / "requests.jsonl"
        lines = log.read_bytes().splitlines() if log.exists() else ()
        return tuple(sorted((msgspec.json.decode(each, type=Request) for each in lines), key=lambda each: each.t_ns))

    def forget(self, repository: str) -> None:
        shutil.rmtree(self._folder(repository), ignore_errors=True)

    def _folder(self, repository: str) -> Path:
        return self._root / "repositories" / repository

    def _ensure(self) -> None:
        """Write the images and start the process, unless that was done."""
        if not self._manifests:
            images = registry_images(layer_of(Path(self._blueprint().images.archive)), arch=architecture())
            blobs = self._root / "blobs"
            blobs.mkdir(parents=True, exist_ok=True)
            for digest, content in images.blobs.items():
                write_file(blobs / digest, content)
            self._manifests = images.manifests
        plan = self._plan()
        if self._machinery.runs(plan):
            return
        daemon, hub = self._machinery.start(plan), self._blueprint().network.hub

        def answers() -> bool:
            self._machinery.require_alive(plan, daemon, subject="image registry")
            return accepts((hub, REGISTRY_PORT))

        wait_until("the image registry to answer", answers, timeout_s=ANSWERS_WITHIN_S, every_s=0.05, not_yet=OSError)

    def _plan(self) -> ProcessPlan:
        # Isolated and without site packages, since it needs none: it answers after a tenth of a second.
        program = (sys.executable, "-I", "-S", registry_server.__file__)
        argv = (*program, str(self._root), self._blueprint().network.hub, str(REGISTRY_PORT))
        log = self._machinery.layout.log("registry")
        return ProcessPlan(role="registry", node=HUB, namespace=HUB, argv=argv, log=str(log))
