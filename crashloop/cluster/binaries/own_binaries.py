"""The user's own binaries: --kubelet-binary and --bin-dir. They run in place and are never copied."""

from pathlib import Path

from crashloop.cluster.binaries.components import KUBERNETES_PROGRAMS
from crashloop.cluster.binaries.skew import check_skew, check_supported
from crashloop.cluster.binaries.version_query import NoAnswer, ask_version, is_executable_file
from crashloop.errors import UsageError
from crashloop.spec.version import KubernetesVersion

SKEWED = ("kubelet", "kube-proxy", "kube-controller-manager", "kube-scheduler")


def own_kubelet(path: Path, option: str = "--kubelet-binary") -> KubernetesVersion:
    """Version of the user's own kubelet; a script is fine.

    Raises UsageError if it is missing, is not executable, does not answer `--version` within 20 s with
    `Kubernetes vX.Y.Z`, or is of a release this suite does not know.
    """
    subject = f"{option} {path}"
    if path.is_dir():
        raise UsageError(f"{subject}: is a folder; the path of a kubelet was expected.\nFor a folder use --bin-dir.")
    if not path.exists():
        raise UsageError(f"{subject}: no such file; the path of a kubelet was expected.")
    if not is_executable_file(path):
        raise UsageError(f"{subject}: is not executable.\nRun: chmod +x {path}")
    version = _asked("kubelet", path, subject)
    check_supported(subject, version)
    return version


def own_folder(folder: Path, programs: tuple[str, ...]) -> dict[str, Path]:
    """The programs that the user's folder holds.

    Raises UsageError if the folder is missing, holds none of the programs, or holds one that is not executable.
    """
    subject = f"--bin-dir {folder}"
    if not folder.is_dir():
        raise UsageError(f"{subject}: no such folder; one with {', '.join(KUBERNETES_PROGRAMS[:3])}, ... was expected.")
    found = {program: folder / program for program in programs if (folder / program).exists()}
    if not found:
        raise UsageError(f"{subject}: holds none of the programs of a cluster ({', '.join(programs)}).")
    for program, path in found.items():
        if not is_executable_file(path):
            raise UsageError(f"{subject}: {program} is not executable.\nRun: chmod +x {path}")
    return found


def check_own_versions(found: dict[str, Path], api_server: KubernetesVersion) -> dict[str, str]:
    """Versions of the user's Kubernetes programs, checked against the API server's version.

    Raises UsageError for a program that does not answer, or that upstream does not support with this API server.
    """
    versions = {}
    for program in SKEWED:
        if program in found:
            subject = f"--bin-dir {found[program].parent}: {program}"
            version = _asked(program, found[program], subject)
            check_supported(subject, version)
            check_skew(subject, program, version, api_server)
            versions[program] = str(version)
    return versions


def own_api_server(path: Path) -> KubernetesVersion:
    """Version of the user's kube-apiserver, which decides what the cluster's version is. Raises UsageError."""
    subject = f"--bin-dir {path.parent}: {path.name}"
    version = _asked("kube-apiserver", path, subject)
    check_supported(subject, version)
    return version


def _asked(program: str, path: Path, subject: str) -> KubernetesVersion:
    try:
        return KubernetesVersion.parse(ask_version(program, path))
    except NoAnswer as error:
        raise UsageError(f"{subject}: {error}\nExpected a {program} that answers `--version`.") from error
