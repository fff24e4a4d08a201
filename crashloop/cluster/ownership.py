"""Owners of the clusters on this host, and clusters whose owner is gone.

Theory of operation. A cluster's *state folder* is its first part to be made and its last to be removed.
Its owner holds a lock on it for as long as it lives; the kernel frees the lock however the owner ends. A cluster
whose lock is free and which is not marked *kept* is an orphan, and the next start on this host removes it (removal.py).
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from filelock import FileLock, Timeout

from crashloop.cluster.host_settings import HostSettings
from crashloop.errors import ClusterError, UsageError
from crashloop.settings import SYSTEM_STATE, resolve_settings
from crashloop.waiting import WaitTimeout, wait_until

T = TypeVar("T")
_NEVER_HELD_LONG_S = 120.0


class OutOfReach(ClusterError):
    """A cluster's parts cannot be reached now, for example because its Docker does not run. A later start retries."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """cluster.json: facts of a cluster, written before it is made."""

    name: str
    provider: str
    owner_pid: int
    started: datetime
    kubernetes_version: str
    nodes: tuple[str, ...]


class ClusterRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster on this host, as `crashloop down` lists it."""

    name: str
    provider: str
    owner_pid: int
    owner_alive: bool
    """Whether a process holds the cluster's lock."""
    kept: bool
    """Whether it outlives its owner."""
    started: datetime
    nodes: tuple[str, ...]
    kubeconfig: str


class StateFolder:
    """The folder of one cluster: its lock, its facts, whether it is kept. Everything else in it belongs to the provider.

    The lock is released when this object is garbage-collected, so an owner keeps a reference to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kubeconfig = path / "kubeconfig"
        self._facts = path / "cluster.json"
        self._kept = path / "kept"
        self._lock = FileLock(path / "owner.lock", thread_local=False)

    def take(self) -> bool:
        """Become the owner. False if another process is."""
        try:
            self._lock.acquire(timeout=0)
        except (Timeout, FileNotFoundError):
            return False
        return True

    def release(self) -> None:
        """Stop being the owner."""
        self._lock.release()

    @property
    def is_mine(self) -> bool:
        """Whether this object holds the lock."""
        return bool(self._lock.is_locked)

    @property
    def owned_elsewhere(self) -> bool:
        """Whether another process is the owner."""
        if self.is_mine:
            return False
        if not self.take():
            return True
        self.release()
        return False

    @property
    def kept(self) -> bool:
        return self._kept.exists()

    def keep(self) -> None:
        """Let the cluster outlive its owner."""
        self._kept.touch()

    def write_facts(self, facts: Facts) -> None:
        partial = self._facts.with_suffix(".partial")
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(facts)) + b"\n")
        partial.replace(self._facts)

    def set_nodes(self, nodes: tuple[str, ...]) -> None:
        """Write down which nodes the cluster has now."""
        facts = self.facts()
        if facts is not None:
            self.write_facts(msgspec.structs.replace(facts, nodes=nodes))

    def facts(self) -> Facts | None:
        """None if the owner ended before it wrote them: then only the folder exists."""
        try:
            return msgspec.json.decode(self._facts.read_bytes(), type=Facts)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def delete(self) -> None:
        """Remove the folder, its lock last, so that no other process takes a half-removed cluster for an orphan."""
        for entry in self.path.iterdir() if self.path.exists() else ():
            if entry.name != "owner.lock":
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        self.release()
        shutil.rmtree(self.path, ignore_errors=True)


class ClusterStore:
    """All state folders below the state directory."""

    def __init__(self, state_dir: Path | None = None, *, host: HostSettings | None = None) -> None:
        self.root = (state_dir or resolve_settings().paths.state_dir) / "clusters"
        self.host = host or HostSettings(self.root.parent / "host-settings.json")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclusive on this host: for choosing unique names and networks, and for restoring host settings."""
        lock = FileLock(self.root.parent / "lock")

        def acquire() -> bool:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
            return True

        try:
            # Who removes the last cluster removes folder and lock.
            wait_until(
                "the lock of all clusters", acquire, timeout_s=_NEVER_HELD_LONG_S, not_yet=(Timeout, FileNotFoundError)
            )
        except WaitTimeout as error:
            raise ClusterError(
                f"clusters in {self.root}: another process has been choosing or removing one for {_NEVER_HELD_LONG_S:g} s.\n"
                f"See who holds it: fuser -v {self.root.parent / 'lock'}"
            ) from error
        try:
            self.root.mkdir(exist_ok=True)
            yield
        finally:
            with suppress(OSError):  # not empty: a cluster is there
                self.root.rmdir()
                Path(lock.lock_file).unlink()
                if self.root.parent == SYSTEM_STATE:  # others are folders of the user's
                    self.root.parent.rmdir()
            lock.release()

    def create(self, facts: Facts) -> StateFolder:
        """Make the state folder of a new cluster and own it; call it while `locked`. Raises UsageError if the name is taken."""
        state = StateFolder(self.root / facts.name)
        try:
            state.path.mkdir(mode=0o700)
        except FileExistsError:
            raise UsageError(
                f"cluster {facts.name!r}: a cluster of this name exists, in use or kept.\n"
                f"Remove it with `crashloop down {facts.name}`, or choose another name."
            ) from None
        state.take()
        self.host.record()
        self.host.raise_limits()
        state.write_facts(facts)
        return state

    def delete(self, state: StateFolder) -> None:
        """Remove a state folder; removing the last one restores the host's settings."""
        with self.locked():
            state.delete()
            if not self.folders():
                self.host.restore()

    def folders(self) -> tuple[StateFolder, ...]:
        if not self.root.is_dir():
            return ()
        return tuple(StateFolder(path) for path in sorted(self.root.iterdir()) if path.is_dir())

    def attach(self, name: str, blueprint: type[T]) -> tuple[StateFolder, T]:
        """Own a kept cluster from now on, and read its blueprint. Raises UsageError."""
        state = self.find(name)
        if not state.take():
            raise UsageError(f"cluster {name!r}: it is in use by another process.\nEnd that run first.")
        found = read_blueprint(state.path, blueprint)
        if found is None:
            raise UsageError(f"cluster {name!r}: it never came up.\nRemove it with `crashloop down {name}`.")
        return state, found

    def find(self, name: str) -> StateFolder:
        """The state folder of a cluster. Raises UsageError that lists the existing clusters."""
        for state in self.folders():
            if state.path.name == name:
                return state
        known = ", ".join(state.path.name for state in self.folders()) or "none"
        raise UsageError(f"cluster {name!r}: unknown on this host; known are: {known}.")


def read_blueprint(state: Path, kind: type[T]) -> T | None:
    """The provider's blueprint in a state folder; None if its cluster ended before it was written."""
    path = state / "blueprint.json"
    return msgspec.json.decode(path.read_bytes(), type=kind) if path.exists() else None


def list_clusters(store: ClusterStore | None = None) -> tuple[ClusterRecord, ...]:
    """All clusters on this host, orphans included."""
    return tuple(
        ClusterRecord(
            name=facts.name,
            provider=facts.provider,
            owner_pid=facts.owner_pid,
            owner_alive=state.owned_elsewhere,
            kept=state.kept,
            started=facts.started,
            nodes=facts.nodes,
            kubeconfig=str(state.kubeconfig),
        )
        for state in (store or ClusterStore()).folders()
        if (facts := state.facts()) is not None
    )


def mark_kept(name: str, store: ClusterStore | None = None) -> None:
    """Let a cluster outlive its owner: from then on only `remove` and `remove_all` take it down. Raises UsageError."""
    (store or ClusterStore()).find(name).keep()


def new_facts(*, name: str, provider: str, owner_pid: int, kubernetes_version: str, nodes: tuple[str, ...]) -> Facts:
    """Facts of a cluster that starts now."""
    return Facts(
        name=name,
        provider=provider,
        owner_pid=owner_pid,
        started=datetime.now(UTC),
        kubernetes_version=kubernetes_version,
        nodes=nodes,
    )
