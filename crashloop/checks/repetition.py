"""Delays that are late by about the same again and again: stalls of a host scatter, faults of a kubelet do not."""

from collections import defaultdict
from collections.abc import Sequence

from crashloop.checks.delay_bounds import lateness
from crashloop.checks.measured_delay import MeasuredDelay
from crashloop.checks.text import count, seconds

LEAST = 3
"""Delays of one length that have to be late, and all of them."""
ALIKE_S = 2.0
"""By how much they may differ in how late they are."""

DelayKey = tuple[str, str, int]
"""Pod, container and restart."""


def key_of(delay: MeasuredDelay) -> DelayKey:
    return delay.pod.uid, delay.container, delay.due.restart


def late_alike(delays: Sequence[MeasuredDelay]) -> dict[DelayKey, str]:
    """The delays that are late by about the same as all others of their container and length, each with the sentence for it."""
    found: dict[DelayKey, str] = {}
    groups: dict[tuple[str, str, float], list[MeasuredDelay]] = defaultdict(list)
    for each in delays:
        if each.shortest is not None:
            groups[each.pod.uid, each.container, each.due.delay_s].append(each)
    for (_, _, due_s), group in groups.items():
        excesses = [seen.excess_s for each in group if (seen := lateness(each)) is not None]
        if len(group) < LEAST or len(excesses) < len(group) or max(excesses) - min(excesses) > ALIKE_S:
            continue
        by = f"{seconds(min(excesses))} to {seconds(max(excesses))}"
        late = f"All {count(len(group), 'delay')} of {seconds(due_s)} exceeded their bounds, by {by}"
        sentence = f"{late}, which no CPU pressure explains."
        found |= dict.fromkeys(map(key_of, group), sentence)
    return found
