"""One component from the first source that has it: cache, official release, Go build, distribution package.

The cache has complete entries only, each made once even if several processes need it at the same time.

    <cache_dir>/binaries/<component>-<version>-linux-<arch>-<recipe>/   the programs and entry.json
    <cache_dir>/binaries/.partial/<same name>-<boot>-<random>/         an entry in the making
    <cache_dir>/binaries/.locks/<same name>.lock

An entry is made in a partial folder and renamed into place. Only the holder of an entry's lock makes it, so a partial
folder whose lock is free was left by a process that ended. Hosts that share the folder (a home on a network, a guest) may not
see each other's locks: what another boot makes is left for a day.
"""

import errno
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from filelock import FileLock, Timeout

from crashloop.cluster.binaries.components import BUSYBOX, BinarySource, Component, NotAvailable, architecture
from crashloop.cluster.binaries.download import Releases, unpack_package
from crashloop.cluster.binaries.go_build import TEMPLATES, build_component, require_module
from crashloop.cluster.binaries.versions import QUESTIONS, NoAnswer, ask_version
from crashloop.cluster.processes import CommandFailed, boot_id
from crashloop.cluster.provider import Progress
from crashloop.errors import PrerequisiteError
from crashloop.settings import Settings
from crashloop.spec.version import KubernetesVersion

ENTRY_FILE = "entry.json"
WAIT_FOR_ANOTHER_S = 3600.0
"""A cold build takes about 8 minutes on 2 cores; an hour allows for a machine under other load."""
OF_ANOTHER_BOOT_S = 24 * 3600.0
"""Longer than any build; a partial folder of another host, or of this one before its last start, is then left over."""


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


MakeEntry = Callable[[Path], Entry]
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

    def ensure(self, name: str, make: MakeEntry, progress: Progress) -> CachedEntry:
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
                folder = Path(tempfile.mkdtemp(prefix=f"{name}-{_boot()}-", dir=self.partial))
                try:
                    yield folder
                finally:
                    shutil.rmtree(folder, ignore_errors=True)

    def remove_leftovers(self) -> list[str]:
        """Remove partial folders of killed processes; returns their names."""
        removed = []
        for folder in sorted(self.partial.glob("*")):
            name, _, boot = folder.name.rpartition("-")[0].rpartition("-")
            try:
                if boot != _boot() and time.time() - folder.stat().st_mtime < OF_ANOTHER_BOOT_S:
                    continue
                with FileLock(self._lock_file(name), timeout=0):
                    shutil.rmtree(folder, ignore_errors=True)
                    removed.append(folder.name)
            except (Timeout, OSError):
                continue
        return removed

    def _make(self, name: str, partial: Path, make: MakeEntry) -> CachedEntry:
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


def _boot() -> str:
    """Tells this boot of this host from others; a constant where the kernel does not say."""
    return (boot_id() or "unknown")[:8]


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Turn a full or unwritable disk into a PrerequisiteError with its remedy."""
    advice = "Make space there, or set CRASHLOOP_CACHE_DIR to a folder on another disk."
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise PrerequisiteError(f"cache {folder}: no space left{_free_space(folder)}.\n{advice}") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise PrerequisiteError(
                f"cache {folder}: cannot be written ({error.strerror}: {error.filename}).\n"
                "Set CRASHLOOP_CACHE_DIR to a folder that this user can write."
            ) from error
        raise
    except CommandFailed as error:
        if "no space left on device" in error.output.lower():
            raise PrerequisiteError(
                f"cache {folder}, or a folder that the build uses: no space left{_free_space(folder)}.\n{advice}\n"
                "Go keeps its own caches where `go env GOCACHE GOMODCACHE GOTMPDIR` says."
            ) from error
        raise


def _free_space(folder: Path) -> str:
    for existing in (folder, *folder.parents):
        if existing.is_dir():
            return f" ({shutil.disk_usage(existing).free // 2**20} MB free)"
    return ""


SOURCE_NAMES = {
    BinarySource.DOWNLOAD: "official release",
    BinarySource.BUILD: "build with Go",
    BinarySource.PACKAGE: "package of the distribution",
}


OWN_OPTIONS = {"kind": "a `kind` of your own: --kind-binary"}
"""Component -> the option for the user's own, where that is not --bin-dir."""


class Provision:
    """Gets components into the cache of this user."""

    def __init__(self, settings: Settings, progress: Progress) -> None:
        self.settings = settings
        self.progress = progress
        self.arch = architecture()
        self.cache = Cache(settings.paths.cache_dir)
        self.releases = Releases(settings.downloads, self.arch)

    def cached(self, component: Component) -> CachedEntry | None:
        """The component if it is in the cache already."""
        return self.cache.find(entry_name(component, self.arch))

    def ensure(self, component: Component) -> CachedEntry:
        """The component, fetched or built if it is not in the cache.

        Raises PrerequisiteError with every source's reason if none has it, UsageError for a version that does not exist.
        """
        return self.cache.ensure(
            entry_name(component, self.arch), lambda folder: self._make(component, folder), self.progress
        )

    def require(self, component: Component) -> None:
        """Check that a release of Kubernetes is in the cache or can be had, without getting it.

        Raises what `ensure` raises.
        """
        if self.cached(component) is not None:
            return
        reasons: dict[BinarySource, str] = {}
        try:
            self.releases.require(component)
            return
        except NotAvailable as reason:
            reasons[BinarySource.DOWNLOAD] = str(reason)
        try:
            with TemporaryDirectory() as folder:
                require_module(KubernetesVersion.parse(component.version), Path(folder))
        except NotAvailable as reason:
            reasons[BinarySource.BUILD] = str(reason)
            raise PrerequisiteError(self._nowhere(component, reasons)) from reason

    def _make(self, component: Component, folder: Path) -> Entry:
        attempts: dict[BinarySource, Callable[[], None]] = {
            BinarySource.DOWNLOAD: lambda: self._download(component, folder),
            BinarySource.BUILD: lambda: build_component(component, folder, self.progress),
            BinarySource.PACKAGE: lambda: _unpack_component(component, folder),
        }
        reasons: dict[BinarySource, str] = {}
        for source in component.sources:
            try:
                attempts[source]()
                return _inspected_entry(component, source, folder)
            except NotAvailable as reason:
                reasons[source] = str(reason)
                _empty_folder(folder)
        raise PrerequisiteError(self._nowhere(component, reasons))

    def _download(self, component: Component, folder: Path) -> None:
        with self.progress.step(f"downloading the official release of {component.label}"):
            self.releases.fetch(component, folder)

    def _nowhere(self, component: Component, reasons: dict[BinarySource, str]) -> str:
        names = ", ".join(component.programs)
        lines = [
            f"{component.label}: not in the cache ({self.cache.root}), and no source has it.",
            *(f"  {SOURCE_NAMES[source]}: {reason}." for source, reason in reasons.items()),
            "Any one of these helps:",
            *self._ways(component),
            f"  {OWN_OPTIONS.get(component.name, f'a folder with your own {names}: --bin-dir')}.",
        ]
        return "\n".join(lines)

    def _ways(self, component: Component) -> list[str]:
        ways = []
        for site in dict.fromkeys(release.site for release in component.releases):
            url = getattr(self.settings.downloads, site)
            ways.append(f"  a connection to {url}, or a mirror of it: CRASHLOOP_{site.upper()}.")
        if component.go_install or component.go_programs:
            ways.append("  Go 1.26 or newer on PATH, with a connection to a Go module proxy (`go env GOPROXY`).")
        if component.package:
            linked = ", statically linked" if component is BUSYBOX else ""
            ways.append(
                f"  {component.programs[0]}{linked}, on PATH (on Debian and Ubuntu: package {component.package.name})."
            )
        return ways


def entry_name(component: Component, arch: str) -> str:
    """Name of a component's cache entry; another recipe gives another entry."""
    recipe = hashlib.sha256(msgspec.json.encode(component))
    if component.go_programs:
        for template in sorted(TEMPLATES.iterdir()):
            recipe.update(template.read_bytes())
    return f"{component.label.replace(' ', '-')}-linux-{arch}-{recipe.hexdigest()[:8]}"


def _unpack_component(component: Component, folder: Path) -> None:
    (program,) = component.programs
    assert component.package is not None
    unpack_package(program, component.package, folder)


def _inspected_entry(component: Component, source: BinarySource, folder: Path) -> Entry:
    built_too = component.go_programs if source is BinarySource.BUILD else ()
    programs = {}
    for program in dict.fromkeys((*component.programs, *built_too)):
        path = folder / program
        try:
            version = ask_version(program, path) if program in QUESTIONS else component.version
        except NoAnswer as error:
            raise NotAvailable(f"{program} does not run on this host: {error}") from error
        programs[program] = CachedProgram(size=path.stat().st_size, version=version)
    return Entry(component=component.name, source=source, programs=programs)


def _empty_folder(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
