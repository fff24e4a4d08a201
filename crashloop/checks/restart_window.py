"""How long a restart can be expected: until the pod has ended or is being deleted."""

from crashloop.checks.case import Case
from crashloop.checks.measured_delay import MeasuredDelay
from crashloop.checks.pod_phase import phases_of
from crashloop.history.recording import PodHistory
from crashloop.model.phase import FAILED, SUCCEEDED
from crashloop.model.restart import Decision
from crashloop.spec.scenario import ContainerKind, InterventionKind


def awaits_init(case: Case, delay: MeasuredDelay) -> bool:
    """Whether init containers run again before the restart: then it comes when they are done, which nobody promises."""
    pod = case.scenario.pod
    return (
        delay.decided.decision is Decision.RESTART_ALL
        and pod.container(delay.container).kind is ContainerKind.REGULAR
        and bool(pod.of_kind(ContainerKind.INIT))
    )


def owed_until_ns(case: Case, pod: PodHistory) -> int | None:
    """When the pod ended or began to be deleted, by truth; None while it is owed restarts to the end of the recording."""
    ends = [change.t_ns for change in phases_of(case, pod)[-1:] if change.phase in (SUCCEEDED, FAILED)]
    ends += [] if pod.deleted is None or pod.deleted.utc_ns is None else [pod.deleted.utc_ns]
    if pod is not case.pods[-1]:
        ends += [
            done.t_ns for done in case.recording.interventions if done.data.action == InterventionKind.RECREATE_POD
        ]
    return min(ends, default=None)
