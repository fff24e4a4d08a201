"""The expected course of a scenario: how long it takes, and when it makes its node start processes. Pure.

Theory of operation. The pod is rehearsed twice, as the fastest and as the slowest right kubelet would have it; interventions
are left out. A container start and an exec probe both make the runtime create a process in the container's namespaces; what a
probe costs beside a start is for the plan.
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple, Self

import msgspec

from crashloop.model.api_server import as_stored
from crashloop.model.config import in_force
from crashloop.model.gates import kubelet_version
from crashloop.model.lateness import soonest_s
from crashloop.model.prediction import setting_of
from crashloop.model.rehearsal import Rehearsal, complete_s, rehearse
from crashloop.model.variants import as_shipped
from crashloop.spec.pod import Handler, Pod, Probe, ProbeKind
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion

_SLOW_START_S = 3.0
"""What a start takes on a loaded node: image check, create, start; for the first one scheduling and sandbox too."""


_USUAL_SHARE = 0.25
"""How far between the fastest and the slowest right kubelet the real one is: 0.14 to 0.39 for eight of ten scenarios of quick and
full runs, 0.22 their median."""


class Process(NamedTuple):
    """What a node is made to start."""

    at_s: float
    is_probe: bool = False
    """Whether it is a probe by a command, not a sandbox or a container."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """What to expect of a scenario; seconds since it was launched. Nothing, unless said otherwise."""

    soonest_s: float = 0.0
    latest_s: float = 0.0
    """When its evidence is complete, with the fastest and with the slowest right kubelet."""
    starts_s: tuple[float, ...] = ()
    """Starts of its sandbox and its containers, in order, with the fastest kubelet."""
    probes_s: tuple[float, ...] = ()
    """Its probes by a command, likewise."""

    @property
    def usual_s(self) -> float:
        """When its evidence is complete as a rule."""
        return self.soonest_s + _USUAL_SHARE * (self.latest_s - self.soonest_s)

    @classmethod
    def within(cls, soonest_s: float, latest_s: float, processes: Iterable[Process]) -> Self:
        """Processes in any order; those after the end are left out."""
        kept = sorted(each for each in processes if each.at_s <= latest_s)
        return cls(
            soonest_s=soonest_s,
            latest_s=latest_s,
            starts_s=tuple(each.at_s for each in kept if not each.is_probe),
            probes_s=tuple(each.at_s for each in kept if each.is_probe),
        )


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
    ends_s = complete_s(scenario.until, played.soonest), complete_s(scenario.until, played.latest)
    if scenario.later_profiles:
        ends_s = scenario.longest_s, scenario.longest_s
    return Course.within(*ends_s, processes_of(scenario.pod, played.soonest, ends_s[1]))


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
        executed = [each for each in pod.container(name).probes if each.handler is Handler.EXEC]
        for began_s, exited_s in zip_longest(starts_s, rehearsal.exits_s[name], fillvalue=end_s):
            yield Process(began_s)
            for probe in executed:
                yield from _probed(probe, began_s, min(exited_s, end_s))


def _probed(probe: Probe, from_s: float, to_s: float) -> Iterator[Process]:
    """A startup probe is asked until it succeeds."""
    at_s, number = from_s + probe.period_s, 0
    while at_s < to_s:
        yield Process(at_s, is_probe=True)
        if probe.kind is ProbeKind.STARTUP and not probe.counts_as_failure(probe.answer(number, at_s - from_s)):
            return
        at_s, number = at_s + probe.period_s, number + 1
