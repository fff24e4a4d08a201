"""Hosts that differ from the usual one, made from this one by namespaces, limits and mounts: a run on each ends as on any.

What goes wrong while a cluster comes up ends it in one sentence, and leaves nothing. Root of a host that can run nodes makes
them, here or in the guest (`make guest`); each takes half a minute. No other cluster may come or go meanwhile.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from crashloop.settings import resolve_settings
from crashloop.verdict import ExitCode
from crashloop.waiting import wait_until
from tools.guest.inside import CLOCK_OF_ITS_OWN, cgroups, links, mounts, sysctls

ROOT = Path(__file__).parents[2]
CRASHLOOP = Path(sys.executable).with_name("crashloop")
STATE = "/var/lib/crashloop-host"
KILLS_FOR_MEMORY = "RULES-32"
"""The shortest of the requirements that touch the host."""
ENDS_WITHIN_S = 400.0
CACHE = resolve_settings().paths.cache_dir.resolve()
OTHER_NETWORK = "exec unshare --net sh -ec 'ip link set lo up; {}; exec \"$@\"' sh"
HOSTS = {
    "noexec /tmp": (
        f"mkdir kept; mount --rbind {ROOT} kept; mount -t tmpfs -o noexec,nosuid,nodev none /tmp; mkdir -p {ROOT}; "
        f"mount --rbind kept {ROOT}"
    ),
    "a small and noexec state folder": f"mount -t tmpfs -o noexec,nosuid,nodev,size=1100m none {STATE}",
    "IPv6 off": OTHER_NETWORK.format(
        "echo 1 | tee /proc/sys/net/ipv6/conf/all/disable_ipv6 /proc/sys/net/ipv6/conf/default/disable_ipv6"
    ),
    "IPv6 only": OTHER_NETWORK.format(
        "ip -4 address flush dev lo; ip link add one type veth peer two; ip link set one up; ip -6 address add fd00::1/64 dev one"
    ),
    "hardened network": OTHER_NETWORK.format(
        "for each in rp_filter=1 log_martians=1 accept_redirects=0 send_redirects=0 arp_ignore=2 forwarding=0; do "
        "for of in all default; do echo ${each#*=} >/proc/sys/net/ipv4/conf/$of/${each%=*}; done; done"
    ),
    "one CPU": "exec taskset --cpu-list 0",
    "umask 077": "umask 077",
    "few open files": "ulimit -n 1024",
    "low limits and priority": "exec prlimit --nofile=256 --stack=262144 --memlock=0 --sigpending=10 --core=0 nice -n 5",
    "settings of other programs": (
        "export HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 ALL_PROXY=socks5://127.0.0.1:9 KUBECONFIG=/none "
        "KUBERNETES_SERVICE_HOST=192.0.2.1 KUBERNETES_SERVICE_PORT=443 ETCD_NAME=mine ETCD_CONFIG_FILE=/none ETCD_AUTO_TLS=true "
        "CONTAINERD_NAMESPACE=moby CONTAINERD_ADDRESS=/run/none CONTAINERD_SNAPSHOTTER=native NOTIFY_SOCKET=/none LISTEN_FDS=1"
    ),
    "odd folders, time zone and encoding": (
        f"export TMPDIR=/none TZ=:/none LC_ALL=C CRASHLOOP_CACHE_DIR={CACHE}; "
        'mkdir home "$(printf \'caf\\303\\251 "x\')"; mount -t tmpfs -o ro none home; export HOME=$PWD/home; cd caf*'
    ),
    "read-only /tmp, few files in /etc, no users": (
        f"mkdir kept etc; mount --rbind {ROOT} kept; mount -t tmpfs none /tmp; mkdir -p {ROOT}; mount --rbind kept {ROOT}; "
        "mount -o remount,ro /tmp; cp -a /etc/. etc; cd etc; rm -f passwd group hosts hostname machine-id resolv.conf; "
        "mount --rbind . /etc; cd .."
    ),
    "swap on": (
        "printf 'Filename Type Size Used Priority\\n/dev/sda2 partition 8388604 0 -2\\n' >swaps; mount --bind swaps /proc/swaps"
    ),
    "a company's network": OTHER_NETWORK.format(
        "ip link add one type veth peer two; ip link set two up; ip link set one up; ip address add 10.0.0.3/10 dev one; "
        "ip route add default via 10.0.0.1 table 77; ip route add unreachable 10.64.0.0/10; "
        "ip rule add prio 40000 from all lookup 77"
    ),
    "a process namespace of its own": "exec unshare --pid --fork --mount-proc",
    "boot times of a namespace, no loopback": "exec unshare --net --time --boottime 400000 --monotonic 300000 --fork",
    "a time zone beyond a day, other programs first on a relative PATH, junk in KUBECONFIG": (
        "mkdir bin; for each in containerd kubelet runc ctr etcd containerd-shim-runc-v2 modprobe docker git; do "
        "printf '#!/bin/sh\nexit 9\n' >bin/$each; chmod +x bin/$each; done; head -c 3000 /dev/urandom >junk; "
        "export PATH=.:bin:$PATH TZ=XXX-24:59:59 KUBECONFIG=$PWD/junk LD_PRELOAD=/none/libx.so"
    ),
    "no HOME, relative TMPDIR, settings of Go and Python, another encoding": (
        f"unset HOME; export CRASHLOOP_CACHE_DIR={CACHE} TMPDIR=. GOFLAGS=-mod=vendor GOPROXY=off PYTHONPATH=/none "
        "PYTHONSAFEPATH=1 PYTHONDONTWRITEBYTECODE=1 LC_ALL=de_DE.ISO-8859-1 PYTHONIOENCODING=latin-1 PYTHONUTF8=0"
    ),
    "a cache elsewhere, few watches, no localhost, a read-only /dev/shm and /dev/null": (
        f"mkdir x; ln -s {CACHE} x/crashloop; export XDG_CACHE_HOME=$PWD/x XDG_STATE_HOME=/none XDG_RUNTIME_DIR=/none; "
        "echo 64 >few; mount --bind few /proc/sys/fs/inotify/max_user_watches; "
        "echo '127.0.1.1 me' >names; mount --bind names /etc/hosts; mount -t tmpfs -o ro none /dev/shm; "
        "mount --bind /dev/null /dev/null; mount -o remount,bind,ro /dev/null"
    ),
    "no stream is open": "{ exec 0<&- 1>&- 2>&-; }",
    "a checkout of another user on overlayfs": (
        "mkdir m t; mount -t tmpfs none t; mkdir t/u t/w; "
        f"mount -t overlay -o lowerdir={ROOT},upperdir=t/u,workdir=t/w none m; chown 1234 m m/crashloop; mount --bind m {ROOT}"
    ),
}

REFUSED = {
    "a routing rule before the main table": (
        OTHER_NETWORK.format(
            "ip link add one type veth peer two; ip link set two up; ip link set one up; ip address add 192.168.0.3/24 dev one; "
            "ip route add default via 192.168.0.1 table 77; ip rule add prio 5 from all lookup 77"
        ),
        ExitCode.ERROR,
        "lookup main priority 1",
    ),
    "a folder whose name is not in UTF-8": (
        "mkdir \"$(printf 'caf\\351')\"; cd caf*",
        ExitCode.USAGE,
        "its path is not in UTF-8; name another by --run-dir",
    ),
    "/proc without the kernel's files": (
        "exec unshare --pid --fork sh -ec 'mount -t proc -o subset=pid none /proc; exec \"$@\"' sh",
        ExitCode.ERROR,
        "/proc/meminfo: this host hides it; mount a whole /proc",
    ),
    "no /dev/null": (
        "mkdir dev; mount -t tmpfs none dev; cp -a /dev/kmsg /dev/zero /dev/full /dev/random /dev/urandom /dev/tty dev; "
        "mount --move dev /dev",
        ExitCode.ERROR,
        "crashloop: No such file or directory: /dev/null.",
    ),
    "an unprivileged container": (
        "for each in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do mount -o remount,bind,ro $each; done; "
        "mount --bind /dev/null /dev/kmsg; exec setpriv --bounding-set=-sys_admin,-net_admin,-sys_ptrace,-syslog",
        ExitCode.ERROR,
        "root lacks CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_SYS_PTRACE: start the container with --privileged",
    ),
    "cgroups read-only": (
        "for each in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do mount -o remount,bind,ro $each; done",
        ExitCode.ERROR,
        "- cgroups: mounted read-only",
    ),
    "assertions left out": ("export PYTHONOPTIMIZE=1", ExitCode.USAGE, "PYTHONOPTIMIZE leaves out assertions"),
}


MOMENTS = {
    "the namespaces": "ledger.jsonl",
    "the API server": "control-plane/kube-apiserver.log",
    "the kubelet": "nodes/*/kubelet.log",
}
"""Part of a cluster that is being started -> what is in the cluster's folder from then on."""
HOUR_S = 3600.0


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not below /tmp, which some of the hosts replace. Afterwards the host is as it was."""
    before = set(seen())
    Path(STATE).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        yield Path(made)
        assert [left.name for left in Path(STATE).glob("*")] == []
    shutil.rmtree(STATE)
    assert set(seen()) ^ before == set()


def seen() -> Iterator[str]:
    """What a cluster changes on a host: processes that know of it, and mounts, cgroups, links, routes and sysctls."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if STATE.encode() in environment.read_bytes():
                yield f"process {(environment.parent / 'cmdline').read_text(errors='replace')}"
    yield from (*mounts(), *cgroups(), *links(), *sysctls())


@contextmanager
def started(folder: Path, plant: str) -> Iterator[subprocess.Popen[bytes]]:
    """A run of one requirement on that host; it writes to `log`."""
    command = f'"{CRASHLOOP}" run -q --requirement {KILLS_FOR_MEMORY} --run-dir run'
    script = f"{plant} {command}" if "; exec " in f"; {plant}" else f"{plant}; exec {command}"
    words = ("unshare", "--mount", "--propagation=private", "sh", "-ec", script)
    environment = os.environ | {"CRASHLOOP_STATE_DIR": STATE}
    with (folder / "log").open("wb") as log:
        run = subprocess.Popen(words, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        yield run
    finally:
        run.terminate()
        run.wait(ENDS_WITHIN_S)


def ended(folder: Path, run: subprocess.Popen[bytes]) -> tuple[int, str]:
    """The exit code of a run, and the end of what it printed; its recorder may clean up a moment longer."""
    code = run.wait(ENDS_WITHIN_S)
    wait_until("the recorder to end", lambda: not any(line.startswith("process") for line in seen()), timeout_s=60)
    return code, (folder / "log").read_text(errors="replace")[-4000:]


def reached(folder: Path, run: subprocess.Popen[bytes], part: str) -> Path:
    """The state folder, as the run sees it, once the run has begun to start that part of its cluster."""
    state, log = Path(f"/proc/{run.pid}/root{STATE}"), folder / "log"
    wait_until(
        f"the start of {part}",
        lambda: any(state.glob(f"clusters/*/{MOMENTS[part]}")) or run.poll() is not None,
        timeout_s=120,
        every_s=0.01,
        last_seen=lambda: log.read_text(errors="replace")[-4000:],
    )
    assert run.poll() is None, log.read_text(errors="replace")
    return state


@pytest.mark.parametrize("plant", HOSTS.values(), ids=HOSTS)
def test_a_run_ends_as_on_the_usual_host(folder: Path, plant: str) -> None:
    with started(folder, plant) as run:
        judged(folder, *ended(folder, run))


def judged(folder: Path, code: int, printed: str) -> None:
    # Whether anything was late is the business of a busy host; that containers ran and ran out of memory is not.
    assert code in (ExitCode.OK, ExitCode.INCONCLUSIVE), printed
    verdicts = json.loads(next(folder.glob("**/run/results.json")).read_bytes())["verdicts"]
    assert {each["outcome"] for each in verdicts if each["requirement"] == KILLS_FOR_MEMORY} == {"PASS"}, printed


@pytest.mark.parametrize(("plant", "expected", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_work_is_refused_in_one_sentence(folder: Path, plant: str, expected: int, sentence: str) -> None:
    with started(folder, plant) as run:
        code, printed = ended(folder, run)
    assert code == expected, printed
    assert sentence in printed


@pytest.mark.parametrize("part", MOMENTS)
def test_a_terminal_that_goes_away_leaves_nothing(folder: Path, part: str) -> None:
    with started(folder, ":") as run:
        reached(folder, run, part)
        run.send_signal(signal.SIGHUP)
        code, printed = ended(folder, run)
    assert code == -signal.SIGHUP, printed


@pytest.mark.parametrize("part", MOMENTS)
def test_a_state_folder_that_becomes_full_ends_the_start_and_leaves_nothing(folder: Path, part: str) -> None:
    with started(folder, f"mount -t tmpfs -o size=1100m none {STATE}") as run:
        state = reached(folder, run, part)
        with suppress(OSError), (state / "full").open("wb", buffering=0) as full:
            while full.write(bytes(1 << 20)):
                pass
        code, printed = ended(folder, run)
    assert code == ExitCode.ERROR, printed
    assert "no space left on device" in printed.lower()
    assert "Traceback" not in printed


@pytest.mark.skipif(
    CLOCK_OF_ITS_OWN not in os.environ, reason="the wall clock is this machine's; the guest has its own"
)
@pytest.mark.parametrize("step_s", [HOUR_S, -HOUR_S], ids=["forward", "back"])
@pytest.mark.parametrize("part", ["the API server", "the kubelet"])
def test_a_wall_clock_that_jumps_by_an_hour_changes_no_verdict(folder: Path, part: str, step_s: float) -> None:
    with started(folder, ":") as run:
        reached(folder, run, part)
        time.clock_settime(time.CLOCK_REALTIME, time.time() + step_s)
        judged(folder, *ended(folder, run))
