"""Open files of a run on many nodes: one per history and per heartbeat. A process may have more than it is given at first."""

import resource

from crashloop.errors import PrerequisiteError

SPARE = 256
"""For everything else."""


def allow_open_files(number: int) -> None:
    """Let this process and its children have so many files open. Raises PrerequisiteError if the host permits fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = number + SPARE
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise PrerequisiteError(
            f"open files: {needed} are needed for histories and heartbeats; the hard limit of this process is {hard}.\n"
            "Raise it (ulimit -Hn), or spread the load over fewer nodes."
        )
    if soft != resource.RLIM_INFINITY and needed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
