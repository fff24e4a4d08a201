"""Finds due restarts that never happened. Pure.

Theory of operation. An exit requires a restart if rule, policy or a RestartAllContainers says so. The restart is due after
its delay, and after any restart of the kubelet since; if the model has no delay, after the longest one of the node's curve. A
restart that is missing `ALLOWANCE_S` later is lost, unless there is another explanation: a gap in the recording, a pod that
failed as a whole, an overloaded host.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from crashloop.model.config import Curve, effective_curve
from crashloop.slo.preconditions import FACTS
from crashloop.slo.scrapes import Scrapes
from crashloop.slo.types import Lifecycle, Measured, Restart, SloVerdict
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.evidence_reader import Circumstances, StressEvidence
from crashloop.stress.loads import load_of
from crashloop.stress.phases import Measurement
from crashloop.stress.plan import StressPlan
from crashloop.stress.run_checks import gate
from crashloop.verdict import Outcome

NAME = "no-lost-restart"
ALLOWANCE_S = 60.0
"""Lateness from which on a restart counts as lost: twice that of a correct kubelet (crashloop/model/lateness.py: half of the
60 s of its longest retry), for a host under other load."""
BUSY = 0.9
"""From this share of the host's CPU on, a restart may be late without bound."""


class _Owed(NamedTuple):
    """An exit that required a restart, under observation."""

    pod: Lifecycle
    restart: Restart
    due_s: float
    """The longest possible due delay."""
    watched_ns: int
    """End of the observation."""


def no_lost_restart(
    plan: StressPlan, measured: Sequence[Measurement], recorded: StressEvidence, scrapes: Sequence[Scrapes]
) -> SloVerdict:
    """Whether every exit that required a restart was followed by one, if the observation was long enough."""
    owed = list(_owed(plan, recorded))
    busy = tuple(_busy(measured, scrapes))
    lost, unproven = [], []
    for each in owed:
        around = recorded.circumstances.get(each.pod.pod, Circumstances())
        if each.restart.came_ns is not None or not _is_overdue(each, around):
            continue
        excuse = next(_excuses(each, around, busy), None)
        if excuse is None:
            lost.append(_sentence(each))
        else:
            unproven.append(f"{_sentence(each)} That proves nothing: {excuse}.")
    if lost:
        return gate(NAME, Outcome.FAIL, lost, faults=len(lost), samples=len(owed))
    if unproven:
        return gate(NAME, Outcome.INCONCLUSIVE, unproven, faults=len(unproven), samples=len(owed))
    if not owed:
        return gate(NAME, Outcome.INCONCLUSIVE, ["no exit that required a restart was seen."])
    sentence = f"all {len(owed):,} exits that required a restart were followed by one, or had less than {ALLOWANCE_S:g} s for it."
    return gate(NAME, Outcome.PASS, [sentence], samples=len(owed))


def _owed(plan: StressPlan, recorded: StressEvidence) -> Iterator[_Owed]:
    loads = plan.load.loads
    longest_s = {name: _longest_delay_s(plan, load.node) for name, load in loads.items()}
    for pod in recorded.lifecycles:
        load = load_of(pod.pod, tuple(loads))
        for restart in pod.restarts if load is not None and pod.seen_until_ns is not None else ():
            due_s = restart.due_at_most_s or restart.due_s
            due_s = longest_s[load or ""] if due_s is None else due_s
            if restart.expected and due_s is not None and restart.exited_ns < (pod.seen_until_ns or 0):
                yield _Owed(pod, restart, due_s, pod.seen_until_ns or 0)


def _longest_delay_s(plan: StressPlan, node: str) -> float | None:
    """The maximum of a node's curve; None for a kubelet that does not start."""
    curve = effective_curve(plan.kubelet(node), KubernetesVersion.parse(plan.kubernetes_version))
    return curve.maximum_s if isinstance(curve, Curve) else None


def _is_overdue(owed: _Owed, around: Circumstances) -> bool:
    due_ns = owed.restart.exited_ns + round(1e9 * owed.due_s)
    due_ns = max([due_ns, *(t_ns for t_ns in around.kubelet_started_ns if t_ns > owed.restart.exited_ns)])
    return due_ns + round(1e9 * ALLOWANCE_S) < owed.watched_ns


def _busy(measured: Iterable[Measurement], scrapes: Sequence[Scrapes]) -> Iterator[tuple[Measurement, float]]:
    """The stages with an overloaded host, and its busy share of CPU."""
    for stage in measured:
        run = Measured(phases=(stage.phase,), scrapes=tuple(scrapes))
        share = FACTS["cpu_busy_share"].find(run, stage.phase)
        if share is not None and share >= BUSY:
            yield stage, share


def _excuses(owed: _Owed, around: Circumstances, busy: Iterable[tuple[Measurement, float]]) -> Iterator[str]:
    """Other explanations of a missing restart."""
    exited_ns, until_ns = owed.restart.exited_ns, owed.watched_ns
    if around.damaged:
        yield "its history is damaged"
    for from_ns, to_ns in around.unheard_ns:
        if from_ns < until_ns and to_ns > exited_ns:
            yield f"the runtime's events were lost for {(to_ns - from_ns) / 1e9:.1f} s of it"
    failed_ns = owed.pod.failed_ns
    if failed_ns is not None and exited_ns <= failed_ns <= until_ns:
        yield f"the pod was reported as Failed {(failed_ns - exited_ns) / 1e9:.1f} s after it"
    for stage, share in busy:
        if stage.phase.from_ns < until_ns and stage.phase.to_ns > exited_ns:
            yield f"the host was {100 * share:.0f} % busy in {stage.name}"


def _sentence(owed: _Owed) -> str:
    restart = owed.restart
    waited_s = (owed.watched_ns - restart.exited_ns) / 1e9
    at = datetime.fromtimestamp(restart.exited_ns // 1_000_000 / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    return (
        f'{owed.pod.pod}: restart {restart.number} of "{restart.container}" never came: the container exited at {at} UTC, '
        f"{owed.due_s:g} s was due, and none came for {waited_s:.0f} s."
    )
