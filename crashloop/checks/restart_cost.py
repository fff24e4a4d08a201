"""Checkers of what restarts cost: containers created, started and removed, exited ones that are kept, and the kubelet's log.

Theory of operation. The kubelet removes an exited container soon after it has seen the exit of the next one, and what it missed
once a minute; it keeps the newest, whose exit the delay is measured from (pkg/kubelet/pod_container_deletor.go and
pkg/kubelet/kuberuntime/kuberuntime_gc.go @v1.37.1). No text names a number: `MOST_EXITED` is a bound of this suite. Two at once
were the most in 500 restarts on two busy cores.

A longer delay has more looks, and each is a line of the kubelet's log; so restarts with the same delay are compared, in a pod
that nothing makes the kubelet look at. The bytes of all lines about the pod are known at each line about a start that was held
back, so those of one restart lie between the first such line of one wait and that of the next. The constant amount is an
expectation of this suite: KEP-5593 says that logs are spammed, and names no number.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median

from crashloop.checks.checker import Need, Seen, checker
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import LoggedDelay, PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import first_gap
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.spec.scenario import Mode
from crashloop.words import at_lines, count

MOST_EXITED = 10
"""Exited containers of a name that the runtime may hold at once."""
COUNTED = Need("restarts", 10, "restart", is_shown=False)


@checker("exited-bounded", COUNTED, "the runtime's events throughout")
def check_exited_bounded(case: Case, seen: Seen) -> Iterator[Finding]:
    """The kubelet MUST remove exited containers: the runtime holds at most 10 of a name at once."""
    most: dict[str, int] = {}
    findings: list[Finding] = []
    for name, instances in _containers(case):
        held, at_ns = _most_held(instances)
        seen["restarts"] += _restarts(instances)
        most[name] = max(held, most.get(name, 0))
        if held > MOST_EXITED:
            findings.append(_exited_at_once(case, name, instances, held, at_ns))
    seen.facts["most_exited"] = most
    yield from (tuple(_unseen(case)) or findings)


@checker("runtime-operations", COUNTED, "the runtime's events throughout")
def check_runtime_operations(case: Case, seen: Seen) -> Iterator[Finding]:
    """A restart MUST cost the runtime one create, one start and one remove."""
    findings: list[Finding] = []
    operations: dict[str, dict[str, int]] = {}
    for name, instances in _containers(case):
        restarts, last = _restarts(instances), instances[-1]
        seen["restarts"] += restarts
        done = {
            "create": sum(each.created is not None for each in instances) - 1,
            "start": sum(each.started is not None or each.was_refused for each in instances) - 1,
            "remove": sum(each.removed is not None for each in instances[:-1]),
        }
        # Of what was created last the runtime's events may still be on their way; what exited last is not removed yet.
        pending = restarts + (not last.has_run)
        bounds = {
            "create": (restarts - (last.created is None), pending),
            "start": (restarts - (last.started is None), restarts),
            "remove": (restarts - MOST_EXITED, pending),
        }
        operations[name] = {"restarts": restarts} | {f"{what}s": number for what, number in done.items()}
        lines = (instances[0].lines[0], instances[-1].lines[0])
        for what, (least, most) in bounds.items():
            if not least <= done[what] <= most:
                restarted = f'"{name}" restarted {count(restarts, "time")} {at_lines(lines)}'
                was_seen = f"for that the runtime was seen to {what} {count(done[what], 'container')}"
                findings.append(fail(f"{restarted}, and {was_seen}; one per restart was due.", *lines))
    seen.facts["operations"] = operations
    yield from (tuple(_unseen(case)) or findings)


def _unseen(case: Case) -> Iterator[Finding]:
    """That events of the runtime are missing: then neither its operations nor its containers can be counted."""
    lost = first_gap(case, Channel.RUNTIME)
    if any(Channel.RUNTIME not in pod.channels for pod in case.pods):
        yield inconclusive("no runtime evidence, and nothing else shows what it creates and removes.")
    elif lost is not None:
        yield inconclusive(f"runtime events were lost {at_lines([lost.line])}.", lost.line)


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


def _exited_at_once(case: Case, name: str, instances: Sequence[Instance], held: int, at_ns: int) -> Finding:
    """The finding; inconclusive if the host stood still for half of the time since the oldest of them had exited."""
    there = [each.exit for each in instances if each.exit is not None and _is_there(each, at_ns)]
    lines = (there[0].line, there[-1].line)
    since_ns = there[0].utc_ns or at_ns
    doubt = excuse(case, (since_ns, at_ns), 0.0, (at_ns - since_ns) / 2e9)
    exited = f'the runtime held {count(held, "exited container")} of "{name}" at once {at_lines(lines)}'
    return fail_unless(doubt, f"{exited}; {MOST_EXITED} are the most.", *lines)


def _is_there(instance: Instance, at_ns: int) -> bool:
    """Whether the runtime has an exited instance at a time (UTC)."""
    exited_ns, removed = instance.exit_ns, instance.removed
    is_removed = removed is not None and removed.utc_ns is not None and removed.utc_ns <= at_ns
    return exited_ns is not None and exited_ns <= at_ns and not is_removed


MOST_GROWTH = 1.25
"""How much more the last restarts may cost than the first: each line grows with its numbers, such as the count of a backoff."""
LOGGED = Need("restarts", 12, "restart", "with a line about its delay", is_shown=False)


@checker("log-growth", LOGGED)
def check_log_growth(case: Case, seen: Seen) -> Iterator[Finding]:
    """The kubelet's log MUST grow by a constant amount per restart: no more by the last third of them than by the first.

    Counted are restarts with the same delay, each with a line of the kubelet's log about its delay.
    """
    grown: dict[str, int] = {}
    for pod in case.pods if case.scenario.mode is Mode.NATURAL else ():
        for spec in case.scenario.pod.containers:
            per_restart = _bytes_per_restart(pod, spec.name)
            seen["restarts"] += len(per_restart)
            if len(per_restart) < case.number(LOGGED.parameter, LOGGED.least):
                continue
            third = len(per_restart) // 3
            earlier, later = per_restart[:third], per_restart[-third:]
            first, last = (median(cost for cost, _ in part) for part in (earlier, later))
            grown[spec.name] = round(last)
            if last > MOST_GROWTH * first:
                lines = (earlier[0][1], later[-1][1])
                yield fail(
                    f'each of the last {third} restarts of "{spec.name}" cost the kubelet\'s log {last:.0f} bytes, '
                    f"and each of the first {third} {first:.0f} {at_lines(lines)}; a constant amount was due.",
                    *lines,
                )
    seen.facts["bytes_per_restart"] = grown


def _bytes_per_restart(pod: PodHistory, container: str) -> list[tuple[int, int]]:
    """The bytes from the first line of each wait to that of the next, if both have the newest delay, and the latter's line."""
    starts_ns = [each.begun_ns for each in ran(pod, container) if each.begun_ns is not None]

    def starts_before(logged: LoggedDelay) -> int:
        return sum(started_ns <= logged.t_ns for started_ns in starts_ns)

    logged = [each for each in pod.logged if each.container == container and each.pod_bytes is not None]
    waits = [(number, list(lines)) for number, lines in groupby(logged, starts_before)]
    restarts = [
        (
            after[0].delay_s if after[0].delay_s == before[0].delay_s else None,
            sum(each.pod_bytes or 0 for each in (*before[1:], after[0])),
            after[0].line,
        )
        for (number, before), (following, after) in pairwise(waits)
        if following == number + 1
    ]
    newest_s = restarts[-1][0] if restarts else None
    return [(collected, line) for delay_s, collected, line in restarts if delay_s == newest_s is not None]
