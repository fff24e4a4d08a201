"""Known deviations: crashloop/deviations.yaml, read and checked. Apart from the catalogue, which is listed without the model."""

from functools import cache
from pathlib import Path

import msgspec

from crashloop.model.variants import VARIANTS
from crashloop.requirements import CatalogueError
from crashloop.spec.requirement import Deviation
from crashloop.yaml_text import Unreadable, read_yaml

DEVIATIONS = Path(__file__).parent / "deviations.yaml"


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    deviations: tuple[Deviation, ...]


@cache
def load_deviations(path: Path = DEVIATIONS) -> tuple[Deviation, ...]:
    """Every known deviation, in the order of the file. Raises CatalogueError, naming the entry."""
    try:
        entries = msgspec.convert(read_yaml(path.read_text(encoding="utf-8")), _File).deviations
    except (Unreadable, msgspec.ValidationError) as error:
        raise CatalogueError(f"{path.name}: {error}.") from error
    variants = {each.name for each in VARIANTS}
    seen: set[str] = set()
    for entry in entries:
        for name in (entry.variant, *entry.company):
            if name not in variants:
                raise CatalogueError(
                    f"{path.name}: {entry.id}: variant {name!r} is none of crashloop/model/variants.py."
                )
        if entry.id in seen:
            raise CatalogueError(f"{path.name}: {entry.id}: is defined more than once; an id must be unique.")
        seen.add(entry.id)
    return entries
