"""The cache of binaries: complete entries only, each made once even if several processes need it at the same time.

    <cache_dir>/binaries/<component>-<version>-linux-<arch>-<recipe>/   the programs and entry.json
    <cache_dir>/binaries/.partial/<same name>-<random>/                an entry in the making
    <cache_dir>/binaries/.locks/<same name>.lock

An entry is made in a partial folder and renamed into place. Only the holder of an entry's lock makes it, so a partial
folder whose lock is free was left by a process that ended.
"""

import errno
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from crashloop.cluster.binaries.components import BinarySource
from crashloop.cluster.provider import Progress
from crashloop.cluster.runner import CommandFailed
from crashloop.errors import PrerequisiteError

ENTRY_FILE = "entry.json"
WAIT_FOR_ANOTHER_S = 3600.0
"""A cold build takes about 8 minutes on 2 cores; an hour allows for a machine under other load."""


class CachedProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A program of an entry."""

    size: int
    """Bytes (of a symbolic link's target); reveals a damaged entry."""
    version: str


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """entry.json: contents of an entry."""

    component: str
    source: BinarySource
    programs: dict[str, CachedProgram]


class CachedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry and its folder."""

    folder: Path
    entry: Entry

    def path(self, program: str) -> Path:
        """Path of a program. Not resolved: the built programs are links to one binary, which acts by its name."""
        return self.folder / program


Make = Callable[[Path], Entry]
"""Fills an empty folder with programs and describes them."""


class Cache:
    """The binaries below one cache folder."""

    def __init__(self, cache_dir: Path) -> None:
        self.root = cache_dir / "binaries"
        self.partial = self.root / ".partial"
        self.locks = self.root / ".locks"

    def find(self, name: str) -> CachedEntry | None:
        """The entry, or None if there is none or it is damaged."""
        folder = self.root / name
        try:
            entry = msgspec.json.decode((folder / ENTRY_FILE).read_bytes(), type=Entry)
            whole = all((folder / program).stat().st_size == known.size for program, known in entry.programs.items())
        except (OSError, msgspec.MsgspecError):
            return None
        return CachedEntry(folder=folder, entry=entry) if whole else None

    def ensure(self, name: str, make: Make, progress: Progress) -> CachedEntry:
        """The entry, made with `make` if it is missing.

        Raises PrerequisiteError if the cache cannot be written or has no space left; exceptions of `make` pass through.
        """
        found = self.find(name)
        if found is not None:
            return found
        with self.workplace(name, progress) as folder:
            return self.find(name) or self._make(name, folder, make)

    @contextmanager
    def workplace(self, name: str, progress: Progress) -> Iterator[Path]:
        """An empty folder for the one maker of that name; removed afterwards.

        Raises PrerequisiteError if the cache cannot be written or has no space left.
        """
        with storage_errors(self.root):
            self.partial.mkdir(parents=True, exist_ok=True)
            self.locks.mkdir(parents=True, exist_ok=True)
            with self._lock(name, progress):
                folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.partial))
                try:
                    yield folder
                finally:
                    shutil.rmtree(folder, ignore_errors=True)

    def remove_leftovers(self) -> list[str]:
        """Remove partial folders of killed processes; returns their names."""
        removed = []
        for folder in sorted(self.partial.glob("*")):
            name, _, _ = folder.name.rpartition("-")
            try:
                with FileLock(self._lock_file(name), timeout=0):
                    shutil.rmtree(folder, ignore_errors=True)
                    removed.append(folder.name)
            except (Timeout, OSError):
                continue
        return removed

    def _make(self, name: str, partial: Path, make: Make) -> CachedEntry:
        entry = make(partial)
        (partial / ENTRY_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(entry)))
        partial.chmod(0o755)
        final = self.root / name
        if final.exists():
            shutil.rmtree(final)
        partial.rename(final)
        return CachedEntry(folder=final, entry=entry)

    def _lock_file(self, name: str) -> Path:
        return self.locks / f"{name}.lock"

    @contextmanager
    def _lock(self, name: str, progress: Progress) -> Iterator[None]:
        lock = FileLock(self._lock_file(name))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            with progress.step(f"waiting for another crashloop that makes {name}"):
                try:
                    lock.acquire(timeout=WAIT_FOR_ANOTHER_S)
                except Timeout:
                    raise PrerequisiteError(
                        f"cache {self.root}: another process has been making {name} for {WAIT_FOR_ANOTHER_S:g} s.\n"
                        f"It holds {self._lock_file(name)}; see `fuser` of that file."
                    ) from None
        try:
            yield
        finally:
            lock.release()


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Turn a full or unwritable disk into a PrerequisiteError with its remedy."""
    advice = "Make space there, or set CRASHLOOP_CACHE_DIR to a folder on another disk."
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise PrerequisiteError(f"cache {folder}: no space left{_free(folder)}.\n{advice}") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise PrerequisiteError(
                f"cache {folder}: cannot be written ({error.strerror}: {error.filename}).\n"
                "Set CRASHLOOP_CACHE_DIR to a folder that this user can write."
            ) from error
        raise
    except CommandFailed as error:
        if "no space left on device" in error.output.lower():
            raise PrerequisiteError(
                f"cache {folder}, or a folder that the build uses: no space left{_free(folder)}.\n{advice}\n"
                "Go keeps its own caches where `go env GOCACHE GOMODCACHE GOTMPDIR` says."
            ) from error
        raise


def _free(folder: Path) -> str:
    for existing in (folder, *folder.parents):
        if existing.is_dir():
            return f" ({shutil.disk_usage(existing).free // 2**20} MB free)"
    return ""
