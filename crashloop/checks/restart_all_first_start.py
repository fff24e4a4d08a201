"""Checkers of how soon a pod starts again after RestartAllContainers: several resets together, and each by itself.

Theory of operation. KEP-5532 promises 5 s from the exit to the first start, in 99 % of all resets of a simple pod of two
containers. So one late reset in a hundred proves nothing, and several in a few do: as many as chance makes once in ten
thousand times. Of other pods it promises a minute. But a kubelet that has seen the exit kills and removes in one sync,
without a grace period, so the size of the pod hardly counts, and a single reset has a bound that no chance exceeds.
"""

from collections.abc import Iterator, Sequence

from crashloop.checks.evidence import too_few, too_few_in_all
from crashloop.checks.finding import Checked, Finding, fail_unless
from crashloop.checks.samples import Wait, doubt_of, judged_together
from crashloop.history.recording import PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.lives import ran
from crashloop.restarts.owed import owed_until_ns
from crashloop.restarts.restart_all import RestartAllTrigger, resets_of
from crashloop.words import at_lines, seconds

MIN_RESETS = 3
MOST_S = 5.0
LONGEST_S = 20.0
"""A sync that failed comes again after 15 s at the latest (pkg/kubelet/pod_workers.go@v1.37.1 completeWork), and needs its own
time. In quick runs 39 resets, of pods with up to six containers, took 0.3 s to 1.4 s; in stress runs 279 took 1.5 s in 99 %."""


def check_restart_all_first_start(cases: Sequence[Case]) -> Checked:
    """The first container MUST be created within 5 s after the exit in 99 % of all resets. Needs min_resets (3) resets."""
    resets = [each for case in cases for each in _resets(case, MOST_S)]
    few = tuple(too_few_in_all(cases, len(resets), "min_resets", MIN_RESETS, "reset"))
    if few:
        return Checked(findings=few)
    return judged_together(
        resets,
        f"{len(resets)} resets",
        lambda late, slowest: (
            f"in {late} of {len(resets)} RestartAllContainers nothing was created within {seconds(MOST_S)} after the exit, "
            f"but up to {slowest} after it"
        ),
    )


def check_restart_all_within(case: Case) -> Checked:
    """The first container MUST be created within 20 s after the exit, in every reset. Needs min_resets (0) resets."""
    resets = list(_resets(case, LONGEST_S))
    findings = [_too_late(each) for each in resets if each.is_late]
    findings += too_few(case, len(resets), "min_resets", 0, "reset")
    return Checked(findings=tuple(findings), facts={"took_s": [round(each.took_s, 3) for each in resets]})


def _too_late(reset: Wait) -> Finding:
    seen = (
        f'nothing was created for {seconds(reset.took_s)} after the exit of "{reset.source}" that triggers RestartAllContainers '
        f"{at_lines(reset.lines)}; {seconds(reset.most_s)} is the longest."
    )
    return fail_unless(reset.doubt, seen, *reset.lines)


def _resets(case: Case, most_s: float) -> Iterator[Wait]:
    for pod in case.pods:
        for trigger in resets_of(case, pod):
            reset = _measured(case, pod, trigger, most_s)
            if reset is not None:
                yield reset


def _measured(case: Case, pod: PodHistory, trigger: RestartAllTrigger, most_s: float) -> Wait | None:
    """None if nothing was created, and too little time was watched to call that late."""
    begun = [start for spec in case.scenario.pod.containers for each in ran(pod, spec.name) if (start := each.begun)]
    after = [each for each in begun if each.utc_ns is not None and each.utc_ns > trigger.t_ns]
    first = min(after, key=lambda each: each.utc_ns or 0, default=None)
    owed_ns = min(owed_until_ns(case, pod) or case.recording.end_ns, case.recording.end_ns)
    until_ns = owed_ns if first is None else first.utc_ns or 0
    took_s = (until_ns - trigger.t_ns) / 1e9
    if first is None and took_s <= most_s:
        return None
    names = [each.name for each in case.scenario.pod.containers]
    doubt = doubt_of(case, pod, names, (trigger.t_ns, until_ns), most_s)
    lines = (trigger.exited.line,) if first is None else (trigger.exited.line, first.line)
    return Wait(trigger.container, took_s, most_s, doubt, case.scenario.name, lines)
