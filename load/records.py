"""Where the records of one worker go, and how it learns its stage: by files of the run, or load/remote_master.py."""

from pathlib import Path
from typing import Protocol

import msgspec

from crashloop.stress.assignment import MARKS, Operation, StageMark, journal_path


class Records(Protocol):
    """What a worker writes and reads."""

    def write(self, operation: Operation) -> None: ...

    def keep_journal(self, pod: str, container: str, text: str) -> None: ...

    def stage(self) -> int:
        """Index of the stage that began last: users belong to it. It is known before they start."""
        ...


class FileRecords:
    """In the folder of the run."""

    def __init__(self, folder: Path, worker: int) -> None:
        self._folder = folder
        # Unbuffered: a line reaches the operating system at once, so that it survives a killed worker.
        self._operations = (folder / f"operations-{worker}.jsonl").open("ab", buffering=0)

    def write(self, operation: Operation) -> None:
        self._operations.write(msgspec.json.encode(operation) + b"\n")

    def keep_journal(self, pod: str, container: str, text: str) -> None:
        path = journal_path(self._folder, pod, container)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def stage(self) -> int:
        marks = self._folder / MARKS
        whole = marks.read_bytes().rpartition(b"\n")[0] if marks.exists() else b""
        return msgspec.json.decode(whole.rpartition(b"\n")[2], type=StageMark).index if whole else 0
