"""One restart against its bounds: too early, too late, or never. The lower bound is exact; proven stalls extend the upper one.

Each answer has the numbers of a finding and the doubt that makes it open; a checker writes the sentence. A restart is late as
well where the kubelet has looked after the due moment and refused it: by its own log, which is written when the look ends,
within milliseconds of its decision. That needs no bound for when it looks, so it shows what hides within that bound.
"""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from crashloop.history.event import Channel
from crashloop.history.stamps import Fact, Span
from crashloop.model.backoff import Due
from crashloop.model.lateness import START_SHARE_S, USUAL_START_S
from crashloop.model.lateness import latest_s as latest_of
from crashloop.model.restart import Decision
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, silent_end
from crashloop.restarts.excuse import excuse, late_window
from crashloop.restarts.lives import earliest_ns, ran
from crashloop.restarts.outages import kubelet_never_back
from crashloop.restarts.owed import owed_until_ns
from crashloop.restarts.restart import Restart
from crashloop.restarts.worker import busy_s
from crashloop.spec.pod import ContainerKind
from crashloop.words import at_lines, count, seconds

LOST_AFTER_S = 30.0
"""A restart that is so much later than its latest moment counts as lost: as long as a second look of a kubelet takes at most, so
that a burst of its own work is no loss (pkg/kubelet/pod_workers.go@v1.37.1, half of a retry of 60 s at most)."""
LOOK_ENDS_S = 0.1
"""From a decision to hold a start back to its line in the log, but for waits for a CPU. Of 700 such looks of a run beside a load
of 20 on two processors, 13 of them in the last 0.1 s of a delay, none was logged after the due moment."""
LEAST_ALIKE = 3
"""Delays of one length that have to be late, and all of them."""
ALIKE_S = 2.0
"""By how much they may differ in how late they are."""

RestartKey = tuple[str, str, int]
"""Pod, container and number of the restart."""


class Early(msgspec.Struct, frozen=True, kw_only=True):
    """A start, or a create, before the due delay had passed."""

    due: Due
    """The window that begins first."""
    taken: Span
    verb: str
    """Of the start, which users see; of the create where the start alone would not have been too early."""
    stepped_s: float
    """By how much the wall clock, by which the kubelet waits, jumped meanwhile."""

    @property
    def is_open(self) -> bool:
        """Whether a jump of the wall clock explains it."""
        return self.stepped_s >= self.due.delay_s - self.taken.seconds


class Late(msgspec.Struct, frozen=True, kw_only=True):
    """A create, or where none was seen a start, after the last moment that the model allows."""

    due: Due
    """The window it was late for."""
    taken: Span
    verb: str
    excess_s: float
    allowance_s: float
    """What of the excess the start itself may have taken, where no create was seen."""


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The last look of the kubelet, by its log, that held a restart back."""

    due: Due
    """The window that begins last."""
    lines: tuple[int, int]
    """Of the exit and of the log's line."""
    window_ns: tuple[int, int]
    """From the exit to that line, in UTC."""
    after_s: float
    """Seconds from the due moment to that line, at least; negative before it."""


class Overdue(msgspec.Struct, frozen=True, kw_only=True):
    """A restart that was not seen, although the recording goes on beyond the latest moment allowed."""

    due: Due
    """The window that ends last."""
    exited: Fact
    waited_s: float
    """From the exit to the end of the recording, or of the time in which a restart was owed."""
    doubt: str | None
    """Why the restart may have come unseen, or what held it up."""
    further_lines: tuple[int, ...] = ()
    """History lines that the doubt rests on, besides the exit's."""


def early(case: Case, restart: Restart) -> Early | None:
    """`start - exit >= due`, exact but for the channel's resolution; None if that holds.

    Where the model leaves several windows open, a start before all of them.
    """
    shortest, soonest = restart.shortest, restart.soonest
    if shortest is None or soonest is None or _open_windows(restart, soonest):
        return None
    verb, taken = ("came", shortest) if not _open_windows(restart, shortest) else ("was created", soonest)
    least = min(restart.due.windows, key=lambda due: due.delay_s)
    return Early(due=least, taken=taken, verb=verb, stepped_s=stepped_s(case, restart))


def stepped_s(case: Case, restart: Restart) -> float:
    """By how much the wall clock, by which the kubelet waits, jumped in the delay."""
    window_ns = restart.window_ns
    return case.recording.clocks.step_within_ns(*window_ns) / 1e9 if window_ns else 0.0


def late(case: Case, restart: Restart) -> Late | None:
    """By how much a restart was later than the kubelet's own retry and its work on the pod allow; None if it was not.

    Where the model leaves several windows open, a create after the last of those that had begun.
    """
    shortest, soonest = restart.shortest, restart.soonest
    begun = _open_windows(restart, soonest) if soonest else ()
    if shortest is None or not begun:
        return None
    due = begun[0] if len(begun) == 1 else max(begun, key=lambda each: each.latest_s)
    taken, verb, allowance_s, tolerance_s = restart.to_create, "was created", 0.0, 0.0
    if taken is None:
        taken, verb, allowance_s = shortest, "came", START_SHARE_S
        tolerance_s = 0.0 if Channel.RUNTIME in restart.pod.channels else USUAL_START_S
    excess_s = taken.seconds - due.latest_s
    excess_s -= _worked_s(case, restart, due.delay_s) if excess_s > tolerance_s else 0.0
    if excess_s - tolerance_s < 1e-9:
        return None
    return Late(due=due, taken=taken, verb=verb, excess_s=excess_s, allowance_s=allowance_s)


def _worked_s(case: Case, restart: Restart, due_s: float) -> float:
    """For how long after the due moment the pod's worker was busy with something else."""
    if restart.window_ns is None:
        return 0.0
    return busy_s(case, restart.pod, late_window(restart.window_ns, due_s), but_for=restart.container)


def ends_with_a_look(case: Case, restart: Restart) -> bool:
    """Whether a restart is late by nothing but looks: not by a reset, a stop, or a counter that is collected some time."""
    version, mode = case.in_force_at(restart.previous.exit_ns).version, case.scenario.mode
    return all(
        each.latest_s
        <= max(latest_of(each.delay_s, version, mode=mode, other_sync_sources=also) for also in (False, True))
        for each in restart.due.windows
    )


def refused(case: Case, restart: Restart) -> Refused | None:
    """The last look that held back a restart due after a delay; None if none was logged, or if it may rest on something else.

    Only in pods of one container: the sync of others may have gone on for long after its decision about this one. A start that
    failed, or may have while a channel was lost, makes the delay longer. The kubelet counts from the runtime's stamp of the exit.
    """
    exited, alone = restart.previous.exited, len(case.scenario.pod.containers) == 1
    if not alone or exited is None or restart.decided.decision is not Decision.RESTART or restart.failed_attempt:
        return None
    end_ns = case.recording.end_ns if restart.next is None else restart.next.begun_ns or 0
    of_it = (each for each in restart.pod.logged if each.container == restart.container)
    looks = [each for each in of_it if exited.own_ns < each.t_ns < end_ns]
    due = max(restart.due.windows, key=lambda each: each.delay_s)
    if (
        not looks
        or due.delay_s <= 0
        or any(each.delay_s is None for each in looks)
        or not ends_with_a_look(case, restart)
    ):
        return None
    window_ns = exited.own_ns, looks[-1].t_ns
    if any(any(case.recording.gaps_of(channel, *window_ns)) for channel in (Channel.RUNTIME, Channel.KUBELET)):
        return None
    if _unseen_refusal(case, restart, window_ns) is not None:
        return None
    latest_exit_ns = exited.own_ns + max(exited.resolution_ns - 1, 0)
    after_s = (window_ns[1] - latest_exit_ns) / 1e9 - due.delay_s
    return Refused(due=due, lines=(exited.line, looks[-1].line), window_ns=window_ns, after_s=after_s)


def why_refused(case: Case, seen: Refused) -> str | None:
    """What leaves open whether the kubelet decided after the due moment; None: nothing does."""
    return excuse(case, seen.window_ns, seen.due.delay_s, seen.after_s - LOOK_ENDS_S, has_looked=True)


def latest_s(restart: Restart) -> float:
    """The upper bound of exit to create: by the windows that had begun when it came, by all of them while it is missing."""
    begun = _open_windows(restart, restart.soonest) if restart.soonest else ()
    return max(each.latest_s for each in begun or restart.due.windows)


def why_late(case: Case, restart: Restart, seen: Late, *, repeated: bool = False) -> str | None:
    """What leaves open whether the kubelet was late; None: nothing does."""
    if seen.excess_s <= seen.allowance_s:
        share = f"{seconds(seen.allowance_s)} of it may be the start's own time"
        return f"The runtime's create was not seen, and {share}"
    blind = _unseen_refusal(case, restart, restart.window_ns) if restart.window_ns else None
    if blind is not None:
        return f"A start that the runtime refused could have gone unseen: {blind}"
    return excuse(case, restart.window_ns, seen.due.delay_s, seen.excess_s - seen.allowance_s, repeated=repeated)


def _unseen_refusal(case: Case, restart: Restart, window_ns: tuple[int, int]) -> str | None:
    """Why a start that the runtime refused could have gone unseen by then; None if it refuses none, or each was seen.

    One before the exit makes the delay longer, one in the window is the restart.
    """
    if not case.scenario.pod.container(restart.container).program.is_refused:
        return None
    since_ns = earliest_ns(restart.pod.instances(restart.container)) or window_ns[0]
    return blind_spot(case, restart.pod, (), since_ns, window_ns[1])


def overdue(case: Case, restart: Restart, until_ns: int | None = None) -> Overdue | None:
    """A due restart of which the recording shows no start; None if nothing is missing yet, or if the pod ended before that.

    `until_ns`: the end of its observation (UTC), if that is before the end of the recording.
    """
    exited = restart.exit
    if restart.next is not None or exited is None or exited.utc_ns is None:
        return None
    last = max(restart.due.windows, key=lambda due: due.latest_s)
    ends_ns = (case.recording.end_ns, until_ns, owed_until_ns(case, restart.pod))
    until_ns = min(each for each in ends_ns if each is not None)
    waited_s = (until_ns - exited.utc_ns) / 1e9
    if waited_s <= last.latest_s or restart.decided.decision is Decision.STOP or awaits_init(case, restart):
        return None
    window_ns = (exited.utc_ns, until_ns)
    worked_s = busy_s(case, restart.pod, late_window(window_ns, last.delay_s), but_for=restart.container)
    if waited_s - worked_s <= last.latest_s:
        return None
    attempted, gone = restart.failed_attempt, kubelet_never_back(case, until_ns)
    blind = blind_spot(case, restart.pod, restart.pod.instances(restart.container), *window_ns)
    blind = blind or _unseen_refusal(case, restart, window_ns)
    lines: tuple[int, ...] = ()
    if attempted is not None:
        doubt, lines = "A container was created for it and never ran", attempted.lines
    elif blind is not None:
        doubt = f"A start could have gone unseen: {blind}"
    elif unseen := _unseen_end(case, restart, window_ns):
        doubt = f"The end of its pod could have gone unseen: {unseen}"
    elif gone is not None:
        doubt, lines = f"The kubelet was ended meanwhile {at_lines([gone])} and not seen again", (gone,)
    else:
        doubt = excuse(case, window_ns, last.delay_s, waited_s - last.latest_s) or ""
    return Overdue(due=last, exited=exited, waited_s=waited_s, doubt=doubt or None, further_lines=lines)


def _unseen_end(case: Case, restart: Restart, window_ns: tuple[int, int]) -> str | None:
    """Why the containers that a sidecar runs beside may have ended unseen."""
    pod = case.scenario.pod
    beside = pod.of_kind(ContainerKind.REGULAR) if pod.container(restart.container).is_sidecar else ()
    last = ((each, ran(restart.pod, each.name)[-1:]) for each in beside)
    why = (silent_end(case, restart.pod, each, one, window_ns) for each, instances in last for one in instances)
    return next((each for each in why if each is not None), None)


def awaits_init(case: Case, restart: Restart) -> bool:
    """Whether init containers run again before the restart: then it comes when they are done, which nobody promises.

    That is so after RestartAllContainers, and in another sandbox, which also runs again what had ended in the one before: when
    each is owed a start there is for `checks.starts`.
    """
    inits = case.scenario.pod.of_kind(ContainerKind.INIT)
    is_regular = case.scenario.pod.container(restart.container).kind is ContainerKind.REGULAR
    if restart.decided.decision is Decision.RESTART_ALL:
        return is_regular and bool(inits)
    lost_ns = case.sandbox_killed_ns(restart.previous, restart.next) if restart.exit is not None else None
    if lost_ns is None or not inits:
        return False
    ended_ns = restart.previous.exit_ns or 0
    return is_regular or restart.container != inits[0].name or ended_ns < lost_ns


def key_of(restart: Restart) -> RestartKey:
    """The restart's place in a recording."""
    return restart.pod.uid, restart.container, restart.due.restart


def late_alike(case: Case, restarts: Sequence[Restart]) -> dict[RestartKey, str]:
    """The restarts that are late by about the same as all others of their container and delay, each with the sentence for it.

    Stalls of a host scatter; neither faults of a kubelet nor a slow disk do.
    """
    found: dict[RestartKey, str] = {}
    groups: dict[tuple[str, str, float], list[Restart]] = defaultdict(list)
    for each in restarts:
        if each.shortest is not None:
            groups[each.pod.uid, each.container, each.due.delay_s].append(each)
    for (_, _, due_s), group in groups.items():
        excesses = [seen.excess_s for each in group if (seen := late(case, each)) is not None]
        if len(group) < LEAST_ALIKE or len(excesses) < len(group) or max(excesses) - min(excesses) > ALIKE_S:
            continue
        by = f"{seconds(min(excesses))} to {seconds(max(excesses))}"
        exceeded = f"All {count(len(group), 'delay')} of {seconds(due_s)} exceeded their bounds, by {by}"
        sentence = f"{exceeded}, which no CPU pressure explains."
        found |= dict.fromkeys(map(key_of, group), sentence)
    return found


def _open_windows(restart: Restart, seen: Span) -> tuple[Due, ...]:
    """The windows that may have begun by the end of that span."""
    due, longest_ns = restart.due, seen.longest_ns
    if not due.alternatives:
        return (due,) if round(due.delay_s * 1e9) <= longest_ns else ()
    return tuple(each for each in due.windows if round(each.delay_s * 1e9) <= longest_ns)
