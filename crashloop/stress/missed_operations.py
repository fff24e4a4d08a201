"""Operations of a load that missed their time, as incidents of the run. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from crashloop.stress.assignment import Operation
from crashloop.stress.incidents import Cause

_MEANS = {"not created": Cause.LOAD, "not deleted": Cause.LINGERED}
"""Steps of the load itself. A pod that did not start is a result of the run, not an incident."""


def misses(operations: Iterable[Operation]) -> Iterator[tuple[Cause, str]]:
    """A cause and a sentence per load and missed step of its objects."""
    missed: defaultdict[tuple[str, str], list[Operation]] = defaultdict(list)
    for each in operations:
        if each.what in _MEANS:
            missed[each.load, each.what].append(each)
    for (load, what), found in sorted(missed.items()):
        yield _MEANS[what], f"load {load}: objects {what} in time: {len(found)}. The first of them: {found[0].error}"
