"""The requirement catalogue: crashloop/catalogue/<topic>.yaml, one file per topic, in reading order."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from crashloop.cluster.provider import Capability
from crashloop.errors import UsageError
from crashloop.resources import MANIFESTS
from crashloop.spec.requirement import Basis, Deviation, Requirement, State
from crashloop.spec.version import KubernetesVersion
from crashloop.yaml_text import Unreadable, read_yaml

CATALOGUE = Path(__file__).parent / "catalogue"
SLO_ROWS = MANIFESTS / "slo"
"""What `slos` of a requirement may name."""

CHECKED: Mapping[str, str] = {"highest-rate": "LOAD-16"}
"""Checks of a stress run (crashloop.stress.checks) that judge a requirement, and which."""

_ID = re.compile(r"[A-Z]+-?[1-9][0-9]*")
_WORD = re.compile(r"\b(MUST|SHOULD)\b")
_TEXT = re.compile(
    r"KEP-\d+ |(?:Pod Lifecycle|Init Containers|Sidecar Containers|Debug Running Pods|Assign Memory Resources"
    r"|Container Lifecycle Hooks|Kubernetes 1\.4 documentation) "
)
"""How the sources begin in which Kubernetes promises something."""


class CatalogueError(UsageError):
    """An entry of the catalogue is wrong; the contributor who wrote it sees file and row at the start of a run."""


class Topic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of the catalogue."""

    topic: str
    """Prefix of the ids: CAP."""
    title: str
    order: int
    """Position among the topics."""
    requirements: tuple[Requirement, ...]


@cache
def load_requirements() -> dict[str, Requirement]:
    """Every requirement by id, in reading order. Raises CatalogueError, naming the file and the row."""
    return {requirement.id: requirement for topic in load_topics() for requirement in topic.requirements}


def load_topics(folder: Path = CATALOGUE) -> tuple[Topic, ...]:
    """Every topic, in reading order. Raises CatalogueError, naming the file and the row."""
    judges = {**CHECKED, **_rows_with_requirements()}
    topics = tuple(sorted((_read(path, judges) for path in folder.glob("*.yaml")), key=lambda topic: topic.order))
    if not topics:
        raise CatalogueError(f"{folder}: no topic files (*.yaml).")
    ids = Counter(requirement.id for topic in topics for requirement in topic.requirements)
    twice = [name for name, count in ids.items() if count > 1]
    if twice:
        raise CatalogueError(f"{folder}: {', '.join(twice)} is defined more than once; an id must be unique.")
    return topics


def _rows_with_requirements() -> dict[str, str | None]:
    """What each row of manifests/slo says that it judges. The rows are checked by who judges by them, with numpy's imports."""
    files = [read_yaml(path.read_text(encoding="utf-8")) for path in sorted(SLO_ROWS.glob("*.yaml"))]
    return {row["id"]: row.get("requirement") for file in files for row in file["slos"]}


def _read(path: Path, judges: Mapping[str, str | None]) -> Topic:
    try:
        raw = read_yaml(path.read_text(encoding="utf-8"))
    except Unreadable as error:
        raise CatalogueError(f"{path.name}: {error}") from error
    rows = raw.get("requirements") if isinstance(raw, dict) else None
    if not isinstance(rows, list):
        raise CatalogueError(f"{path.name}: expected topic, title, order and a list of requirements.")
    requirements = tuple(_row(path, index, row, judges) for index, row in enumerate(rows, start=1))
    try:
        topic = msgspec.convert({**raw, "requirements": ()}, Topic)
    except msgspec.ValidationError as error:
        raise CatalogueError(f"{path.name}: {error}.") from error
    for requirement in requirements:
        if requirement.topic != topic.topic:
            raise CatalogueError(f"{path.name}: {requirement.id}: expected an id of the topic {topic.topic}.")
    return msgspec.structs.replace(topic, requirements=requirements)


def _row(path: Path, index: int, row: Any, judges: Mapping[str, str | None]) -> Requirement:
    named = row.get("id", f"row {index}") if isinstance(row, dict) else f"row {index}"
    try:
        requirement = msgspec.convert(row, Requirement)
        fault = next(iter((*_faults(requirement), *_wrong_slos(requirement, judges))), None)
    except (msgspec.ValidationError, ValueError) as error:
        raise CatalogueError(f"{path.name}: {named}: {error}.") from error
    if fault is not None:
        raise CatalogueError(f"{path.name}: {named}: {fault}.")
    return requirement


def _wrong_slos(requirement: Requirement, judges: Mapping[str, str | None]) -> Iterator[str]:
    for name in requirement.slos:
        if name not in judges:
            yield f"slos {name!r}: no row of manifests/slo and no check of a stress run has that id"
        elif judges[name] != requirement.id:
            yield f"slos {name!r}: that row judges {judges[name] or 'no requirement'}, not {requirement.id}"


def _faults(requirement: Requirement) -> list[str]:
    """Rules beyond the types."""
    faults = []
    if not _ID.fullmatch(requirement.id):
        faults.append(f"id {requirement.id!r}: expected capital letters, a dash and a number")
    if _WORD.findall(requirement.sentence) != [requirement.level.value]:
        faults.append(f"sentence: expected {requirement.level} exactly once and no other such word")
    if not requirement.sentence.endswith("."):
        faults.append("sentence: expected a full stop at the end")
    if not requirement.source or not requirement.evidence:
        faults.append("source and evidence cannot be empty")
    if requirement.basis is Basis.PROMISE and not any(map(_TEXT.match, requirement.source.split("; "))):
        faults.append("basis promise: expected a KEP or a page of the documentation among its sources")
    if bool(requirement.reason) == (requirement.state is State.JUDGED):
        faults.append(f"state {requirement.state}: a reason is given if and only if the state is not judged")
    if requirement.state is State.JUDGED and not (requirement.checkers or requirement.everywhere or requirement.slos):
        faults.append("state judged: expected at least one checker, or an SLO")
    unknown = sorted(set(requirement.needs) - {capability.value for capability in Capability})
    if unknown:
        faults.append(f"needs {', '.join(unknown)}: expected capabilities of crashloop.cluster.provider")
    for release in filter(None, (requirement.since, requirement.until, *requirement.parameters_until)):
        if not re.fullmatch(r"\d+\.\d+", release):
            faults.append(f"release {release!r}: expected major and minor, quoted, such as '1.37'")
    if not faults and requirement.until is not None:
        last = KubernetesVersion.parse(requirement.until)
        if last.release < KubernetesVersion.parse(requirement.since).release:
            faults.append(f"until {requirement.until} is before since {requirement.since}")
    return faults


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    deviations: tuple[Deviation, ...]
