"""Hosts that differ from the usual one, made from this one by namespaces, limits and mounts: a run on each ends as on any.

Root of a host that can run nodes makes them, here or in the guest (`make guest`); each takes half a minute.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashloop.verdict import ExitCode

ROOT = Path(__file__).parents[2]
CRASHLOOP = Path(sys.executable).with_name("crashloop")
STATE = "/var/lib/crashloop-host"
KILLS_FOR_MEMORY = "RULES-32"
"""The shortest of the requirements that touch the host."""
ENDS_WITHIN_S = 400.0
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
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not below /tmp, which some of the hosts replace."""
    Path(STATE).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        yield Path(made)
    shutil.rmtree(STATE)


@pytest.mark.parametrize("plant", HOSTS.values(), ids=HOSTS)
def test_a_run_ends_as_on_the_usual_host(folder: Path, plant: str) -> None:
    run = f'"{CRASHLOOP}" run -q --requirement {KILLS_FOR_MEMORY} --run-dir run'
    script = f"{plant} {run}" if plant.startswith("exec ") else f"{plant}; exec {run}"
    words = ("unshare", "--mount", "--propagation=private", "sh", "-ec", script)
    environment = os.environ | {"CRASHLOOP_STATE_DIR": STATE}
    with (folder / "log").open("wb") as log:
        ended = subprocess.run(
            words, cwd=folder, env=environment, stdout=log, stderr=log, timeout=ENDS_WITHIN_S, check=False
        )
    # Whether anything was late is the business of a busy host.
    assert ended.returncode in (ExitCode.OK, ExitCode.INCONCLUSIVE), (folder / "log").read_text(errors="replace")[
        -4000:
    ]
    assert [folder.name for folder in Path(STATE).glob("clusters/*")] == []
