"""Programs out of Debian and Ubuntu packages, unpacked into the cache.

Packages are never installed: runc's would replace a user's Docker. The system's package lists are used if it has any;
otherwise lists are downloaded into the cache, so the system is not changed and root is not needed.
"""

import shutil
from pathlib import Path

from crashloop.cluster.binaries.components import Package
from crashloop.cluster.binaries.errors import NotAvailable
from crashloop.cluster.runner import CommandFailed, run

APT_S = 300.0


def unpack_package(program: str, package: Package, folder: Path) -> None:
    """Put a program out of its package into the folder.

    Raises NotAvailable if the host has no apt, or its sources do not have the package.
    """
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NotAvailable("this is not Debian or Ubuntu: no `apt-get` and `dpkg-deb` on PATH")
    work = folder / ".package"
    work.mkdir()
    archive = _download(package, work)
    run(["dpkg-deb", "-x", archive, work / "root"], describe=f"package {package.name}", timeout_s=60)
    unpacked = next((work / "root" / path for path in package.paths if (work / "root" / path).is_file()), None)
    if unpacked is None:
        raise NotAvailable(f"{archive.name} has no {' or '.join(package.paths)}")
    unpacked.rename(folder / program)
    (folder / program).chmod(0o755)
    shutil.rmtree(work)


def _download(package: Package, work: Path) -> Path:
    describe = f"package {package.name}"
    # apt would drop to the user _apt, which cannot write here
    apt = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root"]
    own_lists = ["-o", f"Dir::State::lists={work / 'lists'}", "-o", f"Dir::Cache={work / 'cache'}"]
    try:
        run([*apt, "download", package.name], describe=describe, timeout_s=APT_S, cwd=work)
    except CommandFailed:
        for needed in ("lists/partial", "cache/archives/partial"):
            (work / needed).mkdir(parents=True)
        try:
            run([*apt, *own_lists, "update"], describe=describe, timeout_s=APT_S, cwd=work)
            run([*apt, *own_lists, "download", package.name], describe=describe, timeout_s=APT_S, cwd=work)
        except CommandFailed as error:
            last = (error.output.strip().splitlines() or ["no output"])[-1]
            raise NotAvailable(f"`apt-get download {package.name}`: {last}") from error
    archive = next(work.glob("*.deb"), None)
    if archive is None:
        raise NotAvailable(f"`apt-get download {package.name}` left no package")
    return archive
