"""Exceptions, split by who has to act. Anything else that escapes is a fault of this suite."""


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
