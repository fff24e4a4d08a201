"""The lives of a container: its instances that ran, how each ended, and which of them the kubelet no longer knows.

Theory of operation. A program says with which code each life ends, so an instance that ended with another was killed. Once a
minute the kubelet keeps one instance of each container that does not run. One that was created and has not started counts as
such, so the exited one before it is removed: from then on the kubelet knows of no exit of that container.
Source: pkg/kubelet/kuberuntime/kuberuntime_gc.go@v1.37.1 evictableContainers; pkg/kubelet/kubelet.go, ContainerGCPeriod.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import Done, PodHistory
from crashloop.history.stamps import Fact
from crashloop.restarts.answers import failures_left, fatal
from crashloop.restarts.case import Case, ended_as_planned
from crashloop.spec.intervention import MAKE_ANOTHER_POD, InterventionKind
from crashloop.spec.pod import Container, Handler
from crashloop.spec.program import KILLED

PERIOD_NS = 59_000_000_000
"""A kubelet that removes exited instances more often than once a minute, and a second for stamps, does it by another rule."""
PASS_NS = 10_000_000_000
"""From the list of what does not run to the last removal: one container after the other."""


def collected_early(instances: Sequence[Instance]) -> dict[int, Fact]:
    """The removal of each instance that was removed while the next one was created and did not run yet, by its ordinal."""
    found: dict[int, Fact] = {}
    last_ns = -PERIOD_NS
    for instance, following in pairwise(instances):
        removed_ns = _removed_while_created(instance, following)
        if instance.removed is not None and removed_ns is not None and removed_ns - last_ns >= PERIOD_NS:
            found[instance.ordinal], last_ns = instance.removed, removed_ns
    return found


def _removed_while_created(instance: Instance, following: Instance) -> int | None:
    removed, created, started, exited = instance.removed, following.created, following.started, following.exit
    if removed is None or created is None or started is None:
        return None
    if removed.utc_ns is None or created.utc_ns is None or started.utc_ns is None:
        return None
    # Once the next one has exited too, the older one is removed at any time, and nothing follows from that.
    gone_ns = started.utc_ns + PASS_NS if exited is None or exited.utc_ns is None else exited.utc_ns
    ends_ns = min(started.utc_ns + PASS_NS, gone_ns)
    return removed.utc_ns if created.utc_ns + created.resolution_ns < removed.utc_ns < ends_ns else None


class InSandbox(NamedTuple):
    """What the runtime showed of a pod in one of its sandboxes."""

    since: Fact | None
    """The creation of the sandbox; None of the first."""
    until_ns: int | None
    """The creation of the next one, UTC; None of the last."""
    containers: Mapping[str, tuple[Instance, ...]]

    def instances(self, container: str) -> tuple[Instance, ...]:
        """In order."""
        return self.containers.get(container, ())

    def ran(self, container: str) -> tuple[Instance, ...]:
        """Those whose process ran."""
        return tuple(each for each in self.instances(container) if each.has_run)


def by_sandbox(pod: PodHistory) -> tuple[InSandbox, ...]:
    """The pod in each of its sandboxes, by the time at which instances began; a sandbox in which nothing began was an attempt."""
    made: dict[str, Fact] = {}
    for event in pod.sandboxes:
        if event.phase in ("created", "started") and event.fact.utc_ns is not None:
            made.setdefault(event.sandbox_id, event.fact)
    facts = sorted(made.values(), key=lambda fact: fact.utc_ns or 0)
    begins_ns = [fact.utc_ns or 0 for fact in facts]
    found: dict[int, dict[str, tuple[Instance, ...]]] = {}
    for name, instances in pod.containers.items():
        for each in instances:
            number = max(0, bisect_right(begins_ns, each.begun_ns or 0) - 1)
            containers = found.setdefault(number, {})
            containers[name] = (*containers.get(name, ()), each)
    if facts and len(facts) - 1 not in found and found:
        found[len(facts) - 1] = {}
    numbers = sorted(found) or [0]
    ends_ns = (*(begins_ns[number] for number in numbers[1:]), None)
    return tuple(
        InSandbox(facts[number] if place else None, until_ns, found.get(number, {}))
        for place, (number, until_ns) in enumerate(zip(numbers, ends_ns, strict=True))
    )


def ran(pod: PodHistory, container: str) -> tuple[Instance, ...]:
    """The container's instances whose process ran; one that was only created is a start that failed."""
    return tuple(each for each in pod.instances(container) if each.has_run)


def exited_by_itself(case: Case, container: str, number: int, instance: Instance) -> bool:
    """Whether instance `number` ended as its program says it does."""
    return ended_as_planned(case.scenario.pod.container(container), instance, number)


def was_killed(case: Case, container: str, number: int, instance: Instance) -> bool:
    """Whether somebody ended it before its program did; of a program that nobody knows, `may_be_killed` says what is possible."""
    spec = case.scenario.pod.container(container)
    if not spec.program.known or exited_by_itself(case, container, number, instance):
        return False
    return instance.exit_code in (spec.exit_code_on_term, KILLED)


def was_failing(case: Case, spec: Container, number: int, instance: Instance) -> bool:
    """Whether a probe may have failed often enough, so that the kubelet may have been ending it when it ended.

    Failures of the life before may go on, and a question over HTTP that the end cuts is one more. Without the containers'
    journals, the plan of the probe tells.
    """
    if not any(Channel.JOURNAL in pod.channels for pod in case.pods):
        begun_ns, ended_ns = instance.begun_ns or 0, instance.exit_ns or 0
        ran_s = (ended_ns - begun_ns) / 1e9
        return any(probe.kills_after_s(number == 0) <= ran_s for probe in spec.killing_probes)
    return any(
        fatal(instance, probe, failures=before) is not None
        or (
            probe.handler is Handler.HTTP
            and probe.failure_threshold - 1 in failures_left(instance, probe, failures=before)
        )
        for probe in spec.killing_probes
        for before in range(probe.failure_threshold if number else 1)
    )


def was_changed(case: Case, container: str, instance: Instance) -> bool:
    """Whether its definition changed while it ran, so that the kubelet may have been ending it when it ended."""
    exited_ns = (instance.exit_ns or 0) + (instance.exit.resolution_ns if instance.exit else 0)
    return any((instance.begun_ns or 0) <= each <= exited_ns for each in case.changes_ns(container))


def was_being_ended(case: Case, spec: Container, number: int, instance: Instance) -> bool:
    """Whether a change of its definition or a probe may have been about to end it when it ended."""
    return was_changed(case, spec.name, instance) or was_failing(case, spec, number, instance)


def may_be_killed(case: Case, container: str, instance: Instance) -> bool:
    """Whether a probe or a hook may have ended a life of a user's own container, of whose program nothing is known."""
    soonest_s, began_ns = case.scenario.pod.container(container).killed_after_s, instance.start_ns
    if soonest_s is None or began_ns is None:
        return soonest_s is not None
    return instance.exit_ns is None or instance.exit_ns - began_ns >= soonest_s * 1e9


def earliest_ns(instances: tuple[Instance, ...]) -> int | None:
    """When the first of these instances was created or, if that was not seen, started; a short life may be stamped backwards."""
    known = [
        fact.utc_ns
        for each in instances[:1]
        for fact in ((each.created,) if each.created else (each.start, each.exit))
        if fact is not None and fact.utc_ns is not None
    ]
    return min(known, default=None)


def first_begun(instances: tuple[Instance, ...], from_ns: int, to_ns: int) -> Instance | None:
    """The first instance that began in that time."""
    return next((each for each in instances if from_ns <= (each.begun_ns or 0) < to_ns), None)


def leaves_ns(case: Case, pod: PodHistory) -> int | None:
    """When somebody began to delete the pod, or its deadline passed: that ends its containers under every policy."""
    began = [done.t_ns for done in deletions(case, pod)][:1]
    began += [each.deletion_ns for each in pod.statuses if each.deletion_ns is not None]
    deadline = deadline_ns(case, pod)
    return min([*began, *([] if deadline is None else [deadline])], default=None)


def deadline_ns(case: Case, pod: PodHistory) -> int | None:
    """When activeDeadlineSeconds have passed since the pod's startTime; None without a deadline or a startTime."""
    deadline_s = case.scenario.pod.active_deadline_s
    started = (each.started_ns for each in pod.statuses if each.started_ns is not None)
    begun_ns = next(started, None)
    return None if deadline_s is None or begun_ns is None else begun_ns + deadline_s * 1_000_000_000


def deletions(case: Case, pod: PodHistory) -> Iterator[Done]:
    """The interventions that ended a pod: each pod is ended by the next that makes another, the last perhaps for good.

    One that makes another while the pod before still ends has made none that was ever seen.
    """
    done, begun_ns = case.recording.interventions, first_sign_ns(pod)
    made = [each for each in done if each.data.action in MAKE_ANOTHER_POD]
    before = 0 if pod is case.pods[0] else sum(each.t_ns < begun_ns for each in made)
    yield from made[before : before + 1]
    if pod is case.pods[-1]:
        yield from (each for each in done if each.data.action == InterventionKind.DELETE_POD)


def first_sign_ns(pod: PodHistory) -> int:
    """The first sign of a pod: of the API, or its sandbox; 0 if there is none."""
    signs = [each.t_ns for each in pod.statuses[:1]] + [each.fact.utc_ns or 0 for each in pod.sandboxes[:1]]
    return min((each for each in signs if each), default=0)
