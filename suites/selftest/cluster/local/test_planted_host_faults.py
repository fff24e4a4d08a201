"""Faults of a host, planted for real in namespaces of their own: what the doctor says, and what it accepts.

Root plants them; what needs another kernel or user is in test_host.py.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMINE = """
import json, os
from pathlib import Path
from msgspec.structs import replace
from crashloop.doctor import examine
from crashloop.settings import resolve_settings
usual = resolve_settings()
state, cache = (Path(os.environ.get(name, name)).absolute() for name in ("state", "cache"))
rows = examine(replace(usual, paths=replace(usual.paths, state_dir=state, cache_dir=cache))).rows
print(json.dumps([[row.name, row.advice] for row in rows if row.state == "fail"]))
"""
FEW = Path("/sys/fs/cgroup/pids/crashloop-planted")
"""A cgroup of v1; on v2 who makes clusters leaves the cgroup that it is in."""
MAY_NOT_RAISE = "exec setpriv --bounding-set=-sys_resource"
CGROUPS = "awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts"
NO_OVERLAY = (
    "printf 'nodev\\ttmpfs\\n' >tmp/known; mount --bind tmp/known /proc/filesystems; "
    "mkdir -p /lib/modules; mount -t tmpfs none /lib/modules"
)
NO_MODPROBE = "for each in $(readlink -e /usr/sbin/modprobe); do mount --bind /dev/null $each; done"
HARDENED = (
    "kernel/kptr_restrict=2 kernel/dmesg_restrict=1 kernel/unprivileged_bpf_disabled=1 kernel/yama/ptrace_scope=2 "
    "kernel/perf_event_paranoid=3 kernel/sysrq=0 fs/protected_regular=2 fs/protected_fifos=2 fs/suid_dumpable=0 "
    "vm/mmap_min_addr=65536 vm/swappiness=0 user/max_user_namespaces=0"
)
FAULTS = {
    "cgroups read-only": (
        f"for each in $({CGROUPS}); do mount -o remount,bind,ro $each; done",
        "cgroups",
        "mounted read-only: start the container with --privileged",
    ),
    "one hierarchy read-only": (
        "mount -o remount,bind,ro /sys/fs/cgroup/memory",
        "cgroups",
        "`mount -o remount,rw /sys/fs/cgroup/memory`",
    ),
    "controllers that v1 holds": (
        "umount -lR /sys/fs/cgroup/; mount -t cgroup2 none /sys/fs/cgroup/",
        "cgroups",
        "v2 without controller cpu, memory, pids: enable it on the kernel's command line, or in the cgroup.subtree_control "
        "above that of the container; on v2 unmount a v1 hierarchy that holds it",
    ),
    "no cgroups": ("umount -lR /sys/fs/cgroup", "cgroups", "mount -t cgroup2 cgroup2 /sys/fs/cgroup"),
    "cgroups elsewhere": (
        "umount -lR /sys/fs/cgroup; mount -t cgroup2 none tmp",
        "cgroups",
        "none are where a kubelet looks",
    ),
    "no devices hierarchy": ("umount -l /sys/fs/cgroup/devices", "cgroups", "v1 without controller devices"),
    "no freezer hierarchy": ("umount -l /sys/fs/cgroup/freezer", "cgroups", "v1 without controller freezer"),
    "sysctls read-only": (
        "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys",
        "namespaces",
        "/proc/sys/vm/overcommit_memory cannot be written'; a kubelet changes it: start the container with --privileged",
    ),
    "sysctls that are hidden": (
        "mount -t tmpfs none /proc/sys/kernel",
        "namespaces",
        "/proc/sys/kernel/panic cannot be written'; a kubelet changes it: start the container with --privileged",
    ),
    "a read-only /var/lib": (
        "mount -t tmpfs -o ro none /var/lib",
        "namespaces",
        "/var/lib/kubelet cannot be made'; every node mounts a folder of its own there: make it, or its file system writable",
    ),
    "no right to enter a namespace": (
        "exec setpriv --bounding-set=-sys_chroot",
        "namespaces",
        "a filter of system calls forbids it: start the container with --privileged",
    ),
    "no right to make a device": (
        "exec setpriv --bounding-set=-mknod",
        "rights",
        "root lacks CAP_MKNOD: start the container with --privileged",
    ),
    "a container without rights": (
        "exec setpriv --bounding-set=-sys_admin,-net_admin",
        "rights",
        "CAP_NET_ADMIN, CAP_SYS_ADMIN",
    ),
    "root of a user namespace": ("exec unshare --user --map-root-user", "rights", "run it as the host's root"),
    "no kernel messages": (
        "mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3",
        "/dev/kmsg",
        "start the container with --device /dev/kmsg",
    ),
    "a state folder on overlayfs": (
        "mount -t tmpfs none tmp; cd tmp; mkdir a b c; mount -t overlay -o lowerdir=a,upperdir=b,workdir=c none ../state; cd ..",
        "state folder",
        "set CRASHLOOP_STATE_DIR to a folder on a disk or a volume",
    ),
    "a read-only state folder": (
        "mount -t tmpfs -o ro none state",
        "state folder",
        "set CRASHLOOP_STATE_DIR to a folder on another",
    ),
    "a small state folder": (
        "mount -t tmpfs -o size=64m none state",
        "disk",
        "1024 MiB are needed: see CRASHLOOP_STATE_DIR",
    ),
    "a small /var": (
        "mount -t tmpfs -o size=512m none tmp; export state=$PWD/tmp/lib/crashloop",
        "disk",
        "1024 MiB are needed: see CRASHLOOP_STATE_DIR",
    ),
    "a state folder without room for files": (
        "mount -t tmpfs -o size=2g,nr_inodes=300 none state",
        "disk",
        "more files fit, 500 are needed: see CRASHLOOP_STATE_DIR",
    ),
    "files that may not grow": (f"ulimit -f 20000; {MAY_NOT_RAISE}", "limits", "`ulimit -f unlimited`"),
    "few open files": (f"ulimit -n 64; {MAY_NOT_RAISE}", "limits", "`ulimit -n 1024`"),
    "a small address space": (f"ulimit -v 4000000; {MAY_NOT_RAISE}", "limits", "`ulimit -v unlimited`"),
    "few processes of a user": (
        f"exec prlimit --nproc=20 {MAY_NOT_RAISE.removeprefix('exec ')}",
        "limits",
        "`ulimit -u unlimited`",
    ),
    "few processes": (
        f"mkdir -p {FEW}; echo 40 >{FEW}/pids.max; echo $$ >{FEW}/cgroup.procs",
        "processes",
        "--pids-limit -1",
    ),
    "programs that may not run": ("mount -t tmpfs -o noexec none cache", "cache folder", "see CRASHLOOP_CACHE_DIR"),
    "no memory": (
        "sed 's/^MemAvailable:.*/MemAvailable: 204800 kB/' /proc/meminfo >tmp/meminfo; mount --bind tmp/meminfo /proc/meminfo",
        "memory",
        "200 MiB are available, 790 MiB are needed: end other programs",
    ),
    "few inotify instances": (
        "echo 1 >tmp/few; mount --bind tmp/few /proc/sys/fs/inotify/max_user_instances; "
        "mount -o remount,bind,ro /proc/sys/fs/inotify/max_user_instances",
        "inotify",
        "`sysctl fs.inotify.max_user_instances=1024`",
    ),
    "no overlayfs": (NO_OVERLAY, "overlay", "run `modprobe overlay`"),
    "no overlayfs, no modprobe": (f"{NO_OVERLAY}; {NO_MODPROBE}", "overlay", "run `modprobe overlay`"),
}
HARMLESS = {
    "noexec state folder": "mount -t tmpfs -o noexec,nosuid,nodev,size=2g none state",
    "no pressure": "mount -t tmpfs none /proc/pressure 2>/dev/null || :",
    "another network": "exec unshare --net",
    "limits that suffice": "ulimit -n 1024; ulimit -f 400000; ulimit -v 16000000",
    "limits that may be raised": "ulimit -Sn 64; ulimit -Sf 20000; ulimit -Sv 4000000; ulimit -St 60",
    "no home": "exec env -i",
    "no modprobe on PATH": "export PATH=/usr/bin:/bin",
    "no modprobe": NO_MODPROBE,
    "cgroups of systemd's mount options": f"for each in $({CGROUPS}); do mount -o remount,bind,nosuid,nodev,noexec $each; done",
    "swap on": (
        "printf 'Filename Type Size Used Priority\\n/dev/sda2 partition 8388604 0 -2\\n' >tmp/swaps; "
        "mount --bind tmp/swaps /proc/swaps"
    ),
    "nftables alone": (
        "printf '#!/bin/sh\\necho Protocol not supported >&2; exit 3\\n' >tmp/iptables; "
        "chmod +x tmp/iptables; export PATH=$PWD/tmp:$PATH"
    ),
    "IPv6 off": "exec unshare --net sh -ec 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; exec \"$@\"' sh",
    "noexec /tmp": (
        f"mount --rbind /tmp /tmp; mount --bind {sys.prefix} {sys.prefix}; "
        "mount -o remount,bind,noexec,nosuid,nodev /tmp; mkdir tmp/own; "
        "mount -t tmpfs -o size=2g none tmp/own; "
        "export cache=tmp/own"
    ),
    "hardened sysctls": (
        f"for each in {HARDENED}; do file=/proc/sys/${{each%=*}}; [ ! -e $file ] || "
        "{ name=tmp/$(echo ${each%=*} | tr / .); echo ${each#*=} >$name; mount --bind $name $file; }; done"
    ),
    "systemd-resolved": (
        "printf 'nameserver 127.0.0.53\\noptions edns0 trust-ad\\nsearch .\\n' >tmp/stub; mount --bind tmp/stub /etc/resolv.conf"
    ),
    "no library to preload": "export LD_PRELOAD=/none/libx.so",
    "boot times of a namespace": "exec unshare --time --boottime 400000 --monotonic 300000 --fork",
    "one CPU": "exec taskset --cpu-list 0",
}


def examined(folder: Path, plant: str) -> list[list[str]]:
    """Problems of the host in namespaces where a fault was planted; a fault may end with `exec` and wrap what follows."""
    for name in ("state", "cache", "tmp"):
        (folder / name).mkdir()
    (folder / "examine.py").write_text(EXAMINE)
    program = f"{sys.executable} examine.py"
    script = f"{plant} {program}" if "; exec " in f"; {plant}" else f"{plant}; exec {program}"
    words = ("unshare", "--mount", "--propagation=private", "sh", "-ec", script)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if FEW.exists():
        FEW.rmdir()
    assert ended.returncode == 0, ended.stderr
    found: list[list[str]] = json.loads(ended.stdout)
    return found


@pytest.fixture(scope="module", autouse=True)
def _fit_host(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips where nothing can be planted, or where something is amiss already."""
    if (
        sys.platform != "linux"
        or os.geteuid() != 0
        or subprocess.run(["unshare", "--mount", "true"], check=False).returncode
    ):
        pytest.skip("faults are planted in mount namespaces, as root")
    if amiss := examined(tmp_path_factory.mktemp("host"), ":"):
        pytest.skip(f"this host has faults of its own: {amiss}")


@pytest.mark.parametrize(("plant", "subject", "remedy"), FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_named_with_its_remedy(tmp_path: Path, plant: str, subject: str, remedy: str) -> None:
    if "/sys/fs/cgroup/" in plant and not FEW.parent.exists():
        pytest.skip("no hierarchies of cgroup v1")
    found = examined(tmp_path, plant)
    assert [each[0] for each in found] == [subject]
    assert remedy in found[0][1]


@pytest.mark.parametrize("plant", HARMLESS.values(), ids=HARMLESS)
def test_a_host_that_works_is_not_refused(tmp_path: Path, plant: str) -> None:
    assert examined(tmp_path, plant) == []
