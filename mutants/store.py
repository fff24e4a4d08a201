"""Results by mutant, in files, so that a run continues where the last one ended."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mutants.mutant import Mutant
from mutants.result import Control, Result

ITSELF = "itself.json"


class Store:
    """One folder for each kubelet: what another rewriter or other functions gave does not count.

    `names` gives the files of mutants whose results outlast their kubelet, by id; the others are named by their ids.
    """

    def __init__(self, runs_dir: Path, kubelet: str, names: Mapping[str, str] | None = None) -> None:
        self._names = names or {}
        self.folder = runs_dir / "mutants" / kubelet
        self.folder.mkdir(parents=True, exist_ok=True)

    def result(self, mutant: Mutant) -> Result:
        """What is known about a mutant; an empty result if nothing is."""
        try:
            return msgspec.json.decode(self._path(mutant.id).read_bytes(), type=Result)
        except FileNotFoundError:
            return Result(id=mutant.id)

    def keep(self, result: Result) -> None:
        _write(self._path(result.id), result)

    def controls(self) -> dict[str, Control]:
        """What the kubelet without a mutant does, by scenario."""
        try:
            return msgspec.json.decode((self.folder / ITSELF).read_bytes(), type=dict[str, Control])
        except FileNotFoundError:
            return {}

    def keep_controls(self, controls: dict[str, Control]) -> None:
        _write(self.folder / ITSELF, self.controls() | controls)

    def _path(self, identifier: str) -> Path:
        return self.folder / f"{self._names.get(identifier, identifier)}.json"


def _write(path: Path, value: object) -> None:
    partial = path.with_suffix(".partial")
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(value)) + b"\n")
    partial.replace(path)
