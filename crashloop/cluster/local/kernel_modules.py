"""Whether the kernel has a file system, or a module of it that it loads by itself at the first mount."""

import platform
import shutil
from enum import Enum
from pathlib import Path

from crashloop.cluster import processes
from crashloop.cluster.processes import CommandFailed

_PROGRAMS = "/usr/sbin:/sbin"
"""Where modprobe is; users other than root rarely have these folders on their PATH."""
_LOAD_NOTHING = ("false", "true")
"""Commands that rules put in the place of a module that is not to be loaded."""
_ANSWERS_WITHIN_S = 10.0


class Support(Enum):
    """How far a kernel supports a file system."""

    READY = "ready"
    """It is in the kernel now, or will be at the first mount."""
    FORBIDDEN = "forbidden"
    """There may be a module of it, which modprobe.d(5) or the sysctl kernel.modules_disabled keeps from being loaded."""
    NONE = "none"


def file_system(
    name: str,
    *,
    known: Path = Path("/proc/filesystems"),
    closed: Path = Path("/proc/sys/kernel/modules_disabled"),
    modules: Path | None = None,
    modprobe: str | None = shutil.which("modprobe", path=_PROGRAMS),
) -> Support:
    """The kernel's support of a file system; loads nothing. `modules` is the folder of the kernel's modules.

    Asks modprobe for what the kernel asks it for at a mount, `fs-NAME` (get_fs_type in fs/filesystems.c of Linux). Where there is
    no modprobe, the index of the modules is read, without the rules of modprobe.d.
    """
    if name in {line.split()[-1] for line in _lines(known)}:
        return Support.READY
    if "1" in _lines(closed):
        return Support.FORBIDDEN
    if modprobe is not None:
        return _by_modprobe(modprobe, f"fs-{name}")
    folder = modules or Path("/lib/modules", platform.release())
    return Support.READY if name in _module_names(_lines(folder / "modules.dep")) else Support.NONE


def _by_modprobe(program: str, alias: str) -> Support:
    """A dry run prints `insmod FILE` for each module, `install COMMAND` where a rule has put a command in its place, and nothing
    for a module that is blacklisted."""
    try:
        printed = processes.run(
            (program, "--dry-run", "--verbose", alias),
            describe="modprobe",
            timeout_s=_ANSWERS_WITHIN_S * processes.slowness(),
        )
    except CommandFailed:
        return Support.NONE
    commands = [line.split() for line in printed.splitlines() if line]
    if commands and not any(Path(words[1]).name in _LOAD_NOTHING for words in commands if words[0] == "install"):
        return Support.READY
    return Support.FORBIDDEN


def _module_names(dependencies: list[str]) -> set[str]:
    """Names of modules, from the lines of modules.dep(5): `kernel/fs/overlayfs/overlay.ko.xz: ...`."""
    files = (Path(line.partition(":")[0]).name for line in dependencies)
    return {file.partition(".ko")[0].replace("-", "_") for file in files}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
