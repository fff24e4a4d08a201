"""Files with the right mode from their first byte on, and tar archives of any size: the same members give the same bytes."""

import io
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import msgspec
import psutil


def write_file(path: Path, content: bytes | str, *, mode: int = 0o644) -> None:
    """Create or replace a file; its `mode` holds from its first byte on."""
    raw = content.encode() if isinstance(content, str) else content
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(raw)
    partial.replace(path)


_IN_MEMORY = ("tmpfs", "ramfs")


def disk_of(folder: Path) -> str:
    """The file system and device that keep a folder, such as `ext4 on /dev/vda1`; empty for one in memory."""
    mounts = {each.mountpoint: each for each in psutil.disk_partitions(all=True)}
    real = folder.resolve()
    found = next((mounts[str(each)] for each in (real, *real.parents) if str(each) in mounts), None)
    if found is None:
        return "an unknown file system"
    return "" if found.fstype in _IN_MEMORY else f"{found.fstype} on {found.device}"


def last_lines(path: Path, count: int = 12, *, at_most_bytes: int = 65536) -> str:
    """The last lines of a log, or a note that there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - at_most_bytes, 0))
            lines = file.read().decode(errors="replace").splitlines()[-count:]
    except OSError as error:
        return f"(no {path.name}: {error.strerror})"
    return "\n".join(lines) or f"({path.name} is empty)"


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder."""

    name: str
    mode: int = 0o755


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file: its bytes, or the file of this host that it is a copy of."""

    name: str
    content: bytes | Path
    mode: int = 0o644


class SymbolicLink(msgspec.Struct, frozen=True, kw_only=True):
    """A symbolic link."""

    name: str
    target: str


class HardLink(msgspec.Struct, frozen=True, kw_only=True):
    """Another name of a file that comes before it."""

    name: str
    target: str


Member = Folder | File | SymbolicLink | HardLink


def write_tar(file: IO[bytes], members: Iterable[Member]) -> None:
    """Write a tar archive. TarInfo's own defaults are owner 0:0 and time 0, so nothing of this host gets in."""
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for member in members:
            _add_member(tar, member)


def tar_bytes(members: Iterable[Member]) -> bytes:
    """A tar archive that fits into memory."""
    buffer = io.BytesIO()
    write_tar(buffer, members)
    return buffer.getvalue()


def _add_member(tar: tarfile.TarFile, member: Member) -> None:
    info = tarfile.TarInfo(member.name)
    match member:
        case Folder():
            info.type, info.mode = tarfile.DIRTYPE, member.mode
        case SymbolicLink():
            info.type, info.linkname, info.mode = tarfile.SYMTYPE, member.target, 0o777
        case HardLink():
            info.type, info.linkname, info.mode = tarfile.LNKTYPE, member.target, 0o755
        case File(content=Path() as source):
            info.mode, info.size = member.mode, source.stat().st_size
            with source.open("rb") as content:
                tar.addfile(info, content)
            return
        case File(content=bytes() as content):
            info.mode, info.size = member.mode, len(content)
            tar.addfile(info, io.BytesIO(content))
            return
    tar.addfile(info)
