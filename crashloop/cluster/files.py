"""Writing files with the right mode from their first byte on."""

import os
from pathlib import Path


def write_file(path: Path, content: bytes | str, *, mode: int = 0o644) -> None:
    """Create or replace a file; its `mode` holds from its first byte on."""
    raw = content.encode() if isinstance(content, str) else content
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(raw)
    partial.replace(path)


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
