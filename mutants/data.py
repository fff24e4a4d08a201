"""The files that people write: functions by release, batteries, and what is known about survivors."""

from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

from crashloop.errors import UsageError
from crashloop.spec.version import KubernetesVersion

FOLDER = Path(__file__).parent
T = TypeVar("T")


class Replacement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text that stands once in a function, and the one that takes its place."""

    before: str
    after: str


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant that people wrote; edits of several functions with one number are one mutant."""

    number: int
    id: str
    changes: tuple[Replacement, ...]


class Function(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A function, or a method such as `Backoff.Next`, to make mutants of."""

    name: str
    battery: str
    only: tuple[str, ...] = ()
    """Identifiers; only statements that mention one are changed. Empty: all."""
    constants: tuple[str, ...] = ()
    """Constants of the same file that are changed as if their values stood in the function."""
    edits: tuple[Edit, ...] = ()
    """Made instead of all mutants, where there are some."""


class SourceFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of a Go module."""

    module: str
    path: str
    functions: tuple[Function, ...]


class Sources(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """functions/<release>.yaml."""

    elsewhere: tuple[str, ...]
    """Identifiers; a statement that mentions one has nothing to do with restarts."""
    files: tuple[SourceFile, ...]

    def batteries(self) -> dict[str, str]:
        """Battery by function."""
        return {function.name: function.battery for file in self.files for function in file.functions}


class Battery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names of conformance scenarios, in steps: those that take least time come first."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    third: tuple[str, ...] = ()
    full: tuple[str, ...] = ()

    def steps(self, *, full: bool) -> tuple[tuple[str, ...], ...]:
        """The steps of a mutant that survives all of them."""
        quick = (self.first, self.second, self.third)
        return (*quick, self.full) if full else quick


class Known(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """known.yaml: survivors by id."""

    release: str
    equivalent: dict[str, str]
    holes: dict[str, str]


def load_sources(version: KubernetesVersion) -> Sources:
    """The functions of a release. Raises UsageError for a release whose functions nobody has listed."""
    path = FOLDER / "functions" / f"{version.major}.{version.minor}.yaml"
    if not path.exists():
        known = ", ".join(sorted(each.stem for each in path.parent.glob("*.yaml")))
        raise UsageError(f"mutants: no list of functions for Kubernetes {version}; there is one for {known}.")
    return read(path, Sources)


def load_batteries() -> dict[str, Battery]:
    return read(FOLDER / "batteries.yaml", dict[str, Battery])


def load_known() -> Known:
    return read(FOLDER / "known.yaml", Known)


def read(path: Path, kind: type[T]) -> T:
    return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), kind)
