"""Other machines for workers of a load: network namespaces of this host, each with a cable to the bridge of a local cluster.

What a worker there sees is the bridge alone, with the API server and this host on it: no loopback interface of this host, and no
way out of it. Its host name is its own.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from crashloop.cluster.local.bring_up import Machinery
from crashloop.cluster.local.control_plane import HUB
from crashloop.cluster.local.namespaces import enter, unwire_node, wire_node
from crashloop.cluster.local.plan import MOST_NODES, Blueprint
from crashloop.cluster.ownership import ClusterStore
from crashloop.cluster.processes import kill_until_gone, marked_processes
from suites.stress.started import CRASHLOOP

ENDS_WITHIN_S = 60.0

_NAMED = ("unshare", "--uts", "--", "sh", "-ec", 'echo "$0" >/proc/sys/kernel/hostname; exec "$@"')
"""Before a host name and a command."""


class Machine:
    """A machine that the network of a cluster reaches."""

    def __init__(self, name: str, holder: int) -> None:
        self.name = name
        self._holder = holder
        self._worker: subprocess.Popen[str] | None = None

    def works_for(self, master: str, *, kubeconfig: Path, within_s: float) -> None:
        """Start a worker, which has to find its master within that time."""
        command = (str(CRASHLOOP), "load-worker", "--master", master, "--kubeconfig", str(kubeconfig))
        self._worker = subprocess.Popen(
            enter(self._holder, (*_NAMED, self.name, *command, "--within", f"{within_s:g}")),
            cwd=kubeconfig.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ended(self) -> tuple[int, str]:
        """Exit code and standard error of its worker, once that has ended by itself."""
        assert self._worker is not None
        _, said = self._worker.communicate(timeout=ENDS_WITHIN_S)
        return self._worker.returncode, said

    def switch_off(self) -> None:
        if self._worker is not None:
            with self._worker as worker:
                worker.kill()


class Network:
    """The network of a local cluster that is up."""

    def __init__(self, cluster: str) -> None:
        self._state = ClusterStore().find(cluster).path
        self._blueprint = msgspec.json.decode((self._state / "blueprint.json").read_bytes(), type=Blueprint)

    @property
    def this_host(self) -> str:
        """Address of this host in it."""
        return self._blueprint.network.host

    @contextmanager
    def machines(self, *names: str) -> Iterator[list[Machine]]:
        """Machines of these names, which are gone afterwards."""
        machinery = Machinery(self._blueprint.layout)
        hub = machinery.holder(HUB)
        cables = range(MOST_NODES, MOST_NODES + len(names))
        made: list[Machine] = []
        try:
            for name, cable in zip(names, cables, strict=True):
                holder = machinery.hold(name, self._state / f"{name}.log")
                made.append(Machine(name, holder))
                wire_node(hub, holder, self._blueprint.network, cable)
            yield made
        finally:
            for machine in made:
                machine.switch_off()
            kill_until_gone(lambda: self._processes_of(names), describe=f"processes of {', '.join(names)} to end")
            for cable in cables:
                unwire_node(hub, cable)

    def _processes_of(self, names: tuple[str, ...]) -> set[int]:
        return {pid for name in names for pid in marked_processes(self._state, name)}
