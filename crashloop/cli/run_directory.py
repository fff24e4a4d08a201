"""Run directories that cannot be written, or are damaged: the verdicts are shown all the same, with a note."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console

if TYPE_CHECKING:
    from crashloop.report.document import Document
    from crashloop.rundir import RunDir


class Report(NamedTuple):
    """The results of a run, for programs, and their report, for people."""

    results: object
    document: "Document"


def unless_read_only(run: "RunDir", write: Callable[[], None]) -> None:
    """Write results and views; where nothing can be written, as in an archive, that is only mentioned."""
    try:
        write()
    except OSError as error:
        mention(f"run directory {run.root}: results and report were not written ({error.strerror}).")


def is_writable(folder: Path) -> bool:
    """Whether this process may write there."""
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def mention_damage(run_dir: Path) -> None:
    """Name files that no verdict depends on, and that cannot be read."""
    from crashloop.rundir import RunDir

    for sentence in RunDir(run_dir).damage():
        mention(sentence)


def mention(sentence: str) -> None:
    """A note on standard error."""
    Console(stderr=True, highlight=False).print(f"crashloop: {sentence}", markup=False, soft_wrap=True)
