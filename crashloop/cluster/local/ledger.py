"""The ledger of a cluster's objects on the host, written before each object is made; a later clean-up reads nothing else."""

from pathlib import Path

import msgspec

from crashloop.cluster.processes import Daemon


class HostLink(msgspec.Struct, frozen=True, kw_only=True, tag="link"):
    """The host's end of the cable to the hub; `alias` distinguishes it from another link of the same name."""

    name: str
    alias: str


class Cgroup(msgspec.Struct, frozen=True, kw_only=True, tag="cgroup"):
    """A cgroup in every hierarchy, with everything below it."""

    path: str


class Process(msgspec.Struct, frozen=True, kw_only=True, tag="process"):
    """A process of the cluster. Its children inherit the mark of the state folder (processes.STATE_MARK)."""

    role: str
    node: str
    daemon: Daemon


Thing = HostLink | Cgroup | Process


class Ledger:
    """An append-only file of JSON lines in the cluster's state folder."""

    def __init__(self, state: Path) -> None:
        self._path = state / "ledger.jsonl"

    def add(self, thing: Thing) -> None:
        """Write a line before the object is made. A process carries its mark from the start, and gets its line right after."""
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(thing) + b"\n")

    def things(self) -> list[Thing]:
        """All entries. A last line cut short by a kill belongs to an object that was never made."""
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            return []
        whole = raw[: raw.rfind(b"\n") + 1]
        return [msgspec.json.decode(line, type=Thing) for line in whole.splitlines()]

    def daemon(self, role: str, node: str) -> Daemon | None:
        """The newest process of a role."""
        for thing in reversed(self.things()):
            if isinstance(thing, Process) and (thing.role, thing.node) == (role, node):
                return thing.daemon
        return None
