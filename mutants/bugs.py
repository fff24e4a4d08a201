"""Bugs that upstream had, by release, and what makes mutants of them."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

import msgspec

from crashloop.errors import UsageError
from crashloop.spec.version import KubernetesVersion
from mutants.data import FOLDER, Battery, Edit, Function, Known, Replacement, SourceFile, Sources, read


class Place(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A function of a Go module, and what is replaced in it."""

    module: str
    path: str
    function: str
    changes: tuple[Replacement, ...]


class Bug(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of bugs/<release>.yaml."""

    number: int
    """Of an issue or a pull request of kubernetes/kubernetes."""
    bug: str
    """What the kubelet did, in one sentence of our own."""
    releases: str
    fix: str
    """Number of the pull request, or the release that came with the fix."""
    expected: str
    """The requirement that ought to notice it."""
    scenarios: tuple[str, ...]
    """Conformance scenarios that it meets first."""
    edits: tuple[Place, ...]
    missing: str = ""
    """The stimulus that the suite lacks, where it is known to."""

    @property
    def id(self) -> str:
        return f"kubernetes-{self.number}"

    @property
    def stored_as(self) -> str:
        """Name of its results: another edit gives another, another list does not."""
        return f"{self.id}-{hashlib.sha256(msgspec.json.encode(self.edits)).hexdigest()[:8]}"


def load_bugs(version: KubernetesVersion) -> tuple[Bug, ...]:
    """The bugs that can be put back into a release. Raises UsageError for a release without a list, and for a bad entry."""
    path = FOLDER / "bugs" / f"{version.major}.{version.minor}.yaml"
    if not path.exists():
        known = ", ".join(sorted(each.stem for each in path.parent.glob("*.yaml")))
        raise UsageError(f"bugs: no list for Kubernetes {version}; there is one for {known}.")
    return bugs_of(read(path, list[dict[str, object]]), path.name)


def numbered(bugs: Sequence[Bug], numbers: Collection[int]) -> tuple[Bug, ...]:
    """The bugs of those numbers, or all without any. Raises UsageError for a number that the list does not have."""
    if unknown := set(numbers) - {each.number for each in bugs}:
        raise UsageError(f"bugs: no entry has the number {', '.join(map(str, sorted(unknown)))}.")
    return tuple(each for each in bugs if each.number in numbers or not numbers)


def bugs_of(entries: Sequence[dict[str, object]], where: str) -> tuple[Bug, ...]:
    """The bugs of a list. Raises UsageError that names the entry by its position and number, and what it lacks."""
    bugs: dict[int, Bug] = {}
    for position, entry in enumerate(entries, start=1):
        name = f"bugs: {where}, entry {position} (number {entry.get('number', 'missing')})"
        try:
            bug = msgspec.convert(entry, Bug)
        except msgspec.ValidationError as error:
            raise UsageError(f"{name}: {error}") from error
        if empty := [key for key in ("bug", "releases", "fix", "expected", "scenarios", "edits") if not entry[key]]:
            raise UsageError(f"{name}: {empty[0]} is empty.")
        if bug.number in bugs:
            raise UsageError(f"{name}: the number stands twice.")
        bugs[bug.number] = bug
    return tuple(bugs.values())


def sources_of(bugs: Iterable[Bug]) -> Sources:
    """What the rewriter changes for the bugs; a bug's number is that of kubernetes/kubernetes."""
    placed = [(place.module, place.path, place.function, place, bug) for bug in bugs for place in bug.edits]
    placed.sort(key=lambda entry: entry[:3])
    files = []
    for (module, path), of_file in groupby(placed, key=lambda entry: entry[:2]):
        functions = [
            Function(
                name=name,
                battery="",
                edits=tuple(
                    Edit(number=bug.number, id=bug.id, changes=place.changes) for *_, place, bug in of_function
                ),
            )
            for name, of_function in groupby(of_file, key=lambda entry: entry[2])
        ]
        files.append(SourceFile(module=module, path=path, functions=tuple(functions)))
    return Sources(elsewhere=(), files=tuple(files))


def battery_of(bug: Bug, quick: Iterable[str], full: Iterable[str]) -> Battery:
    """First the scenarios that ought to notice the bug, then the others of the quick scope, then those of the full one."""
    second = tuple(name for name in quick if name not in bug.scenarios)
    rest = tuple(name for name in full if name not in {*bug.scenarios, *second})
    return Battery(first=bug.scenarios, second=second, full=rest)


def known_of(bugs: Iterable[Bug], release: str) -> Known:
    """The holes that the entries state: a bug that passes everything is expected where a stimulus is missing."""
    return Known(release=release, equivalent={}, holes={bug.id: bug.missing for bug in bugs if bug.missing})
