"""When interventions are due. Pure."""

from crashloop.record.counts import Counts
from crashloop.spec.intervention import Trigger


def due_ns(trigger: Trigger, *, created_ns: int, counts: Counts) -> int | None:
    """When an intervention is due (UTC); None before its trigger, and for one before the pod."""
    if trigger.before_pod:
        return None
    if trigger.container is None or trigger.after_restart is None:
        return created_ns + _ns(trigger.after_s)
    exited_ns = counts.exit_ns(trigger.container, trigger.after_restart)
    return None if exited_ns is None else exited_ns + _ns(trigger.after_s)


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
