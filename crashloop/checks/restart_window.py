"""How long a restart can be expected: until the pod has ended or is being deleted."""

from crashloop.checks.case import Case
from crashloop.checks.evidence import ended_by_node, leaves_ns
from crashloop.checks.measured_delay import MeasuredDelay
from crashloop.checks.pod_phase import phases_of
from crashloop.checks.statement_age import SETTLED_NS
from crashloop.history.recording import PodHistory
from crashloop.model.phase import FAILED, SUCCEEDED
from crashloop.model.restart import Decision
from crashloop.spec.pod import ContainerKind


def awaits_init(case: Case, delay: MeasuredDelay) -> bool:
    """Whether init containers run again before the restart: then it comes when they are done, which nobody promises."""
    pod = case.scenario.pod
    return (
        delay.decided.decision is Decision.RESTART_ALL
        and pod.container(delay.container).kind is ContainerKind.REGULAR
        and bool(pod.of_kind(ContainerKind.INIT))
    )


def owed_until_ns(case: Case, pod: PodHistory) -> int | None:
    """When the pod ended or began to be deleted, by truth, or its node began to end it, by the status that says so.

    None while it is owed restarts to the end of the recording.
    """
    ends = [change.t_ns for change in phases_of(case, pod)[-1:] if change.phase in (SUCCEEDED, FAILED)]
    ended = ended_by_node(pod)
    ends += [] if ended is None else [ended.t_ns - SETTLED_NS]
    ends += [] if pod.deleted is None or pod.deleted.utc_ns is None else [pod.deleted.utc_ns]
    leaves = leaves_ns(case, pod)
    ends += [] if leaves is None else [leaves]
    return min(ends, default=None)
