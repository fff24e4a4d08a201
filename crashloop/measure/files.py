"""Files for the judgement of SLOs: rows, scrapes, lifecycles."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from crashloop.errors import UsageError
from crashloop.profiles import read_manifest
from crashloop.requirements import SLO_ROWS, load_requirements
from crashloop.slo.exposition import read_scrapes
from crashloop.slo.measurements import Lifecycle
from crashloop.slo.row_faults import read_rows
from crashloop.slo.rows import SloRow
from crashloop.slo.scrapes import Scrapes

LIFECYCLES = "lifecycles.jsonl"


def load_rows(*files: str | Path) -> tuple[SloRow, ...]:
    """The rows of files, in their order: names of manifests/slo, or paths (.yaml or with a slash). Without any: all shipped.

    Raises UsageError for a missing or malformed file, for a duplicate id, and for a row that names a requirement which the
    catalogue does not have, or which another row judges.
    """
    rows = [row for file in files or _shipped() for row in _rows(file)]
    ids = [row.id for row in rows]
    twice = sorted({each for each in ids if ids.count(each) > 1})
    if twice:
        raise UsageError(
            f"SLOs {', '.join(twice)}: defined more than once, in {', '.join(str(each) for each in files)}."
        )
    return tuple(rows)


def load_scrapes(folder: Path) -> tuple[Scrapes, ...]:
    """Every source in RUN/metrics. Raises UsageError for a file in another format."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        if path.name != LIFECYCLES:
            with path.open("rb") as lines:
                found.append(read_scrapes(lines, name=str(path)))
    return tuple(found)


def write_lifecycles(folder: Path, lifecycles: Iterable[Lifecycle]) -> None:
    """Write RUN/metrics/lifecycles.jsonl, one pod per line."""
    encode = msgspec.json.Encoder().encode
    (folder / LIFECYCLES).write_bytes(b"".join(encode(each) + b"\n" for each in lifecycles))


def _rows(file: str | Path) -> tuple[SloRow, ...]:
    path, text = read_manifest("SLOs", SLO_ROWS, file, own="rows")
    rows = read_rows(text, name=path.name).slos
    for row in rows:
        fault = None if row.requirement is None else _not_judged_by(row.requirement, row.id)
        if fault is not None:
            raise UsageError(f"{path.name}: {row.id}: {fault}.")
    return rows


def _not_judged_by(name: str, row: str) -> str | None:
    """Why a row cannot judge a requirement; None if it can."""
    requirement = load_requirements().get(name)
    if requirement is None:
        return f"requirement {name!r}: the catalogue does not have it"
    if row not in requirement.slos:
        others = ", ".join(requirement.slos) or "no row"
        return f"requirement {name!r}: the catalogue names {others} for it, not this row"
    return None


def _shipped() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in SLO_ROWS.glob("*.yaml")))
