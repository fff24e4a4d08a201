"""The version of a program, by its own answer, which also proves that it starts on this host; and the user's own binaries by it.

The user's own binaries (--kubelet-binary and --bin-dir) run in place and are never copied.
"""

import os
import re
from pathlib import Path

import msgspec

from crashloop.cluster.binaries.components import KUBERNETES_PROGRAMS
from crashloop.cluster.processes import CommandFailed, run
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.spec.version import KubernetesVersion, check_skew, check_supported

ANSWER_S = 20.0
"""A kubelet of 140 MB from a cold disk on a busy host answers within a few seconds."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a version query, and the position of the version in the answer."""

    arguments: tuple[str, ...] = ("--version",)
    pattern: str
    shape: str
    """The answer as a person reads it, for messages."""


_KUBERNETES_ANSWER = Question(pattern=r"^Kubernetes v(\S+)", shape="Kubernetes vX.Y.Z")
_CONTAINERD_ANSWER = Question(
    pattern=r"\S+/containerd(?:/v2)? v?(\S+)", shape="ctr github.com/containerd/containerd/v2 X.Y.Z"
)

QUESTIONS: dict[str, Question] = {
    "kubelet": _KUBERNETES_ANSWER,
    "kube-apiserver": _KUBERNETES_ANSWER,
    "kube-controller-manager": _KUBERNETES_ANSWER,
    "kube-scheduler": _KUBERNETES_ANSWER,
    "kube-proxy": _KUBERNETES_ANSWER,
    "kubeadm": Question(arguments=("version", "-o", "short"), pattern=r"^v(\S+)", shape="vX.Y.Z"),
    "kubectl": Question(
        arguments=("version", "--client"), pattern=r"^Client Version: v(\S+)", shape="Client Version: vX.Y.Z"
    ),
    "etcd": Question(pattern=r"^etcd Version: (\S+)", shape="etcd Version: X.Y.Z"),
    "containerd": _CONTAINERD_ANSWER,
    "ctr": _CONTAINERD_ANSWER,
    "containerd-shim-runc-v2": Question(arguments=("-v",), pattern=r"^\s*Version:\s+v?(\S+)", shape="Version: X.Y.Z"),
    "runc": Question(pattern=r"^runc version (\S+)", shape="runc version X.Y.Z"),
    "kube-state-metrics": Question(
        arguments=("version",),
        pattern=r"^kube-state-metrics, version (\S+)",
        shape="kube-state-metrics, version X.Y.Z",
    ),
    "kind": Question(arguments=("version",), pattern=r"^kind v(\S+)", shape="kind vX.Y.Z"),
    "busybox": Question(arguments=("--help",), pattern=r"^BusyBox v(\S+)", shape="BusyBox vX.Y.Z"),
}
"""CNI plugins have no query: they expect a network configuration on standard input."""


class NoAnswer(Exception):
    """The program did not start, crashed, or said something else. The message has no subject: "exited with ..."."""


def ask_version(program: str, path: Path) -> str:
    """The version that a program reports, without `v`. Raises NoAnswer."""
    question = QUESTIONS[program]
    try:
        answer = run([path, *question.arguments], describe=f"version of {program}", timeout_s=ANSWER_S)
    except PrerequisiteError as error:
        raise NoAnswer(f"it cannot be started: {_os_reason(error)}.") from error
    except CommandFailed as error:
        raise NoAnswer(str(error)) from error
    match = re.search(question.pattern, answer, re.MULTILINE)
    if match is None:
        words = " ".join(question.arguments)
        raise NoAnswer(f"to `{words}` it answered {answer.strip()[:200]!r}; expected `{question.shape}`.")
    return match[1]


def is_executable_file(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def is_static(path: Path) -> bool:
    """Whether an ELF program needs no dynamic loader (it has no PT_INTERP header; elf(5))."""
    with path.open("rb") as file:
        header = file.read(64)
        if header[:5] != b"\x7fELF\x02":
            return False
        start, size, count = (
            int.from_bytes(header[32:40], "little"),
            int.from_bytes(header[54:56], "little"),
            int.from_bytes(header[56:58], "little"),
        )
        file.seek(start)
        table = file.read(size * count)
    return all(table[at : at + 4] != b"\x03\x00\x00\x00" for at in range(0, len(table), size))


def _os_reason(error: PrerequisiteError) -> str:
    cause = error.__cause__
    return cause.strerror or str(cause) if isinstance(cause, OSError) else str(error)


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
    version = _kubernetes_version_of("kubelet", path, subject)
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
            version = _kubernetes_version_of(program, found[program], subject)
            check_supported(subject, version)
            check_skew(subject, program, version, api_server)
            versions[program] = str(version)
    return versions


def own_api_server(path: Path) -> KubernetesVersion:
    """Version of the user's kube-apiserver, which decides what the cluster's version is. Raises UsageError."""
    subject = f"--bin-dir {path.parent}: {path.name}"
    version = _kubernetes_version_of("kube-apiserver", path, subject)
    check_supported(subject, version)
    return version


def _kubernetes_version_of(program: str, path: Path, subject: str) -> KubernetesVersion:
    try:
        return KubernetesVersion.parse(ask_version(program, path))
    except NoAnswer as error:
        raise UsageError(f"{subject}: {error}\nExpected a {program} that answers `--version`.") from error
