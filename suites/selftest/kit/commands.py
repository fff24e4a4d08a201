"""Commands in this process, and the user that they run as."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.errors import UsageError
from crashloop.verdict import ExitCode


def refusal(*arguments: str) -> str:
    """The message of a UsageError, or typer's own for a value that an option does not take."""
    done = CliRunner().invoke(app, arguments)
    if isinstance(done.exception, UsageError):
        return str(done.exception)
    assert done.exit_code == ExitCode.USAGE, done.output
    return done.output


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, if this is root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
