"""Queries a program's version, which also proves that it starts on this host."""

import os
import re
from pathlib import Path

import msgspec

from crashloop.cluster.runner import CommandFailed, run
from crashloop.errors import PrerequisiteError

ANSWER_S = 20.0
"""A kubelet of 140 MB from a cold disk on a busy host answers within a few seconds."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a version query, and the position of the version in the answer."""

    arguments: tuple[str, ...] = ("--version",)
    pattern: str
    shape: str
    """The answer as a person reads it, for messages."""


_KUBERNETES = Question(pattern=r"^Kubernetes v(\S+)", shape="Kubernetes vX.Y.Z")
_CONTAINERD = Question(pattern=r"\S+/containerd(?:/v2)? v?(\S+)", shape="ctr github.com/containerd/containerd/v2 X.Y.Z")

QUESTIONS: dict[str, Question] = {
    "kubelet": _KUBERNETES,
    "kube-apiserver": _KUBERNETES,
    "kube-controller-manager": _KUBERNETES,
    "kube-scheduler": _KUBERNETES,
    "kube-proxy": _KUBERNETES,
    "kubeadm": Question(arguments=("version", "-o", "short"), pattern=r"^v(\S+)", shape="vX.Y.Z"),
    "kubectl": Question(
        arguments=("version", "--client"), pattern=r"^Client Version: v(\S+)", shape="Client Version: vX.Y.Z"
    ),
    "etcd": Question(pattern=r"^etcd Version: (\S+)", shape="etcd Version: X.Y.Z"),
    "containerd": _CONTAINERD,
    "ctr": _CONTAINERD,
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
