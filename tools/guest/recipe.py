"""What the guest consists of and runs. Data, and pure functions of it, of the standard library alone: the guest reads it, too."""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
FRAGMENT = FOLDER / "kernel.config"
"""Options of the kernel beside its x86_64_defconfig."""
SPINS = re.compile(r"(config (?:MUTEX|RWSEM)_SPIN_ON_OWNER\n\s+def_bool) y")
"""In the sources' kernel/Kconfig.locks. One thread of a process at a time is in its user code; on the other CPU a second one
waits for that by a mutex, and by spinning took two fifths of the guest's time."""
ROOT_FILES = FOLDER / "root"
"""Files of the guest, at their paths in it."""
SUITE = "trixie"
SOURCE = "linux-source-7.2"
"""Package of SUITE-backports. User-mode Linux has seccomp mode from 6.16 on and several CPUs from 6.19 on."""
TOOLS = ("bc", "bison", "debian-archive-keyring", "e2fsprogs", "flex", "gcc", "libelf-dev", "mmdebstrap", "xz-utils")
"""Packages of the host that make kernel and root image."""
PACKAGES = (
    "ca-certificates",
    "dbus",
    "git",
    "iproute2",
    "kmod",
    "mount",
    "procps",
    "python3-venv",
    "systemd-sysv",
    "udev",
    "util-linux",
)
EMULATED = ("apparmor", "linux-image-amd64")
"""Further packages of the guest that QEMU emulates: Debian's own kernel, whose overlayfs is a module, and AppArmor's profiles."""
EMULATOR = "qemu-system-x86"
"""Package of the host that runs it."""
BOOT_FILES = {"kernel": "vmlinuz", "initrd": "initrd.img"}
"""Name below / of that guest's image -> its name below /boot, less the version. QEMU starts them from the host."""
IMAGE_SIZE = "8G"
MEMORY = "4G"
CPUS = 2
PLACES = ("checkout", "cache", "share")
"""Folders of the host that the guest mounts at the same names below /."""


class Step(NamedTuple):
    """A command of the guest."""

    name: str
    command: str
    """Words, separated by blanks."""
    deadline_s: float
    accepted: frozenset[int] = frozenset({0})
    """Exit codes that are no fault; 3 (INCONCLUSIVE) is none where a busy host decides."""
    on_demand: bool = False
    """Whether it runs only where it is named."""


class Ended(NamedTuple):
    """How a step ended."""

    name: str
    exit_code: int
    """124 after its deadline, as timeout(1) has it."""
    seconds: float


HOST = ("STORY-6", "RULES-30", "FAULT-7")
"""Requirements that touch the host, on the nodes of `up`: out of memory, sandboxes lost, a runtime that restarts."""
MORE = ("RULES-32", "X-1", "OVH-5", "BACKOFF-22", "X-13", "RESET-11", "CAP-3")
"""Further ones, with further nodes: sandboxes kept, static pods, sandboxes lost in a delay, a configured maximum."""
OPEN = frozenset({0, 3})
THERE = "--cluster crashloop"
"""The cluster of the step `up`: to make one takes a guest a minute."""


STEPS = (
    Step("doctor", "crashloop doctor", 120),
    Step("up", "crashloop up --profile stock --profile max-2s", 300),
    Step("host", f"crashloop run -q {THERE} --scope full --requirement {' --requirement '.join(HOST)}", 900, OPEN),
    Step(
        "more", f"crashloop run -q --scope full --requirement {' --requirement '.join(MORE)}", 900, OPEN, on_demand=True
    ),
    Step("alone", "crashloop run -q --requirement RULES-32", 900, OPEN, on_demand=True),
    Step("loads", f"crashloop stress {THERE} tools/guest/loads.yaml", 600, OPEN),
    Step("provider", "pytest suites/provider -q", 2400, on_demand=True),
    Step("clock", "pytest suites/hosts -q -n 0 -k clock", 900, on_demand=True),
    Step("down", "crashloop down --all", 120),
)
OWN = Step("script", "sh -e /share/script", 3600)
"""A script of the user's in the place of the others."""
BOOT_S = 180.0
EMULATED_STEPS = ("doctor", "alone")
"""What the emulated guest runs unless steps are named."""
EMULATED_TIMES = 6
"""Each deadline of an emulated guest, as a multiple of the other's: every instruction is translated."""


def kernel_name() -> str:
    """Name of the cached kernel; other options or sources give another one."""
    return f"linux-{_digest((SOURCE, SPINS.pattern, FRAGMENT.read_text()))}"


def without_spinning(locks: str) -> str:
    """kernel/Kconfig.locks with mutexes and semaphores that let go of a CPU at once. Raises ValueError if it has none such."""
    text, found = SPINS.subn(r"\1 n", locks)
    if found != 2:
        raise ValueError(f"kernel/Kconfig.locks: {found} options match {SPINS.pattern!r}, expected 2")
    return text


def packages(*, emulated: bool) -> tuple[str, ...]:
    """Packages of the guest."""
    return (*PACKAGES, *EMULATED) if emulated else PACKAGES


def image_name(checkout: Path, *, emulated: bool = False) -> str:
    """Name of the cached root image; other packages, files, Python requirements or programs give another one."""
    files = sorted(path for path in ROOT_FILES.rglob("*") if path.is_file())
    inputs = (*files, FOLDER / "build.py", checkout / "requirements.lock")
    project = tomllib.loads((checkout / "pyproject.toml").read_text())
    programs = [project["project"].get(each) for each in ("scripts", "entry-points")]
    installed = json.dumps([programs, project["build-system"]], sort_keys=True)
    digest = _digest(
        (SUITE, IMAGE_SIZE, *packages(emulated=emulated), installed, *(path.read_text() for path in inputs))
    )
    return f"{'emulated' if emulated else 'root'}-{digest}.img"


def apt_sources(mirror: str, keyring: str) -> str:
    """sources.list of an apt that sees nothing but Debian's stable release and its backports."""
    return "".join(f"deb [signed-by={keyring}] {mirror} {suite} main\n" for suite in (SUITE, f"{SUITE}-backports"))


def mirror_of(targets: str) -> str | None:
    """The first Debian archive among lines `ORIGIN URI` of apt-get indextargets; None on a host of another distribution."""
    rows = (line.split() for line in targets.splitlines())
    return next((row[1] for row in rows if row[0] == "Debian" and "security" not in row[1]), None)


def kernel_command(kernel: Path, image: Path, overlay: Path, folders: Mapping[str, Path], *, mhz: str) -> list[str]:
    """Boots the guest. `overlay` takes what it writes to its disk; `folders` has a folder of the host for each of PLACES."""
    return [
        str(kernel),
        f"mem={MEMORY}",
        f"ncpus={CPUS}",
        "seccomp=on",
        "systemd.mask=getty@tty1.service",
        f"ubd0={overlay},{image}",
        "root=/dev/ubda",
        # The disk goes with the guest: nothing needs to wait for the host's.
        "rootflags=nobarrier",
        "rw",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        f"uml_dir={overlay.parent}",
        "umid=guest",
        f"guest.mhz={mhz}",
        *(f"guest.{place}={folders[place]}" for place in PLACES),
    ]


def emulated_command(boot: Path, image: Path, folders: Mapping[str, Path]) -> list[str]:
    """Boots the guest in QEMU without KVM. `boot` is a folder with BOOT_FILES; what the guest writes to its disk is discarded."""
    words = (
        "root=/dev/vda",
        "rw",
        "rootflags=nobarrier",
        "console=ttyS0",
        *(f"guest.{place}={place}" for place in PLACES),
    )
    shared = (f"local,path={folders[place]},mount_tag={place},security_model=none,multidevs=remap" for place in PLACES)
    return [
        *("qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-smp", str(CPUS), "-m", MEMORY),
        *("-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"),
        *("-kernel", str(boot / "kernel"), "-initrd", str(boot / "initrd"), "-append", " ".join(words)),
        *("-drive", f"file={image},format=raw,if=virtio,snapshot=on"),
        *(word for each in shared for word in ("-virtfs", each)),
    ]


def loaded_meanwhile(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """`before` with the modules of the kernel that came, which is no fault of a step, and their names."""
    came = [line for line in after if line.startswith("module ") and line not in before]
    return [*before, *came], [line.split()[1] for line in came]


def verdict(steps: Iterable[Step], ended: Iterable[Ended], before: Iterable[str], after: Iterable[str]) -> list[str]:
    """What is wrong, a line each: steps that failed or never ran, and what differs after them."""
    done = {each.name: each for each in ended}
    wrong = []
    for step in steps:
        end = done.get(step.name)
        if end is None:
            wrong.append(f"{step.name}: never ran")
        elif end.exit_code == 124:
            wrong.append(f"{step.name}: did not end within {step.deadline_s:g} s")
        elif end.exit_code not in step.accepted:
            wrong.append(f"{step.name}: exit code {end.exit_code}")
    first, last = set(before), set(after)
    wrong += [f"gone: {line}" for line in sorted(first - last)]
    wrong += [f"left: {line}" for line in sorted(last - first)]
    return wrong


def _digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
