"""A planted fault: a sentence, and the kubelet's changed answers."""

from collections.abc import Iterable
from enum import Enum
from typing import Any

import msgspec

from sim.behaviour import CORRECT, Behaviour


class Fault(Enum):
    """A way to be wrong. The sentence goes on from "the kubelet"; `change` says it in terms of Behaviour."""

    def __init__(self, sentence: str, change: dict[str, Any]) -> None:
        self.sentence = sentence
        self.change = change


def behaviour_of(faults: Iterable[Fault]) -> Behaviour:
    """A kubelet with these faults and no others. Raises ValueError if two of them change the same answer."""
    changes: dict[str, Any] = {}
    for fault in faults:
        both = changes.keys() & fault.change.keys()
        if both:
            raise ValueError(f"fault {fault.name}: another one changes {sorted(both)} already")
        changes |= fault.change
    return msgspec.structs.replace(CORRECT, **changes)
