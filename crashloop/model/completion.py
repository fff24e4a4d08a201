"""When the evidence that a scenario waits for is complete."""

from crashloop.model.rehearsal import Rehearsal
from crashloop.spec.scenario import Until


def complete_s(until: Until, rehearsal: Rehearsal) -> float:
    """When the evidence of a rehearsed pod is complete, at most `at_most_s`; that where the pod never gets there."""
    moments = [until.at_least_s]
    for times_s, wanted in ((rehearsal.restarts_s, until.restarts), (rehearsal.exits_s, until.exits)):
        for name, count in wanted.items():
            reached = times_s[name][count - 1 : count] if count else (0.0,)
            moments.append(reached[0] if reached else until.at_most_s)
    if until.phase is not None:
        moments.append(rehearsal.ended_s if rehearsal.phase == until.phase else until.at_most_s)
    return min(max(moments) + until.quiet_s, until.at_most_s)
