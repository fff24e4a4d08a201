"""What the provider `local` asks of a host, and how it reads what a host is."""

from itertools import count
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster import processes
from crashloop.cluster.host_settings import mount_points_below
from crashloop.cluster.local.cgroups import CgroupHost, detect
from crashloop.cluster.local.kernel_modules import Support, file_system
from crashloop.cluster.local.prerequisites import HostFacts, check_host, check_request, problems
from crashloop.cluster.prerequisites import Inotify, room_problem
from crashloop.cluster.provider import ClusterRequest, NodeRequest
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.spec.profile import KubeletProfile

GIB = 1 << 30

GOOD = HostFacts(
    system="linux",
    root=True,
    user_namespace=False,
    capabilities=(1 << 41) - 1,
    missing_tools=(),
    can_install=True,
    cgroups=CgroupHost(version=2, mounts=("/sys/fs/cgroup",)),
    read_only_cgroups=(),
    controllers=frozenset({"cpu", "cpuset", "io", "memory", "pids"}),
    namespaces="",
    links="",
    overlay=Support.READY,
    release="6.12.48-amd64",
    state_filesystem="ext4",
    state_writable=True,
    state_free=20 * GIB,
    state_files=100_000,
    memory_available=8 * GIB,
    cores=2,
    tasks_left=32_000,
    limits={},
    inotify=Inotify(allowed=128, used=20, can_be_raised=True),
    not_executable=(),
    kernel_messages=True,
)


def test_nothing_stands_in_the_way_on_a_usual_host() -> None:
    assert list(problems(GOOD, nodes=12)) == []


@pytest.mark.parametrize(
    ("change", "subject", "remedy"),
    [
        ({"system": "darwin"}, "system", "virtual machine"),
        ({"root": False}, "rights", "sudo"),
        (
            {"capabilities": 0},
            "rights",
            "CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_MKNOD: start the container with --privileged",
        ),
        ({"missing_tools": ("nsenter",), "can_install": False}, "tools", "install util-linux"),
        (
            {"overlay": Support.NONE},
            "overlay",
            "no module of it lies in /lib/modules/6.12.48-amd64: run `modprobe overlay`",
        ),
        ({"overlay": Support.FORBIDDEN}, "overlay", "remove it, or run `modprobe --ignore-install overlay`"),
        ({"state_filesystem": "overlay"}, "state folder", "CRASHLOOP_STATE_DIR"),
        ({"user_namespace": True}, "rights", "run it as the host's root"),
        (
            {"namespaces": "No space left on device"},
            "namespaces",
            "raise user.max_net_namespaces",
        ),
        ({"namespaces": "Operation not permitted"}, "namespaces", "a filter of system calls"),
        ({"namespaces": "mount: /run: permission denied."}, "namespaces", "unload its profile (`aa-status`)"),
        (
            {"namespaces": "/proc/sys/kernel/panic cannot be written"},
            "namespaces",
            "a kubelet changes it: start the container with --privileged",
        ),
        ({"namespaces": "Killed"}, "namespaces", "see whether `unshare --net --mount true` works"),
        ({"links": "(95, 'Operation not supported')"}, "network links", "load veth and bridge with modprobe"),
        (
            {"not_executable": ("/home",)},
            "cache folder",
            "from /home, which is mounted noexec: see CRASHLOOP_CACHE_DIR",
        ),
        ({"state_writable": False}, "state folder", "set CRASHLOOP_STATE_DIR to a folder on another one"),
        (
            {"read_only_cgroups": ("/sys/fs/cgroup/memory",)},
            "cgroups",
            "read-only: start the container with --privileged, or `mount -o remount,rw /sys/fs/cgroup/memory`",
        ),
        ({"cgroups": CgroupHost(version=2, mounts=())}, "cgroups", "`mount -t cgroup2 cgroup2 /sys/fs/cgroup`"),
        ({"controllers": frozenset({"cpu", "memory"})}, "cgroups", "v2 without controller pids"),
        (
            {
                "cgroups": CgroupHost(version=1, mounts=("/sys/fs/cgroup/cpu",)),
                "controllers": frozenset({"cpu", "devices", "freezer", "memory", "pids"}),
            },
            "cgroups",
            "v1 without controller cpuset",
        ),
        ({"kernel_messages": False}, "/dev/kmsg", "--device /dev/kmsg"),
        ({"memory_available": GIB}, "memory", "1024 MiB are available, 2880 MiB are needed"),
        ({"state_free": GIB // 2}, "disk", "512 MiB are free, 1024 MiB are needed"),
        (
            {"inotify": Inotify(allowed=128, used=40, can_be_raised=False)},
            "inotify",
            "128 instances are allowed, 140 are needed: `sysctl fs.inotify.max_user_instances=1024`",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_missing_is_named_with_its_remedy(change: dict[str, object], subject: str, remedy: str) -> None:
    (problem,) = problems(msgspec.structs.replace(GOOD, **change), nodes=12)
    assert problem.subject == subject
    assert remedy in problem.text


def test_a_kubelet_does_without_cpuset_and_io_on_v2() -> None:
    assert (
        list(problems(msgspec.structs.replace(GOOD, controllers=frozenset({"cpu", "memory", "pids"})), nodes=1)) == []
    )


def test_everything_that_is_missing_is_said_at_once() -> None:
    facts = msgspec.structs.replace(GOOD, root=False, overlay=Support.NONE, kernel_messages=False)
    with pytest.raises(PrerequisiteError) as caught:
        check_host(facts, nodes=2)
    assert str(caught.value).splitlines() == [
        "provider local: this host cannot run 2 nodes.",
        "- rights: this user is not root: run the same command with sudo.",
        "- overlay: the kernel has no overlay file system, and no module of it lies in /lib/modules/6.12.48-amd64: "
        "run `modprobe overlay`, on a container's host if this is one.",
        "- /dev/kmsg: cannot be read, and no kubelet starts without it: "
        "start the container with --device /dev/kmsg --cap-add SYSLOG.",
        "Other providers: --provider kind needs Docker, --provider existing needs a kubeconfig.",
    ]


def test_missing_tools_are_no_problem_where_they_can_be_installed() -> None:
    assert list(problems(msgspec.structs.replace(GOOD, missing_tools=("nsenter",)), nodes=1)) == []


def request(name: str = "demo", *nodes: str) -> ClusterRequest:
    stock = KubeletProfile(name="stock")
    return ClusterRequest(
        name=name, kubernetes_version="1.37.1", nodes=tuple(NodeRequest(name=each, profile=stock) for each in nodes)
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (request("My_Cluster"), "cluster 'My_Cluster': a name has lower-case letters"),
        (request("demo", "a.b"), r"node 'a\.b': a name has"),
        (request("demo", "n" * 53), "at most 52 characters, which fit into a certificate"),
        (request("demo", "a", "b", "a"), "node 'a' is requested twice"),
        (request("demo", *(f"n{number}" for number in range(201))), "201 nodes are requested, at most 200 fit"),
        (request("x" * 60), r"socket would have 1\d\d bytes .* at most 107 fit"),
    ],
    ids=["cluster-name", "node-name", "longest-name", "twice", "too-many", "too-long"],
)
def test_a_request_that_makes_no_cluster_is_refused(asked: ClusterRequest, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_request(asked, state_folder=Path("/var/lib/crashloop/clusters") / asked.name)


def test_usual_requests_are_accepted() -> None:
    asked = request("20261121t165117z-conformance", "max-2s", "stock")
    check_request(asked, state_folder=Path("/var/lib/crashloop/clusters") / asked.name)


def test_a_host_with_v2_alone_is_distinct_from_a_hybrid_one() -> None:
    v2 = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n"
    hybrid = (
        "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
        "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
        "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
        "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"
    )
    assert detect(v2) == CgroupHost(version=2, mounts=("/sys/fs/cgroup",))
    assert detect(hybrid) == CgroupHost(
        version=1, mounts=("/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpuset", "/sys/fs/cgroup/unified")
    )
    assert detect("") == CgroupHost(version=2, mounts=())


def test_cgroups_are_where_a_kubelet_looks_whatever_else_is_mounted() -> None:
    v2 = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
    of_a_vpn = "net_cls /opt/vpn/net_cls cgroup rw,net_cls 0 0\n"
    of_a_network_plugin = "none /run/network/cgroupv2 cgroup2 rw 0 0\n"
    for text in (v2 + of_a_vpn, of_a_vpn + v2, of_a_network_plugin + v2, v2 + of_a_network_plugin):
        assert detect(text) == CgroupHost(version=2, mounts=("/sys/fs/cgroup",))
    assert detect(of_a_network_plugin).mounts == ()
    assert detect(v2 + "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n").mounts == ()


@pytest.mark.parametrize(("start_s", "expected"), [(0.0006, 1.0), (0.002, 1.0), (0.015, 7.5), (3.0, 20.0)])
def test_waits_are_as_many_times_longer_as_the_host_starts_processes_slower(
    monkeypatch: pytest.MonkeyPatch, start_s: float, expected: float
) -> None:
    monkeypatch.setattr(processes, "process_start", lambda: processes.ProcessStart(start_s, start_s))
    assert processes.slowness() == expected


def test_a_kernel_that_counts_cpu_time_by_ticks_says_what_a_start_takes_as_a_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readings = count(1)
    monkeypatch.setattr(processes, "_cpu_s", lambda: next(readings) // 40 * 0.01)
    start = processes.process_start.__wrapped__()
    assert 0.0002 < start.cpu_s <= max(start.wall_s, 0.001)


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """What the kernel knows before a module is loaded, in the form of /proc/filesystems."""
    file = tmp_path / "filesystems"
    file.write_text("nodev\ttmpfs\n\text4\n")
    return file


@pytest.mark.parametrize(
    ("answer", "support"),
    [
        ("echo insmod /lib/modules/6.12/kernel/fs/overlayfs/overlay.ko.xz", Support.READY),
        ("echo install /sbin/modprobe --ignore-install overlay", Support.READY),
        ("echo install /bin/false", Support.FORBIDDEN),
        ("exit 0", Support.FORBIDDEN),
        ("exit 1", Support.NONE),
    ],
    ids=["loaded", "loaded-by-a-rule", "disabled", "blacklisted", "missing"],
)
def test_modprobe_says_whether_the_first_mount_loads_a_file_system(
    known: Path, tmp_path: Path, answer: str, support: Support
) -> None:
    modprobe = tmp_path / "modprobe"
    modprobe.write_text(f'#!/bin/sh\n[ "$*" = "--dry-run --verbose fs-overlay" ] || exit 9\n{answer}\n')
    modprobe.chmod(0o755)
    assert file_system("overlay", known=known, modprobe=str(modprobe)) is support


def test_without_modprobe_the_index_of_the_modules_is_read(known: Path, tmp_path: Path) -> None:
    index = tmp_path / "modules.dep"
    index.write_text("kernel/fs/ext4/ext4.ko.xz: kernel/lib/crc16.ko.xz\nkernel/fs/overlayfs/overlay.ko.xz:\n")
    assert file_system("overlay", known=known, modules=tmp_path, modprobe=None) is Support.READY
    index.write_text("kernel/fs/ext4/ext4.ko.xz: kernel/fs/overlayfs/overlay.ko.xz\n")
    assert file_system("overlay", known=known, modules=tmp_path, modprobe=None) is Support.NONE
    assert file_system("overlay", known=known, modules=tmp_path / "none", modprobe=None) is Support.NONE


def test_a_module_cannot_be_loaded_where_the_kernel_takes_none_any_more(known: Path, tmp_path: Path) -> None:
    closed = tmp_path / "modules_disabled"
    closed.write_text("1\n")
    assert file_system("overlay", known=known, closed=closed, modprobe="/bin/true") is Support.FORBIDDEN
    assert file_system("ext4", known=known, closed=closed, modprobe="/bin/true") is Support.READY


def test_a_file_system_that_the_kernel_has_needs_no_module(known: Path, tmp_path: Path) -> None:
    assert file_system("ext4", known=known, modules=tmp_path / "none", modprobe=None) is Support.READY


MOUNTINFO = r"""
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:20 / /var/lib rw - btrfs /dev/vdb rw
24 23 0:21 / /var/lib/crashloop/clusters/a rw shared:3 - tmpfs crashloop rw
25 23 0:22 / /var/lib/crashloop/clusters/a/b\040c rw - overlay overlay rw
26 23 0:23 / /var/lib/crashloop/clusters/ab rw - tmpfs crashloop rw
""".strip()


def test_only_mounts_at_or_below_a_folder_are_its_own() -> None:
    folder = Path("/var/lib/crashloop/clusters/a")
    assert mount_points_below(folder, MOUNTINFO) == [str(folder), f"{folder}/b c"]


def test_a_state_folder_without_room_is_named_with_its_remedy_and_one_that_is_gone_is_none(tmp_path: Path) -> None:
    assert room_problem(tmp_path) is None
    said = room_problem(tmp_path, least=1 << 62) or ""
    assert f"state folder {tmp_path}: no space left" in said
    assert "CRASHLOOP_STATE_DIR" in said
    assert room_problem(tmp_path / "gone", least=1 << 62) is None
