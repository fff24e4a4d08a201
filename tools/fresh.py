"""A fresh machine: README's first commands, by a user with sudo, in a new root folder to which nothing was added by hand.

python -m tools.fresh [SUITE] [--with PACKAGE ...]     # trixie, bookworm or sid; root, Debian

It sees this host's kernel, and its cache, so that binaries need no build. It is removed afterwards.
Exit codes: 0; 1 if a command failed; 70 if the root folder cannot be made.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from crashloop.cluster.processes import run, signals_as_exit
from crashloop.errors import CrashloopError
from crashloop.settings import resolve_settings
from crashloop.verdict import ExitCode
from tools.guest.build import AUTHORITIES, CHECKOUT, KEYRINGS, mirror

PACKAGES = ("ca-certificates", "git", "make", "python3", "python3-venv", "sudo")
"""What a clone, `make` and a user who is not root need; the rest is theirs to fetch."""
CRASHLOOP = ".venv/bin/crashloop"
COMMANDS = (
    "make python",
    f"sudo {CRASHLOOP} doctor",
    "sudo make conformance PYTEST_ARGS='-q --requirement RULES-32' INCONCLUSIVE=ok",
    f"sudo {CRASHLOOP} up --profile stock",
    f"sudo {CRASHLOOP} down --all",
)
ENTER = (
    'mount --rbind "$0" "$0"; cd "$0"; for each in proc sys dev; do mount --rbind /$each $each; done; '
    'mkdir -p old root/.cache/crashloop; mount --bind "$1" root/.cache/crashloop; pivot_root . old; umount -l /old; '
    'cd /home/user/checkout; exec runuser -u user -- env -i HOME=/home/user PATH=/usr/local/bin:/usr/bin:/bin sh -c "$2"'
)
"""The root folder becomes the root of a mount namespace, as runc needs it: a folder of chroot is no mount point."""
WITHIN_S = 1800.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.fresh", description="README's first commands on a fresh Debian.")
    parser.add_argument("suite", nargs="?", default="trixie")
    parser.add_argument("--with", action="append", default=[], dest="packages", metavar="PACKAGE")
    arguments = parser.parse_args()
    suite = " with ".join((arguments.suite, *arguments.packages))
    with signals_as_exit(), tempfile.TemporaryDirectory(prefix="fresh-", dir="/var/tmp") as work:
        Path(work).chmod(0o755)
        root = Path(work, "root")
        try:
            _timed(f"root folder of {suite}", _make(root, arguments.suite, arguments.packages))
        except CrashloopError as error:
            sys.stderr.write(f"{error}\n")
            return ExitCode.ERROR
        unused_mib, cache = _mib(root), resolve_settings().paths.cache_dir.resolve()
        try:
            for command in COMMANDS:
                _timed(
                    command, ("unshare", "--mount", "--propagation=private", "sh", "-ec", ENTER, root, cache, command)
                )
        except CrashloopError as error:
            sys.stderr.write(f"{error}\n")
            return ExitCode.FAIL
        sys.stdout.write(f"disk: {unused_mib} MiB before, {_mib(root)} MiB after\n")
    return ExitCode.OK


def _make(root: Path, suite: str, packages: list[str]) -> tuple[str | Path, ...]:
    hooks = (
        'chroot "$1" useradd --create-home user',
        "echo 'user ALL=(ALL) NOPASSWD: ALL' >\"$1/etc/sudoers.d/user\"",
        'mkdir "$1/home/user/checkout"',
        f'git -C {CHECKOUT} archive HEAD | tar --extract --directory="$1/home/user/checkout"',
        'chroot "$1" chown -R user: /home/user',
        f"upload {AUTHORITIES} {AUTHORITIES}",
    )
    include = f"--include={','.join((*PACKAGES, *packages))}"
    options = ("--variant=minbase", f"--keyring={KEYRINGS}", include, *(f"--customize-hook={hook}" for hook in hooks))
    return ("unshare", "--mount", "--propagation=private", "mmdebstrap", *options, suite, root, mirror())


def _timed(what: str, command: tuple[str | Path, ...]) -> None:
    began_s = time.monotonic()
    printed = run(command, describe=what, timeout_s=WITHIN_S)
    last = printed.strip().splitlines()[-1:] or ["no output"]
    sys.stdout.write(f"{what}: {time.monotonic() - began_s:.1f} s: {last[0]}\n")
    sys.stdout.flush()


def _mib(root: Path) -> int:
    """Of the disk that the root folder takes."""
    return int(run(("du", "-sxm", root), describe="du", timeout_s=WITHIN_S).split()[0])


if __name__ == "__main__":
    sys.exit(main())
