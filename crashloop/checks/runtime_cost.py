"""Checkers of what restarts cost the runtime: containers created, started, removed, and exited ones that are kept.

Theory of operation. The kubelet removes an exited container soon after it has seen the exit of the next one, and what it missed
once a minute; it keeps the newest, whose exit the delay is measured from (pkg/kubelet/pod_container_deletor.go and
pkg/kubelet/kuberuntime/kuberuntime_gc.go @v1.37.1). No text names a number: `MOST_EXITED` is a bound of this suite. Two at once
were the most in 500 restarts on two busy cores.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.restarts.case import Case
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.words import at_lines, count

MOST_EXITED = 10
"""Exited containers of a name that the runtime may hold at once."""
MIN_RESTARTS = 10


def check_exited_bounded(case: Case) -> Checked:
    """The kubelet MUST remove exited containers: the runtime holds at most 10 of a name at once.

    Needs min_restarts (10) restarts, and the runtime's events throughout.
    """
    most: dict[str, int] = {}
    findings: list[Finding] = []
    for name, instances in _containers(case):
        held, at_ns = _most_held(instances)
        most[name] = max(held, most.get(name, 0))
        if held > MOST_EXITED:
            findings.append(_too_many(case, name, instances, held, at_ns))
    return _checked(case, findings, {"most_exited": most})


def check_runtime_operations(case: Case) -> Checked:
    """A restart MUST cost the runtime one create, one start and one remove.

    Needs min_restarts (10) restarts, and the runtime's events throughout.
    """
    findings: list[Finding] = []
    operations: dict[str, dict[str, int]] = {}
    for name, instances in _containers(case):
        restarts = _restarts(instances)
        done = {
            "create": sum(each.created is not None for each in instances) - 1,
            "start": sum(each.started is not None for each in instances) - 1,
            "remove": sum(each.removed is not None for each in instances[:-1]),
        }
        # Of what was created last the runtime's events may still be on their way; what exited last is not removed yet.
        last = instances[-1]
        pending = restarts + (not last.has_run)
        most = {"create": pending, "remove": pending}
        least = {
            "create": restarts - (last.created is None),
            "start": restarts - (last.started is None),
            "remove": restarts - MOST_EXITED,
        }
        operations[name] = {"restarts": restarts} | {f"{what}s": number for what, number in done.items()}
        lines = (instances[0].lines[0], instances[-1].lines[0])
        findings += (
            fail(
                f'"{name}" restarted {count(restarts, "time")} {at_lines(lines)}, and for that the runtime was seen to '
                f"{what} {count(number, 'container')}; one per restart was due.",
                *lines,
            )
            for what, number in done.items()
            if not least[what] <= number <= most.get(what, restarts)
        )
    return _checked(case, findings, {"operations": operations})


def _containers(case: Case) -> Iterator[tuple[str, tuple[Instance, ...]]]:
    """All instances of each container that ran."""
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            if ran(pod, spec.name):
                yield spec.name, pod.instances(spec.name)


def _restarts(instances: Sequence[Instance]) -> int:
    """Starts after the exit of the instance that ran before."""
    have_run = [each for each in instances if each.has_run]
    return sum(
        before.exit_ns is not None and after.begun_ns is not None and before.exit_ns <= after.begun_ns
        for before, after in pairwise(have_run)
    )


def _most_held(instances: Sequence[Instance]) -> tuple[int, int]:
    """The most exited instances that were there at once, and the time (UTC) at which they first were."""
    exits = [(each.exit_ns, 1) for each in instances if each.exit_ns is not None]
    removals = [(each.removed.utc_ns, -1) for each in instances if each.removed and each.removed.utc_ns is not None]
    held = most = at_ns = 0
    for t_ns, change in sorted((*exits, *removals)):
        held += change
        if held > most:
            most, at_ns = held, t_ns
    return most, at_ns


def _too_many(case: Case, name: str, instances: Sequence[Instance], held: int, at_ns: int) -> Finding:
    """The finding; inconclusive if the host stood still for half of the time since the oldest of them had exited."""
    there = [each.exit for each in instances if each.exit is not None and _is_there(each, at_ns)]
    lines = (there[0].line, there[-1].line)
    since_ns = there[0].utc_ns or at_ns
    doubt = excuse(case, (since_ns, at_ns), 0.0, (at_ns - since_ns) / 2e9)
    return fail_unless(
        doubt,
        f'the runtime held {count(held, "exited container")} of "{name}" at once {at_lines(lines)}; {MOST_EXITED} are the most.',
        *lines,
    )


def _is_there(instance: Instance, at_ns: int) -> bool:
    """Whether the runtime has an exited instance at a time (UTC)."""
    exited_ns, removed = instance.exit_ns, instance.removed
    is_removed = removed is not None and removed.utc_ns is not None and removed.utc_ns <= at_ns
    return exited_ns is not None and exited_ns <= at_ns and not is_removed


def _checked(case: Case, findings: list[Finding], facts: dict[str, object]) -> Checked:
    lost = next(case.recording.gaps_of(Channel.RUNTIME, case.recording.begin_ns, case.recording.end_ns), None)
    if any(Channel.RUNTIME not in pod.channels for pod in case.pods):
        findings = [inconclusive("no runtime evidence, and nothing else shows what it creates and removes.")]
    elif lost is not None:
        findings = [inconclusive(f"runtime events were lost (history line {lost.line}).", lost.line)]
    elif not findings:
        restarts = sum(_restarts(instances) for _, instances in _containers(case))
        findings = [*too_few(case, restarts, "min_restarts", MIN_RESTARTS, "restart")]
    return Checked(findings=tuple(findings), facts=facts)
