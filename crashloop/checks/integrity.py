"""Faults of the history itself, found before any checker runs."""

from crashloop.checks.finding import Finding, error, fail, inconclusive
from crashloop.history.event import Channel
from crashloop.history.payload import AcceptedContainer
from crashloop.history.recording import Recording
from crashloop.model.api_server import drops_policies
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import Container
from crashloop.spec.scenario import PodScenario, Scenario
from crashloop.words import at_lines, seconds

IGNORED_AFTER_NS = 50_000_000_000
"""The kubelet looks for files of static pods every 20 s, and has 30 s for a first start.

Source: pkg/kubelet/apis/config/v1beta1/defaults.go@v1.37.1 FileCheckFrequency.
"""


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
    return _dropped(scenario, recording) or tuple(
        inconclusive(
            f'ground truths about "{each.container}" contradict each other {at_lines(each.lines)}: {each.problem}.',
            *each.lines,
        )
        for pod in recording.pods
        for each in pod.contradictions[:3]
    )


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
