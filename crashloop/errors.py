"""Exceptions, split by who has to act; anything else that escapes is a fault of this suite. And the extra of a missing module."""


class CrashloopError(Exception):
    """Base of the errors below; never raised itself.

    A message has one sentence per line: subject and fault (with the value), expectation, place, remedy.
    """


class UsageError(CrashloopError):
    """The user has to act: a wrong option, profile, kubeconfig or run directory (exit code 2)."""


class PrerequisiteError(CrashloopError):
    """The host lacks something: a tool, a permission, space, a network (exit code 70)."""


class ClusterError(CrashloopError):
    """Bring-up, operation or clean-up of a cluster failed (exit code 70)."""


class ProcessEnded(ClusterError):
    """A process of a cluster ended while it was starting."""


class ObservationError(CrashloopError):
    """Evidence was lost; verdicts that need it become INCONCLUSIVE."""


EXTRAS = {
    "analyze": ("numpy",),
    "run": ("pytest", "xdist", "pytest_timeout", "pytest_kubernetes", "grpc", "google", "cryptography", "pyroute2"),
    "stress": ("locust", "gevent", "geventhttpclient"),
}


def missing(error: ModuleNotFoundError, *, needed_by: str) -> str:
    """What lacks, and how to get it."""
    module = (error.name or "").partition(".")[0]
    extra = next((name for name, modules in EXTRAS.items() if module in modules), None)
    if extra is None:
        return f"Python finds no module {error.name!r}; the installation is incomplete."
    return (
        f"{needed_by} needs {module!r}, which is not installed.\n"
        f"Install the wheel with the extra [{extra}]: pip install 'crashloop[{extra}] @ ADDRESS-OF-THE-WHEEL'."
    )
