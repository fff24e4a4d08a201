"""The expected course of a scenario: how long it takes, and when it makes its node start processes. Pure.

Theory of operation. The pod is rehearsed twice, as the fastest and as the slowest right kubelet would have it, without any
intervention but a deletion at a set time; the scenario lasts until the last of them at least. A container start and an exec
probe both make the runtime create a process in the container's namespaces, a request makes the server in the container start
some; what a probe costs beside a start is for the plan.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, zip_longest
from math import inf
from typing import NamedTuple, Self

import msgspec

from crashloop.model.api_server import as_stored
from crashloop.model.config import in_force
from crashloop.model.gates import kubelet_version
from crashloop.model.lateness import soonest_s
from crashloop.model.prediction import setting_of
from crashloop.model.rehearsal import Rehearsal, complete_s, rehearse
from crashloop.model.variants import as_shipped
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Handler, Pod, Probe, ProbeKind
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion

_SLOW_START_S = 3.0
"""What a start takes on a loaded node: image check, create, start; for the first one scheduling and sandbox too."""


_USUAL_SHARE = 0.25
"""How far between the fastest and the slowest right kubelet the real one is: 0.14 to 0.39 for eight of ten scenarios of quick and
full runs, 0.22 their median."""


JUST_AFTER_S = 0.001


class Process(NamedTuple):
    """What a node is made to start."""

    at_s: float
    asks: Handler | None = None
    """How, if it is a probe; None: it is a sandbox or a container."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """What to expect of a scenario; seconds since it was launched. Nothing, unless said otherwise."""

    soonest_s: float = 0.0
    latest_s: float = 0.0
    """When its evidence is complete, with the fastest and with the slowest right kubelet."""
    starts_s: tuple[float, ...] = ()
    """Starts of its sandbox and its containers, in order, with the fastest kubelet."""
    probes_s: tuple[float, ...] = ()
    """Its probes by a command, likewise."""
    requests_s: tuple[float, ...] = ()
    """Its probes over HTTP."""

    @property
    def usual_s(self) -> float:
        """When its evidence is complete as a rule."""
        return _usual_s(self.soonest_s, self.latest_s)

    @classmethod
    def within(cls, soonest_s: float, latest_s: float, processes: Iterable[Process]) -> Self:
        """Processes in any order; those after the usual end are left out."""
        ends_s = _usual_s(soonest_s, latest_s)
        times_s: dict[Handler | None, list[float]] = {}
        for each in processes:
            if each.at_s <= ends_s:
                times_s.setdefault(each.asks, []).append(each.at_s)

        def of(asks: Handler | None) -> tuple[float, ...]:
            return tuple(sorted(times_s.get(asks, ())))

        return cls(
            soonest_s=soonest_s,
            latest_s=latest_s,
            starts_s=of(None),
            probes_s=of(Handler.EXEC),
            requests_s=of(Handler.HTTP),
        )


def _usual_s(soonest_s: float, latest_s: float) -> float:
    return soonest_s + _USUAL_SHARE * (latest_s - soonest_s)


class Rehearsed(NamedTuple):
    """The pod of a scenario as the fastest and as the slowest right kubelet would have it."""

    soonest: Rehearsal
    latest: Rehearsal


def course_of(
    scenario: PodScenario,
    profile: KubeletProfile,
    version: KubernetesVersion,
    deviations: frozenset[str] | None = None,
) -> Course:
    """The course on a node with that profile in a cluster of that version; by default of the kubelet as shipped.

    It ends with the watch itself at most, and lasts as long as that if the scenario changes the kubelet's configuration.
    Raises UsageError if the kubelet does not start with the profile.
    """
    known = as_shipped(kubelet_version(profile, version)) if deviations is None else deviations
    scenario = as_stored(scenario, known)
    played = rehearsed(scenario, profile, version, known)
    soonest_s, latest_s = (
        max(complete_s(scenario.until, each), _intervened_s(scenario, each)) for each in (played.soonest, played.latest)
    )
    ends_s = soonest_s, latest_s
    if scenario.later_profiles:
        ends_s = scenario.longest_s, scenario.longest_s
    processes = processes_of(scenario.pod, played.soonest, ends_s[1])
    return Course.within(*ends_s, (each for each in processes if each.at_s <= _gone_s(scenario)))


def _intervened_s(scenario: PodScenario, played: Rehearsal) -> float:
    """When the last intervention comes, of those that the pod gets to without any; at most the longest watch."""
    times_s = [0.0]
    for trigger in (each.trigger for each in scenario.interventions):
        exits_s = played.exits_s.values() if trigger.container is None else [played.exits_s[trigger.container]]
        number = trigger.after_restart
        begins_s = [0.0] if number is None else [times[number] for times in exits_s if len(times) > number]
        times_s += [each + trigger.after_s for each in begins_s]
    return min(max(times_s), scenario.longest_s)


def _gone_s(scenario: PodScenario) -> float:
    """When the pod is gone at the latest because somebody deletes it at a set time; infinite if nobody does."""
    deletions = (each.trigger for each in scenario.interventions if each.action is InterventionKind.DELETE_POD)
    return scenario.pod.grace_s + min((each.after_s for each in deletions if each.after_restart is None), default=inf)


def rehearsed(
    scenario: PodScenario, profile: KubeletProfile, version: KubernetesVersion, deviations: frozenset[str]
) -> Rehearsed:
    """Interventions are left out. Raises UsageError if the kubelet does not start with the profile."""
    begins = in_force(profile, version, deviations)
    setting = setting_of(scenario, begins, deviations)
    return Rehearsed(
        soonest=rehearse(
            scenario.pod,
            setting,
            begins.gates,
            pace=lambda due_s: soonest_s(due_s, setting.version, mode=setting.mode),
        ),
        latest=rehearse(scenario.pod, setting, begins.gates, pace=setting.latest_s, start_s=_SLOW_START_S),
    )


def processes_of(pod: Pod, rehearsal: Rehearsal, end_s: float) -> Iterator[Process]:
    """What a rehearsed pod makes its node start up to `end_s`, in seconds since it was created; in no order."""
    yield Process(0.0)  # the sandbox
    for name, starts_s in rehearsal.starts_s.items():
        probes = pod.container(name).probes
        for began_s, exited_s in zip_longest(starts_s, rehearsal.exits_s[name], fillvalue=end_s):
            yield Process(began_s)
            yield from _probed(probes, began_s, min(exited_s, end_s))


def _probed(probes: Sequence[Probe], began_s: float, end_s: float) -> Iterator[Process]:
    """The probes in one life. The startup probe ends with its success, and the others wait for that.

    pkg/kubelet/prober/worker.go@v1.37.1 doProbe.
    """
    startups = [each for each in probes if each.kind is ProbeKind.STARTUP]
    started_s = max((_succeeds_s(each, began_s, end_s) for each in startups), default=began_s)
    for probe in probes:
        is_startup = probe.kind is ProbeKind.STARTUP
        asked_s = _asked_s(probe, began_s if is_startup else started_s, started_s if is_startup else end_s)
        yield from (Process(at_s, probe.handler) for at_s in asked_s)


def _succeeds_s(probe: Probe, began_s: float, end_s: float) -> float:
    """Just after the first answer that is no failure, or the end of the life."""
    answers = enumerate(_asked_s(probe, began_s, end_s))
    good = (at_s for number, at_s in answers if not probe.counts_as_failure(probe.answer(number, at_s - began_s)))
    return min(next(good, end_s) + JUST_AFTER_S, end_s)


def _asked_s(probe: Probe, from_s: float, to_s: float) -> Iterator[float]:
    """Up to the end, or to the failure that kills: worker.go@v1.37.1 doProbe, onHold."""
    at_s, failures = from_s + max(probe.period_s, probe.initial_delay_s), 0
    for number in count():
        if at_s >= to_s or (failures == probe.failure_threshold and probe.kind is not ProbeKind.READINESS):
            return
        yield at_s
        failures = failures + 1 if probe.counts_as_failure(probe.answer(number, at_s - from_s)) else 0
        at_s += probe.period_s
