"""Finds due restarts that never happened, or long after their latest moment. Pure.

Theory of operation. The one reading of a restart (crashloop.restarts) says whether it was owed, when it had to come at the
latest, and what may have held it up or hidden it. Under load restarts come late by the work of the kubelet itself, and rows of
SLOs say how many of them may; one that is later than a second look of the kubelet explains is lost.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from crashloop.restarts.bounds import LOST_AFTER_S
from crashloop.slo.measurements import Lifecycle, Lost, Restart, SloVerdict
from crashloop.stress.load_as_planned import gate
from crashloop.verdict import Outcome

NAME = "no-lost-restart"


def no_lost_restart(lifecycles: Iterable[Lifecycle]) -> SloVerdict:
    """Whether every exit that required a restart was followed by one in time, if the observation was long enough."""
    owed = [
        (pod, each)
        for pod in lifecycles
        for each in pod.restarts
        if each.expected and each.exited_ns < (pod.seen_until_ns or 0)
    ]
    lost = [_sentence(pod, each, each.lost) for pod, each in owed if each.lost is not None and not each.lost.doubt]
    unproven = [
        f"{_sentence(pod, each, each.lost)} {each.lost.doubt}."
        for pod, each in owed
        if each.lost is not None and each.lost.doubt
    ]
    if lost:
        return gate(NAME, Outcome.FAIL, lost, faults=len(lost), samples=len(owed))
    if unproven:
        return gate(NAME, Outcome.INCONCLUSIVE, unproven, faults=len(unproven), samples=len(owed))
    if not owed:
        return gate(NAME, Outcome.INCONCLUSIVE, ["no exit that required a restart was seen."])
    sentence = (
        f"none of {len(owed):,} restarts that were due was missing for {LOST_AFTER_S:g} s more than the kubelet's own retry "
        "allows."
    )
    return gate(NAME, Outcome.PASS, [sentence], samples=len(owed))


def _sentence(pod: Lifecycle, restart: Restart, lost: Lost) -> str:
    at = datetime.fromtimestamp(restart.exited_ns // 1_000_000 / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    came = (
        f"never came in {lost.waited_s:.0f} s" if restart.came_ns is None else f"came after {lost.waited_s:.0f} s only"
    )
    return (
        f'{pod.pod}: restart {restart.number} of "{restart.container}" {came}: the container exited at {at} UTC, and '
        f"{lost.latest_s:.1f} s is the longest."
    )
