"""Mutants, and the order in which mutants are taken. Pure."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import msgspec


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the rewriter's mutants.json."""

    number: int
    """What the environment variable MUTANT has to hold."""
    id: str
    """Function, line, column and operator; the same as long as the release is."""
    function: str
    line: int
    operator: str
    before: str
    after: str
    """Empty: the statement was dropped."""
    refused: str = ""
    """Why the edit of this mutant cannot be made."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant that does not compile, or whose edit cannot be made."""

    id: str
    reason: str


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """listing.json: the mutants of a kubelet."""

    mutants: tuple[Mutant, ...]
    left_out: tuple[LeftOut, ...]


class MutantKubelet(msgspec.Struct, frozen=True, kw_only=True):
    """A kubelet that can be any of its mutants."""

    path: Path
    name: str
    """Name of its cache entry; another rewriter or other functions give another."""
    listing: Listing


def sample(mutants: Iterable[Mutant], number: int | None, seed: int) -> tuple[Mutant, ...]:
    """So many mutants by lot (None: all), in the order in which they are taken; a larger sample continues a smaller one.

    Functions take turns, so that a sample has some of each, however long the others are.
    """
    by_function: defaultdict[str, list[Mutant]] = defaultdict(list)
    for each in sorted(mutants, key=lambda mutant: _lot(mutant, seed)):
        by_function[each.function].append(each)
    turns = [(turn, _lot(each, seed), each) for members in by_function.values() for turn, each in enumerate(members)]
    return tuple(each for _, _, each in sorted(turns, key=lambda entry: entry[:2]))[:number]


def _lot(mutant: Mutant, seed: int) -> str:
    return hashlib.sha256(f"{seed} {mutant.id}".encode()).hexdigest()
