"""The one place that starts short-lived processes: no shell, always a time limit, and a message with a remedy."""

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from crashloop.errors import ClusterError, PrerequisiteError

LAST_LINES = 20
"""How much of a failed command's output goes into the message."""


class CommandFailed(ClusterError):
    """A command ended with something other than exit code 0, or not in time."""

    def __init__(self, message: str, *, exit_code: int | None, output: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        """None: it was stopped because it took too long. Negative: the signal that ended it."""
        self.output = output
        """Standard output and error, whole."""


def run(
    argv: Sequence[str | Path],
    *,
    describe: str,
    timeout_s: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    input: str | None = None,
) -> str:
    """Run a command to its end and return its standard output.

    `describe` says what it is for ("kubelet --version"); `env` is added to this process's environment.
    Raises PrerequisiteError if the program is missing or cannot be started, CommandFailed if it fails or takes longer
    than `timeout_s`. The end of the wait (a time limit, Ctrl-C) also ends the command and its children.
    """
    words = [os.fspath(word) for word in argv]
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            start_new_session=True,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise PrerequisiteError(f"{describe}: {words[0]} cannot be started ({error.strerror}).") from error
    with process:
        try:
            output, errors = process.communicate(input, timeout=timeout_s)
        except BaseException as error:
            _kill_group(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            output, errors = _what_it_printed(process)
            what = f"{describe}: `{shlex.join(words)}` did not end within {timeout_s:g} s."
            raise _failed(what, output + errors, exit_code=None) from None
    if process.returncode:
        what = f"{describe}: `{shlex.join(words)}` {_how_it_ended(process.returncode)}, expected exit code 0."
        raise _failed(what, output + errors, exit_code=process.returncode)
    return output


def _kill_group(process: "subprocess.Popen[str]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _what_it_printed(process: "subprocess.Popen[str]") -> tuple[str, str]:
    try:
        return process.communicate(timeout=1)
    except subprocess.TimeoutExpired:  # something that left the process group still holds the pipes
        return "", ""


def _how_it_ended(code: int) -> str:
    return f"was ended by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"ended with exit code {code}"


def _failed(what: str, output: str, *, exit_code: int | None) -> CommandFailed:
    lines = [f"  {line}" for line in output.strip().splitlines()[-LAST_LINES:]]
    shown = ["Its last lines:", *lines] if lines else ["It printed nothing."]
    return CommandFailed("\n".join([what, *shown]), exit_code=exit_code, output=output)
