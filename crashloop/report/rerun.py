"""The commands that judge a recording again, and that run the same again; a shell takes them as they are."""

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

from crashloop.report.results import Results, RunResults

if TYPE_CHECKING:
    from crashloop.report.stress.results import StressResults


def analyze_again(results: RunResults) -> str:
    """The command that judges the recording again."""
    return shlex.join(("crashloop", "report", "--again", results.directory or results.run or "RUN"))


def run_again(results: Results, requirements: Iterable[str] = ()) -> str:
    """The command that runs the same again: on these requirements, or on all that the run selected."""
    chosen = tuple(f"--requirement={each}" for each in requirements) or results.selection
    own = (f"--kubelet-binary={results.kubelet_binary}",) if results.kubelet_binary else ()
    older = (f"--provider={results.provider}", f"--scope={results.scope}", _version(results), *own)
    return _command("run", (*chosen, *(results.arguments or older)))


def stress_again(results: "StressResults") -> str:
    """The command that runs the same stress profile again."""
    older = (results.profile, f"--provider={results.provider}", _version(results))
    return _command("stress", results.arguments or older)


def _version(results: RunResults) -> str:
    return f"--kubernetes-version={results.kubernetes_version}"


def _command(name: str, arguments: Iterable[str]) -> str:
    return shlex.join(("crashloop", name, *(word for each in arguments for word in _words(each))))


def _words(argument: str) -> tuple[str, ...]:
    """`--option=value` as people type it, unless the value would be taken for an option."""
    option, separator, value = argument.partition("=")
    is_plain = argument.startswith("--") and separator and not value.startswith("-")
    return (option, value) if is_plain else (argument,)
