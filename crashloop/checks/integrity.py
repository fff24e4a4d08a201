"""Faults of the history itself, found before any checker runs."""

from collections.abc import Iterator

from crashloop.checks.finding import Finding, error, fail, inconclusive
from crashloop.history.event import Channel
from crashloop.history.instances import CLOCKS_NS, Instance
from crashloop.history.payload import AcceptedContainer
from crashloop.history.recording import Recording
from crashloop.history.stamps import Fact
from crashloop.model.api_server import drops_policies
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import Container
from crashloop.spec.scenario import PodScenario, Scenario
from crashloop.words import at_lines, seconds

IGNORED_AFTER_NS = 50_000_000_000
"""The kubelet looks for files of static pods every 20 s, and has 30 s for a first start.

Source: pkg/kubelet/apis/config/v1beta1/defaults.go@v1.37.1 FileCheckFrequency.
"""

STARTS_APART_S = 0.8
"""From the runtime's start to the first line of the program, beyond what the host held up. Of 523 starts of a run beside a load
of 20 on two processors the worst was 0.43 s."""
HELD_FACTOR = 2
"""A program may wait longer than what speaks for its node."""


def obstacles(scenario: Scenario, recording: Recording) -> tuple[Finding, ...]:
    """Why nothing in the recording can be judged; none if it can.

    Damage inside the file makes everything in it doubtful: ERROR.
    """
    if recording.broken:
        return tuple(
            error(f"the history is damaged {at_lines([each.line])}: {each.problem}.", each.line)
            for each in recording.broken[:3]
        )
    if recording.begin is None:
        return (inconclusive("the history is empty: nothing was recorded."),)
    if recording.begin.scenario != scenario:
        named = recording.begin.scenario.name
        recorded = f"scenario {named!r}" if named != scenario.name else "another declaration of the scenario"
        return (
            error(
                f"the history was recorded for {recorded} (history line 1), not for the plan's {scenario.name!r}.", 1
            ),
        )
    if recording.end is not None and recording.end.reason == "failed":
        detail = recording.end.detail or "it left no message"
        return (error(f"nothing could be recorded {at_lines([recording.end_line])}: {detail}", recording.end_line),)
    return ()


def pod_obstacles(scenario: PodScenario, recording: Recording) -> tuple[Finding, ...]:
    """Why nothing in the recording of a pod can be judged: it was refused, changed or not seen, or ground truths differ."""
    if recording.end is not None and recording.end.reason == "refused":
        detail = recording.end.detail or "no detail"
        return (
            error(f"the API server refused the pod {at_lines([recording.end_line])}: {detail}.", recording.end_line),
        )
    if not recording.pods and _was_ignored(scenario, recording):
        watched = seconds((recording.end_ns - recording.begin_ns) / 1e9)
        return (
            fail(f"neither a container nor a mirror pod of the static pod came within {watched}.", recording.end_line),
        )
    if not recording.pods:
        return (inconclusive(f"nothing was recorded about the pod {at_lines([recording.end_line])}."),)
    return _dropped(scenario, recording) or (
        *(error(_contradict(*each), *each[1]) for each in _starts_apart(recording)),
        *(
            inconclusive(_contradict(each.container, each.lines, each.problem), *each.lines)
            for pod in recording.pods
            for each in pod.contradictions[:3]
        ),
    )


def _contradict(container: str, lines: tuple[int, ...], problem: str) -> str:
    return f'ground truths about "{container}" contradict each other {at_lines(lines)}: {problem}.'


def _starts_apart(recording: Recording) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """The starts that runtime and journal cannot both place rightly: container, lines, problem.

    Nobody speaks before its container was created, nor begins to after its exit. A program that begins late waits for a CPU or
    for a disk, so that the pressure of the whole system bounds that, and no control container: the runtime creates one, and
    starts nothing in it. Only where control containers speak for that time, else it may be another host's; and where neither
    channel was lost in it, else the two may be starts of different instances.
    """
    for pod, name in ((one, name) for one in recording.pods for name in one.containers):
        for each in pod.instances(name):
            started, spoke = each.started, each.journal_started
            if started is None or spoke is None or started.utc_ns is None or spoke.utc_ns is None:
                continue
            from_ns, to_ns = sorted((started.utc_ns, spoke.utc_ns))
            apart_s = (to_ns - from_ns - started.resolution_ns - spoke.resolution_ns) / 1e9
            if apart_s <= STARTS_APART_S:
                continue
            host, problem = recording.host, _impossible(each, spoke)
            held, pressed_s = host.held(from_ns, to_ns), host.anybody_waited_s(from_ns, to_ns)
            held_s = max(HELD_FACTOR * held.total_s, pressed_s)
            if not problem and (held.slowest_control_s is None or apart_s - held_s <= STARTS_APART_S):
                continue
            if any(any(recording.gaps_of(one, from_ns, to_ns)) for one in (Channel.RUNTIME, Channel.JOURNAL)):
                continue
            placed = f"runtime and journal place the start of instance {each.ordinal} {seconds(apart_s)} apart"
            why = problem or f"the host held it up for {seconds(held_s)}"
            yield name, (started.line, spoke.line), f"{placed}, and {why}"


def _impossible(instance: Instance, spoke: Fact) -> str:
    """That the journal begins while the runtime has no such container, beyond what clocks may differ by; empty if not."""
    created, exited, unsure_ns = instance.created, instance.exited, CLOCKS_NS + spoke.resolution_ns
    spoke_ns = spoke.utc_ns or 0
    if created is not None and created.utc_ns is not None and spoke_ns + unsure_ns < created.utc_ns:
        return "the journal begins before the runtime's create"
    if exited is not None and exited.utc_ns is not None and spoke_ns - unsure_ns > exited.utc_ns + exited.resolution_ns:
        return "the journal begins after the runtime's exit"
    return ""


def _was_ignored(scenario: PodScenario, recording: Recording) -> bool:
    """Whether a node that was followed for longer than it may take has shown nothing of a static pod."""
    from_ns, to_ns = recording.begin_ns, recording.end_ns
    lost = any(any(recording.gaps_of(channel, from_ns, to_ns)) for channel in (Channel.RUNTIME, Channel.API))
    is_over = recording.end is not None and recording.end.reason == "deadline" and to_ns - from_ns > IGNORED_AFTER_NS
    is_followed = recording.host.held(from_ns, to_ns).slowest_control_s is not None and recording.host.covers(
        from_ns, to_ns
    )
    held_ns = recording.host.held_s(from_ns, to_ns) * 1e9
    return (
        isinstance(scenario.owner, StaticPod)
        and is_over
        and is_followed
        and not lost
        and held_ns < IGNORED_AFTER_NS // 2
    )


def _dropped(scenario: PodScenario, recording: Recording) -> tuple[Finding, ...]:
    """What the API server dropped from a pod without a word: VAL-18 accuses it, and no kubelet is to be accused instead."""
    if drops_policies(scenario):
        return ()  # what becomes of such a pod is what the scenario asks
    found = []
    for pod in recording.pods:
        accepted = {each.name: each for each in pod.accepted}
        for spec in scenario.pod.containers:
            kept = accepted.get(spec.name)
            lost = "" if kept is None else _lost(spec, kept)
            if kept is not None and lost and pod.created is not None:
                sentence = f'the API server dropped {lost} of "{spec.name}" {at_lines([pod.created.line])}'
                # pkg/api/pod/util.go@v1.37.1 dropContainerRestartRules
                hint = "" if kept.restart_policy_rules else " With its gate ContainerRestartRules off it does so."
                because = f"the pod is not the one that was to be tried.{hint}"
                found.append(inconclusive(f"{sentence}; {because}", pod.created.line))
    return tuple(found[:1])


def _lost(sent: Container, kept: AcceptedContainer) -> str:
    """The fields that a container has lost; empty if it has them all."""
    rules = len(kept.restart_policy_rules or ())
    lost = ["restartPolicy"] if sent.restart_policy is not None and kept.restart_policy is None else []
    if rules < len(sent.rules):
        lost.append(f"{len(sent.rules) - rules} of {len(sent.rules)} restartPolicyRules")
    return " and ".join(lost)


def unfinished(recording: Recording) -> Finding | None:
    """Why a recording that holds nothing objectionable cannot PASS all the same."""
    cut_off = recording.cut_off
    if cut_off is not None:
        return inconclusive(f"the history ends early {at_lines([cut_off.line])}: {cut_off.problem}.", cut_off.line)
    if recording.end is not None and recording.end.reason == "interrupted":
        detail = f": {recording.end.detail.rstrip('.')}" if recording.end.detail else ""
        return inconclusive(
            f"the recording was interrupted {at_lines([recording.end_line])}{detail}.", recording.end_line
        )
    return None
