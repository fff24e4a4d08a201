"""Makes the guest's kernel and root image from Debian's archive, below the cache folder."""

import os
import shutil
from pathlib import Path

from crashloop.cluster.binaries.provision import Cache
from crashloop.cluster.processes import CommandFailed, run
from crashloop.cluster.provider import Progress
from crashloop.errors import PrerequisiteError
from tools.guest.recipe import (
    BOOT_FILES,
    EMULATOR,
    FRAGMENT,
    IMAGE_SIZE,
    ROOT_FILES,
    SOURCE,
    SUITE,
    TOOLS,
    apt_sources,
    image_name,
    kernel_name,
    mirror_of,
    packages,
    without_spinning,
)

CHECKOUT = Path(__file__).parents[2]
KEYRINGS = Path("/usr/share/keyrings")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
"""The guest trusts whom the host trusts: pip may reach its index by a proxy with an authority of its own."""
PIP = 'chroot "$1" /opt/venv/bin/pip install --quiet'
MKE2FS = ("-q", "-t", "ext4", "-O", "^has_journal", "-d")
BUILD_S = 3600.0
"""A kernel takes eight minutes on two idle cores."""
MIRROR = "GUEST_MIRROR"
"""Environment variable: the Debian archive, for a host whose apt has none."""


def kernel(cache_dir: Path, progress: Progress) -> Path:
    """The kernel's program, built if it is not in the cache."""
    kept = cache_dir / "guest" / kernel_name()
    if not kept.exists():
        _install_tools()
        with Cache(cache_dir).workplace("guest-kernel", progress) as work:
            with progress.step(f"sources {SOURCE}"):
                _unpack_sources(work)
            with progress.step("kernel of the guest"):
                locks = work / "kernel" / "Kconfig.locks"
                locks.write_text(without_spinning(locks.read_text()))
                make = ["make", "--silent", "ARCH=um", "O=B"]
                (work / "B").mkdir()
                merge: list[str | Path] = ["scripts/kconfig/merge_config.sh", "-O", "B", "B/.config", FRAGMENT]
                run([*make, "x86_64_defconfig"], describe="kernel options", timeout_s=BUILD_S, cwd=work)
                run(merge, describe="kernel options", timeout_s=BUILD_S, cwd=work, env={"ARCH": "um"})
                jobs = f"-j{len(os.sched_getaffinity(0)) + 1}"
                run([*make, jobs, "linux"], describe="build of the kernel", timeout_s=BUILD_S, cwd=work)
            _keep(work / "B" / "linux", kept)
    return kept


def root_image(cache_dir: Path, progress: Progress, *, emulated: bool = False) -> Path:
    """The guest's disk, built if it is not in the cache: Debian, and a virtual environment of its Python that uses /checkout."""
    kept = cache_dir / "guest" / image_name(CHECKOUT, emulated=emulated)
    if emulated:
        _install_tools(EMULATOR)
    if not kept.exists():
        _install_tools()
        with Cache(cache_dir).workplace("guest-root", progress) as work:
            work.chmod(0o755)
            root, disk = work / "root", work / "disk"
            hooks = [
                f'git -C {CHECKOUT} archive HEAD | tar --extract --directory="$1/checkout"',
                f"upload {AUTHORITIES} {AUTHORITIES}",
                'chroot "$1" python3 -m venv /opt/venv',
                f"{PIP} --require-hashes -r /checkout/requirements.lock",
                f"{PIP} --no-deps --no-build-isolation --editable /checkout",
                'chroot "$1" systemctl enable guest.service',
                'chroot "$1" systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer '
                "e2scrub_all.timer systemd-tmpfiles-clean.timer",
                *(f'cp "$1"/boot/{found}-* "$1/{name}"' for name, found in BOOT_FILES.items() if emulated),
            ]
            with progress.step(f"root image of {SUITE}"):
                run(
                    [
                        # Its mounts end with it, whatever ends it.
                        *("unshare", "--mount", "--propagation=private"),
                        "mmdebstrap",
                        "--variant=minbase",
                        f"--keyring={KEYRINGS}",
                        f"--include={','.join(packages(emulated=emulated))}",
                        f"--customize-hook=sync-in {ROOT_FILES} /",
                        '--customize-hook=mkdir "$1/checkout"',
                        *(f"--customize-hook={hook}" for hook in hooks),
                        SUITE,
                        root,
                        mirror(),
                    ],
                    describe="root of the guest",
                    timeout_s=BUILD_S,
                )
                words: list[str | Path] = ["mke2fs", *MKE2FS, root, disk, IMAGE_SIZE]
                run(words, describe="disk of the guest", timeout_s=BUILD_S)
            _keep(disk, kept)
    return kept


def boot_files(image: Path, folder: Path) -> None:
    """Copy kernel and initial file system of an emulated guest out of its image."""
    for name in BOOT_FILES:
        run(
            ["debugfs", "-R", f"dump /{name} {folder / name}", image], describe="boot files of the guest", timeout_s=120
        )


def mirror() -> str:
    """The Debian archive that apt of this host uses, or GUEST_MIRROR. Raises PrerequisiteError if there is none."""
    words = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"]
    found = os.environ.get(MIRROR) or mirror_of(run(words, describe="apt's sources", timeout_s=60))
    if found is None:
        raise PrerequisiteError(
            f"guest: apt of this host has no archive of Debian.\nSet {MIRROR} to the address of one; "
            "it needs the package debian-archive-keyring."
        )
    return found


def _install_tools(*tools: str) -> None:
    tools = tools or TOOLS
    try:
        run(["dpkg-query", "--show", *tools], describe="packages", timeout_s=60)
    except CommandFailed:
        run(["apt-get", "-qq", "update"], describe="apt-get update", timeout_s=600)
        words = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", *tools]
        run(words, describe="tools that make the guest", timeout_s=1200)


def _unpack_sources(work: Path) -> None:
    """By an apt with sources and lists of its own: the host's stay as they are."""
    apt = work / "apt"
    for folder in ("lists/partial", "archives/partial"):
        (apt / folder).mkdir(parents=True)
    keyring = ",".join(map(str, sorted(KEYRINGS.glob("debian-archive-*.gpg"))))
    (apt / "sources.list").write_text(apt_sources(mirror(), keyring))
    options = {
        "Dir::Etc::sourcelist": apt / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": apt / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": apt,
        "APT::Sandbox::User": "root",
    }
    words = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    run([*words, "update"], describe="apt-get update", timeout_s=600)
    run([*words, "download", f"{SOURCE}/{SUITE}-backports"], describe=SOURCE, timeout_s=1200, cwd=work)
    (package,) = work.glob("*.deb")
    run(["dpkg-deb", "--extract", package, work / "package"], describe=SOURCE, timeout_s=600)
    archive = work / "package" / "usr" / "src" / f"{SOURCE}.tar.xz"
    run(["tar", "--extract", "--strip-components=1", f"--file={archive}"], describe=SOURCE, timeout_s=600, cwd=work)


def _keep(made: Path, kept: Path) -> None:
    """The newest of its kind alone stays in the cache."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    for older in kept.parent.glob(f"{kept.name.split('-')[0]}-*"):
        older.unlink()
    shutil.move(made, kept)
