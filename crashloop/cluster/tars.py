"""Tar archives of any size: the same members give the same bytes."""

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import msgspec


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
            _add(tar, member)


def tar_bytes(members: Iterable[Member]) -> bytes:
    """A tar archive that fits into memory."""
    buffer = io.BytesIO()
    write_tar(buffer, members)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, member: Member) -> None:
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
