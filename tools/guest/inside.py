"""In the guest: the steps, with a snapshot before and after. The unit `guest` starts it, with the guest's own Python.

/share gets a log per step, steps.jsonl, before.txt and after.txt.
"""

import json
import os
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tools.guest.recipe import OWN, PLACES, STEPS, Ended, Step

SHARE = Path("/share")
CGROUPS = Path("/sys/fs/cgroup")
VOLATILE = (
    "fs/dentry-state",
    "fs/file-nr",
    "fs/inode-nr",
    "fs/inode-state",
    "fs/aio-nr",
    "fs/quota/syncs",
    "kernel/ns_last_pid",
    "kernel/pty/nr",
    "kernel/random/",
    "kernel/cap_last_cap",
    "net/netfilter/nf_conntrack_count",
    "net/ipv4/tcp_fastopen_key",
    "vm/stat_refresh",
)
"""Below /proc/sys: counters of the kernel."""
LIMITS = (
    "cgroup.subtree_control",
    "cgroup.type",
    "cpu.max",
    "cpu.weight",
    "cpuset.cpus",
    "io.weight",
    "memory.max",
    "pids.max",
)
TABLES = (
    "net/ipv6_route",
    "net/if_inet6",
    "net/fib_trie",
    "sysvipc/msg",
    "sysvipc/sem",
    "sysvipc/shm",
    "swaps",
)
"""Below /proc."""
OF_OTHERS = (
    "/dev/pts",
    "/proc",
    "/run/log",
    "/run/systemd",
    "/run/udev",
    "/sys",
    "/var/log",
    "/var/lib/systemd",
)
"""Folders that systemd or the kernel fill at any time; PLACES are the host's, and Python writes BYTECODE."""
BYTECODE = "__pycache__"
CLOCK_OF_ITS_OWN = "CRASHLOOP_GUEST"
"""Environment variable of the steps: tests may set the wall clock, which is the guest's alone."""


def main() -> None:
    (SHARE / "booted").touch()
    os.environ[CLOCK_OF_ITS_OWN] = "1"
    times, *wanted = (SHARE / "only").read_text().split()
    _write("before.txt")
    with (SHARE / "steps.jsonl").open("a") as report:
        for step in (*STEPS, OWN):
            if step.name in wanted:
                report.write(json.dumps(_ended(step, int(times))) + "\n")
                report.flush()
    _write("after.txt")


def _ended(step: Step, times: int) -> Ended:
    began = time.monotonic()
    with (SHARE / f"{step.name}.log").open("wb") as log:
        process = subprocess.Popen(step.command.split(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            code = process.wait(times * step.deadline_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = 124
    return Ended(step.name, code, round(time.monotonic() - began, 1))


def _write(name: str) -> None:
    os.sync()
    found = (*_processes(), *mounts(), *cgroups(), *links(), *sysctls(), *_files())
    (SHARE / name).write_text("\n".join(sorted(found)) + "\n")


def _processes() -> Iterator[str]:
    """Programs by name, with the namespaces that are not those of systemd. Kernel threads and udev's workers come and go."""
    first = _namespaces("1")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            other = _namespaces(folder.name) - first
        except OSError:
            continue
        if words and "udev-worker" not in words:
            yield f"process {words} {' '.join(sorted(each.split(':')[0] for each in other))}".strip()


def _namespaces(pid: str) -> set[str]:
    return {str(path.readlink()) for path in Path("/proc", pid, "ns").iterdir()}


def mounts() -> Iterator[str]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        yield f"mount {fields[4]} {fields[5]} {fields[fields.index('-') + 1]}"


def cgroups() -> Iterator[str]:
    yield f"own cgroup {Path('/proc/self/cgroup').read_text().strip()}"
    for folder, _, _ in os.walk(CGROUPS):
        yield f"cgroup {folder}"
        for name in LIMITS:
            if (file := Path(folder, name)).exists():
                yield f"cgroup {folder} {name} {' '.join(sorted(file.read_text().split()))}"


def links() -> Iterator[str]:
    yield from (f"link {path.name}" for path in Path("/sys/class/net").iterdir())
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        yield f"route {' '.join(line.split()[:3])}"
    # Their sizes, users and addresses are the kernel's own.
    yield from (f"module {line.split()[0]}" for line in _lines("/proc/modules"))
    yield from (f"apparmor {line}" for line in _lines("/sys/kernel/security/apparmor/profiles"))
    for name in TABLES:
        if (file := Path("/proc", name)).exists():
            yield from (f"{name} {' '.join(line.split())}" for line in file.read_text().splitlines())


def _lines(file: str) -> list[str]:
    return Path(file).read_text().splitlines() if Path(file).exists() else []


def sysctls() -> Iterator[str]:
    top = Path("/proc/sys")
    for folder, _, names in os.walk(top):
        for name in names:
            path = Path(folder, name)
            known = str(path.relative_to(top))
            if not known.startswith(VOLATILE):
                try:
                    yield f"sysctl {known} {' '.join(path.read_text().split())}"
                except (OSError, UnicodeDecodeError):
                    continue


def _files() -> Iterator[str]:
    """Names, modes, owners and targets, of regular files also the size."""
    apart = (*OF_OTHERS, *(f"/{place}" for place in PLACES))
    for folder, folders, names in os.walk("/"):
        folders[:] = [each for each in folders if each != BYTECODE and str(Path(folder, each)) not in apart]
        for path in (Path(folder, each) for each in (*folders, *names)):
            try:
                seen = path.lstat()
            except FileNotFoundError:
                continue
            size = seen.st_size if stat.S_ISREG(seen.st_mode) else ""
            target = path.readlink() if path.is_symlink() else ""
            yield f"file {path} {seen.st_mode:o} {seen.st_uid} {seen.st_gid} {size}{target}"


if __name__ == "__main__":
    main()
