"""One component from the first source that has it: cache, official release, Go build, distribution package."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from crashloop.cluster.binaries.cache import Cache, CachedEntry, CachedProgram, Entry
from crashloop.cluster.binaries.components import BUSYBOX, BinarySource, Component, architecture
from crashloop.cluster.binaries.download import Releases
from crashloop.cluster.binaries.errors import NotAvailable
from crashloop.cluster.binaries.go_build import TEMPLATES, build_component, require_module
from crashloop.cluster.binaries.packages import unpack_package
from crashloop.cluster.binaries.version_query import QUESTIONS, NoAnswer, ask_version
from crashloop.cluster.provider import Progress
from crashloop.errors import PrerequisiteError
from crashloop.settings import Settings
from crashloop.spec.version import KubernetesVersion

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
            BinarySource.PACKAGE: lambda: _unpack(component, folder),
        }
        reasons: dict[BinarySource, str] = {}
        for source in component.sources:
            try:
                attempts[source]()
                return _inspected(component, source, folder)
            except NotAvailable as reason:
                reasons[source] = str(reason)
                _empty(folder)
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


def _unpack(component: Component, folder: Path) -> None:
    (program,) = component.programs
    assert component.package is not None
    unpack_package(program, component.package, folder)


def _inspected(component: Component, source: BinarySource, folder: Path) -> Entry:
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


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
