"""What a container's probes were answered, by the notes in its journal."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from crashloop.history.instances import Instance
from crashloop.history.stamps import Fact
from crashloop.spec.pod import Handler, Probe, ProbeKind

ON_ITS_WAY_NS = 100_000_000
"""An answer that was given reaches the kubelet within this time."""
EARLY_S = 0.5
"""By how much less than a period a question may come after the answer to the one before, which came late."""
NOTED_WITHIN_S = 0.3
"""From a question to the note of its answer, where a command starts as fast as that."""
AHEAD_NS = 1_000_000_000
"""By how much the clock of an answer may be ahead of that of a status: both are shifted to the same clock."""


class ProbeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer. It was stamped when it was decided, before the kubelet had it."""

    number: int
    """From 0 in each life."""
    failed: bool
    """Whether the kubelet takes it for a failure."""
    in_a_row: int
    """The how manieth equal answer in a row it is, from 1."""
    fact: Fact
    had_ns: int
    """When the kubelet has it at the earliest, UTC; 0 if its time is not known."""


def answers_of(instance: Instance, probe: Probe, *, failures: int = 0, successes: int = 0) -> Iterator[ProbeAnswer]:
    """The answers of one life in order, after so many failures, or else successes, that count already."""
    before, in_a_row = failures > 0, failures or successes
    for note in instance.notes:
        kind, dot, number = note.name.partition(".")
        if kind != probe.kind or not dot or not number.isdigit():
            continue
        if _is_of_the_next_life(note.fact, instance):
            return
        failed = probe.counts_as_failure(note.value)
        in_a_row = in_a_row + 1 if failed is before else 1
        before = failed
        answering_ns = round(probe.answering_s(note.value) * 1e9)
        yield ProbeAnswer(
            number=int(number),
            failed=failed,
            in_a_row=in_a_row,
            fact=note.fact,
            had_ns=0 if note.fact.utc_ns is None else note.fact.utc_ns + answering_ns,
        )


def starts_in_s(instance: Instance) -> float:
    """What runtime and interpreter take for a command there: from the create of the container to its program's first line."""
    created, spoke = instance.created, instance.journal_started
    if created is None or spoke is None or created.utc_ns is None or spoke.utc_ns is None:
        return 0.0
    return max(0, spoke.utc_ns - created.utc_ns) / 1e9


def first_success(instances: Iterable[Instance], probe: Probe) -> Fact | None:
    """The first success of a startup probe in any life."""
    return next((answer.fact for each in instances for answer in answers_of(each, probe) if not answer.failed), None)


def has_succeeded(answers: Iterable[ProbeAnswer], times: int, t_ns: int) -> bool:
    """Whether a status of that time may follow from so many successes in a row."""
    return any(not each.failed and each.in_a_row >= times and each.had_ns <= t_ns + AHEAD_NS for each in answers)


def successes_left(instance: Instance, probe: Probe, *, successes: int = 0) -> frozenset[int]:
    """How many successes in a row may count when a life is over, after so many that counted before.

    An answer under way when the container ends is a failure, or of a command counts neither way (`failures_left`), and leaves no
    note where the command had not come that far.
    """
    answers = tuple(answers_of(instance, probe, successes=successes))
    if not answers:
        return frozenset({successes})
    left, before = (
        successes if each is None else 0 if each.failed else each.in_a_row
        for each in (answers[-1], (None, *answers)[-2])
    )
    if _may_be_cut_off(answers[-1], instance):
        return frozenset({left, 0, before} if probe.handler is Handler.EXEC else {left, 0})
    return frozenset({left, 0} if _may_be_asked_again(answers[-1], probe, instance) else {left})


def fatal(instance: Instance, probe: Probe, *, failures: int = 0) -> ProbeAnswer | None:
    """The answer after which the kubelet has to kill the container; None if there was none.

    A startup probe that has succeeded is not asked again.
    """
    return _fatal(answers_of(instance, probe, failures=failures), probe)


def _fatal(answers: Iterable[ProbeAnswer], probe: Probe) -> ProbeAnswer | None:
    for each in answers:
        if each.failed and each.in_a_row == probe.failure_threshold:
            return each
        if probe.kind is ProbeKind.STARTUP and not each.failed:
            return None
    return None


def spared(instance: Instance, probe: Probe) -> int:
    """How often failures in a row, fewer than the threshold, were followed by a success."""
    failures = times = 0
    for each in answers_of(instance, probe):
        times += not each.failed and 0 < failures < probe.failure_threshold
        failures = each.in_a_row if each.failed else 0
    return times


def failures_left(instance: Instance, probe: Probe, *, failures: int = 0) -> frozenset[int]:
    """How many failures in a row may count when a life is over, after so many that counted before; 0 if they have killed.

    An answer under way when the container ends is a failure, whatever was planned. Of a command it may be an error as well,
    which counts neither way: the runtime decides (pkg/probe/exec/exec.go@v1.37.1 Probe). It leaves no note where the program
    had not come that far.
    """
    answers = tuple(answers_of(instance, probe, failures=failures))
    left = _left(answers, probe, failures)
    if not answers or not _may_be_cut_off(answers[-1], instance):
        early_s = max(NOTED_WITHIN_S, starts_in_s(instance))
        is_open = instance.exit is not None and (
            not answers or _may_be_asked_again(answers[-1], probe, instance, early_s)
        )
        return frozenset({left, (left + 1) % probe.failure_threshold} if is_open else {left})
    before = _left(answers[:-1], probe, failures)
    failed = (before + 1) % probe.failure_threshold
    return frozenset({left, failed, before} if probe.handler is Handler.EXEC else {left, failed})


def _left(answers: Sequence[ProbeAnswer], probe: Probe, failures: int) -> int:
    if not answers:
        return failures
    return 0 if _fatal(answers, probe) is not None or not answers[-1].failed else answers[-1].in_a_row


def _may_be_cut_off(answer: ProbeAnswer, instance: Instance) -> bool:
    ended = instance.exit
    if ended is None or ended.utc_ns is None or answer.fact.utc_ns is None:
        return False
    return ended.utc_ns <= answer.had_ns + answer.fact.resolution_ns + ON_ITS_WAY_NS


def _may_be_asked_again(answer: ProbeAnswer, probe: Probe, instance: Instance, early_s: float = EARLY_S) -> bool:
    """Whether the next question may have been under way when the instance ended: a period after this one, whatever that took."""
    exit_ns, stamped_ns = instance.exit_ns, answer.fact.utc_ns
    return exit_ns is not None and exit_ns >= (stamped_ns or 0) + (probe.period_s - early_s) * 1e9


def _is_of_the_next_life(fact: Fact, instance: Instance) -> bool:
    """Whether it was given by the next instance before that had stamped its start."""
    ended = instance.exit
    if ended is None or ended.utc_ns is None or fact.utc_ns is None:
        return False
    return fact.utc_ns > ended.utc_ns + ended.resolution_ns
