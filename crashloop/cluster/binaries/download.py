"""Programs that are downloaded: official releases, with the published sha256 or not at all, and packages of the distribution.

A site gets one chance to answer (settings `first_answer_s`); after that it counts as unreachable for this process, so a host
without a connection loses seconds, not minutes.

Packages of Debian and Ubuntu are unpacked into the cache and never installed: runc's would replace a user's Docker. The system's
package lists are used if it has any; otherwise lists are downloaded into the cache, so the system is not changed and root is not
needed.
"""

import hashlib
import http.client
import queue
import shutil
import tarfile
import threading
import urllib.error
import urllib.request
from pathlib import Path, PurePosixPath

from crashloop.cluster.binaries.components import Component, NotAvailable, Package, ReleaseFile
from crashloop.cluster.processes import CommandFailed, run
from crashloop.errors import PrerequisiteError
from crashloop.settings import Downloads

CHECKSUM_LIMIT = 64 * 1024
CHUNK = 1 << 20


class Releases:
    """Downloads of release files; remembers which sites do not answer."""

    def __init__(self, settings: Downloads, arch: str) -> None:
        self.settings = settings
        self.arch = arch
        self._unreachable: dict[str, str] = {}

    def fetch(self, component: Component, folder: Path) -> None:
        """Put all programs of a component into the folder, as executables.

        Raises NotAvailable if the site has no such release or does not answer, PrerequisiteError if a file does not have
        the published checksum.
        """
        for release in component.releases:
            self._fetch_file(component, release, folder)

    def require(self, component: Component) -> None:
        """Ask for the published checksums of a component's files. Raises NotAvailable."""
        for release in component.releases:
            path = release.checksum.format(version=component.version, arch=self.arch)
            self._first_answer(getattr(self.settings, release.site), path)

    def _fetch_file(self, component: Component, release: ReleaseFile, folder: Path) -> None:
        base, variable = getattr(self.settings, release.site), f"CRASHLOOP_{release.site.upper()}"
        path, checksum_path = (
            text.format(version=component.version, arch=self.arch) for text in (release.path, release.checksum)
        )
        expected = published_sha256(self._first_answer(base, checksum_path), PurePosixPath(path).name)
        if expected is None:
            raise PrerequisiteError(
                f"{base}/{checksum_path}: no sha256 of {PurePosixPath(path).name} in it, so the file cannot be verified.\n"
                f"Set {variable} to a complete mirror, or use --bin-dir."
            )
        download = folder / ".download"
        actual = self._save(f"{base}/{path}", download)
        if actual != expected:
            download.unlink()
            raise PrerequisiteError(
                f"{base}/{path}: its sha256 is {actual}, published is {expected}.\n"
                "The file was not used.\n"
                f"Try again; if it stays so, set {variable} to another site, or use --bin-dir."
            )
        _unpack_release(download, release, folder, component.version, self.arch)
        for program in release.members:
            (folder / f"{program}.sha256").write_text(f"{_sha256_of(folder / program)}  {program}\n")
        download.unlink(missing_ok=True)

    def _first_answer(self, base: str, path: str) -> str:
        """A small file, within `first_answer_s`; name resolution has no time limit of its own, hence the thread."""
        if base in self._unreachable:
            raise NotAvailable(self._unreachable[base])
        answers: queue.SimpleQueue[str | Exception] = queue.SimpleQueue()
        threading.Thread(target=self._read_small, args=(f"{base}/{path}", answers), daemon=True).start()
        try:
            answer = answers.get(timeout=self.settings.first_answer_s)
        except queue.Empty:
            answer = TimeoutError(f"no answer within {self.settings.first_answer_s:g} s")
        if isinstance(answer, str):
            return answer
        if isinstance(answer, urllib.error.HTTPError):
            raise NotAvailable(f"{base}/{path}: HTTP {answer.code}") from answer
        self._unreachable[base] = f"{base}: {getattr(answer, 'reason', answer)}"
        raise NotAvailable(self._unreachable[base]) from answer

    def _read_small(self, url: str, answers: "queue.SimpleQueue[str | Exception]") -> None:
        try:
            with urllib.request.urlopen(url, timeout=self.settings.first_answer_s) as response:
                answers.put(response.read(CHECKSUM_LIMIT).decode("ascii", errors="replace"))
        except (OSError, http.client.HTTPException) as error:
            _close_response(error)
            answers.put(error)

    def _save(self, url: str, destination: Path) -> str:
        digest = hashlib.sha256()
        try:
            with urllib.request.urlopen(url, timeout=self.settings.stall_s) as response, destination.open("wb") as file:
                while chunk := response.read(CHUNK):
                    digest.update(chunk)
                    file.write(chunk)
        except urllib.error.HTTPError as error:
            _close_response(error)
            raise NotAvailable(f"{url}: HTTP {error.code}") from error
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            raise NotAvailable(f"{url}: {error}") from error
        return digest.hexdigest()


def _close_response(error: Exception) -> None:
    """An HTTPError is an open response too."""
    if isinstance(error, urllib.error.HTTPError):
        error.close()


def published_sha256(text: str, file_name: str) -> str | None:
    """The digest of a file in a checksum file: one digest alone, or lines of `<digest>  <file name>`."""
    for line in text.splitlines():
        words = line.split()
        is_digest = bool(words) and len(words[0]) == 64 and set(words[0].lower()) <= set("0123456789abcdef")
        if is_digest and (len(words) == 1 or PurePosixPath(words[1].lstrip("*")).name == file_name):
            return words[0].lower()
    return None


def _unpack_release(download: Path, release: ReleaseFile, folder: Path, version: str, arch: str) -> None:
    for program, member in release.members.items():
        target = folder / program
        if not member:
            download.rename(target)
        else:
            _extract_member(download, member.format(version=version, arch=arch), target)
        target.chmod(0o755)


def _extract_member(archive: Path, member: str, target: Path) -> None:
    with tarfile.open(archive) as tar:
        names = {PurePosixPath(name): name for name in tar.getnames()}
        found = names.get(PurePosixPath(member))
        source = tar.extractfile(found) if found else None
        if source is None:
            raise NotAvailable(f"{archive.name}: no {member} in the archive")
        with source, target.open("wb") as file:
            shutil.copyfileobj(source, file)


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


APT_S = 300.0


def unpack_package(program: str, package: Package, folder: Path) -> None:
    """Put a program out of its package into the folder.

    Raises NotAvailable if the host has no apt, or its sources do not have the package.
    """
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NotAvailable("this is not Debian or Ubuntu: no `apt-get` and `dpkg-deb` on PATH")
    work = folder / ".package"
    work.mkdir()
    archive = _download_package(package, work)
    run(["dpkg-deb", "-x", archive, work / "root"], describe=f"package {package.name}", timeout_s=60)
    unpacked = next((work / "root" / path for path in package.paths if (work / "root" / path).is_file()), None)
    if unpacked is None:
        raise NotAvailable(f"{archive.name} has no {' or '.join(package.paths)}")
    unpacked.rename(folder / program)
    (folder / program).chmod(0o755)
    shutil.rmtree(work)


def _download_package(package: Package, work: Path) -> Path:
    describe = f"package {package.name}"
    # apt would drop to the user _apt, which cannot write here
    apt = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root"]
    own_lists = ["-o", f"Dir::State::lists={work / 'lists'}", "-o", f"Dir::Cache={work / 'cache'}"]
    try:
        run([*apt, "download", package.name], describe=describe, timeout_s=APT_S, cwd=work)
    except CommandFailed:
        for needed in ("lists/partial", "cache/archives/partial"):
            (work / needed).mkdir(parents=True)
        try:
            run([*apt, *own_lists, "update"], describe=describe, timeout_s=APT_S, cwd=work)
            run([*apt, *own_lists, "download", package.name], describe=describe, timeout_s=APT_S, cwd=work)
        except CommandFailed as error:
            last = (error.output.strip().splitlines() or ["no output"])[-1]
            raise NotAvailable(f"`apt-get download {package.name}`: {last}") from error
    archive = next(work.glob("*.deb"), None)
    if archive is None:
        raise NotAvailable(f"`apt-get download {package.name}` left no package")
    return archive
