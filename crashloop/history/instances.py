"""The instances of one container, put together from the two ground truths.

Theory of operation. The runtime names an instance by container id; the order in which it created them is their order,
and an exit belongs to its id even if it is stamped before the start. The container's own journal numbers its lives.
Both lists are walked side by side: an instance and a life are the same one if their starts are closer to each other
than to their neighbours, and either no further apart than `SAME_MOMENT_NS` or the life began during the instance: a program
may get a CPU long after its start. What one channel lacks the other fills in; what
the two say differently is kept as a `Contradiction`, never settled.
"""

from collections.abc import Iterable, Sequence

import msgspec

from crashloop.history.stamps import Fact
from crashloop.spec.program import REFUSED

SAME_MOMENT_NS = 2_000_000_000
"""Runtime and journal stamp the same start or exit within 0.1 s when calm, and within two seconds on a starving host."""
CLOCKS_NS = 100_000_000
"""By how much two channels may place the same moment apart on a host that gives both a CPU."""
BY_KILL = (137, 143)
"""What runtimes report of SIGKILL and SIGTERM. Other codes above 128 may be the program's own."""
INTERRUPTED = 2
"""The exit code of a shell whose first redirection a signal has interrupted."""


class RuntimeInstance(msgspec.Struct, kw_only=True, gc=False):
    """What the runtime's events say about one container id."""

    container_id: str
    created: Fact | None = None
    started: Fact | None = None
    exited: Fact | None = None
    exit_code: int | None = None
    cleared: Fact | None = None
    removed: Fact | None = None

    @property
    def order_ns(self) -> int:
        """The time by which instances are ordered."""
        return next(
            (fact.own_ns for fact in (self.created, self.started, self.exited, self.removed) if fact is not None), 0
        )


class Note(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a life has found around it: `name` says what it looked at."""

    name: str
    value: str
    fact: Fact

    @property
    def line(self) -> int:
        return self.fact.line


class JournalLife(msgspec.Struct, kw_only=True, gc=False):
    """What the journal says about one life."""

    number: int
    started: Fact | None = None
    exited: Fact | None = None
    exit_code: int | None = None
    told: bool = False
    notes: tuple[Note, ...] = ()


class Instance(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run of a container, from creation to exit. `ordinal` 0 is the first start, n the start by restart n."""

    ordinal: int
    container_id: str | None = None
    created: Fact | None = None
    """The runtime's creation of the container: the kubelet's decision to start it."""
    started: Fact | None = None
    exited: Fact | None = None
    exit_code: int | None = None
    """By the runtime if it saw the exit, else by the journal."""
    cleared: Fact | None = None
    """From when on the runtime told that it had exited; None where that was not recorded."""
    removed: Fact | None = None
    life: int | None = None
    """The number that the journal gives it."""
    journal_started: Fact | None = None
    journal_exited: Fact | None = None
    told: bool = False
    """Whether it has left its name in its termination log."""
    notes: tuple[Note, ...] = ()
    """What it has found, by its journal."""

    @property
    def start(self) -> Fact | None:
        return self.started or self.journal_started

    @property
    def begun(self) -> Fact | None:
        """The first that is known of it: its creation, or else its start."""
        return self.created or self.start

    @property
    def begun_ns(self) -> int | None:
        """The same by UTC; None if that is not known."""
        return _utc_ns(self.begun)

    @property
    def start_ns(self) -> int | None:
        """Its start by UTC, likewise."""
        return _utc_ns(self.start)

    @property
    def exit_ns(self) -> int | None:
        """Its exit by UTC, likewise."""
        return _utc_ns(self.exit)

    @property
    def clearing_ns(self) -> tuple[int, int] | None:
        """From its exit to when the runtime told of that, UTC; None if one of them was not recorded."""
        exit_ns, cleared_ns = self.exit_ns, _utc_ns(self.cleared)
        return None if exit_ns is None or cleared_ns is None else (exit_ns, max(exit_ns, cleared_ns))

    @property
    def exit(self) -> Fact | None:
        return self.exited or self.journal_exited

    @property
    def has_run(self) -> bool:
        """Whether its process ran, or the runtime refused to start it, which counts as an exit; one only created did neither."""
        return self.start is not None or self.exit is not None

    @property
    def was_refused(self) -> bool:
        """Whether the runtime refused to start it."""
        return self.start is None and self.exited is not None and self.exit_code == REFUSED

    @property
    def lines(self) -> tuple[int, ...]:
        """The history lines on which it appears."""
        facts = (self.created, self.started, self.journal_started, self.journal_exited, self.exited)
        return tuple(sorted(fact.line for fact in facts if fact is not None))


def _utc_ns(fact: Fact | None) -> int | None:
    return None if fact is None else fact.utc_ns


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """Two statements of ground truth that cannot both hold."""

    container: str
    lines: tuple[int, ...]
    problem: str


def merge(
    container: str, runtime: Iterable[RuntimeInstance], lives: Iterable[JournalLife]
) -> tuple[tuple[Instance, ...], tuple[Contradiction, ...]]:
    """The instances of a container in order, and what the channels contradict each other about."""
    # Of an instance whose life fell into a gap only the removal is left, and nothing shows which life it was.
    ran = (each for each in runtime if each.created or each.started or each.exited)
    seen = sorted(ran, key=lambda each: each.order_ns)
    pairs = _pair(seen, sorted(lives, key=lambda each: each.number))
    instances = tuple(_instance(ordinal, *pair) for ordinal, pair in enumerate(pairs))
    return instances, tuple(_contradictions(container, instances, pairs))


_Pair = tuple[RuntimeInstance | None, JournalLife | None]


def _far_apart(one: Fact | None, other: Fact | None) -> bool:
    if one is None or other is None or one.utc_ns is None or other.utc_ns is None:
        return False
    return abs(one.utc_ns - other.utc_ns) > SAME_MOMENT_NS


def _pair(seen: Sequence[RuntimeInstance], lives: Sequence[JournalLife]) -> list[_Pair]:
    if _fit_in_order(seen, lives):
        return list(zip(seen, lives, strict=True))
    pairs: list[_Pair] = []
    i = j = 0
    while i < len(seen) and j < len(lives):
        if _ended_a_later(seen[i], lives, j + 1):
            pairs.append((None, lives[j]))
            j += 1
            continue
        is_last = i == len(seen) - 1 and j == len(lives) - 1
        apart = 0 if is_last and _starts_unseen(seen[i], lives[j]) else _apart_ns(seen[i], lives[j])
        if apart is None or (
            (abs(apart) <= SAME_MOMENT_NS or _began_during(seen[i], lives[j]))
            and not _nearer(seen, i + 1, lives[j], apart)
            and not _nearer_life(seen[i], lives, j + 1, apart)
        ):
            pairs.append((seen[i], lives[j]))
            i, j = i + 1, j + 1
        elif apart > 0 and not _nearer(seen, i + 1, lives[j], apart):
            pairs.append((None, lives[j]))
            j += 1
        else:
            pairs.append((seen[i], None))
            i += 1
    pairs += [(instance, None) for instance in seen[i:]]
    pairs += [(None, life) for life in lives[j:]]
    return pairs


def _fit_in_order(seen: Sequence[RuntimeInstance], lives: Sequence[JournalLife]) -> bool:
    """Whether both channels saw as many, each life may be that of the instance of its number, and their exits agree.

    What SIGKILL ends leaves no exit in its journal.
    """
    if [each.number for each in lives] != list(range(len(seen))):
        return False
    return all(
        (life.exited is None or instance.exit_code in (None, life.exit_code))
        and ((apart := _apart_ns(instance, life)) is None or abs(apart) <= SAME_MOMENT_NS)
        for instance, life in zip(seen, lives, strict=True)
    )


def _ended_a_later(instance: RuntimeInstance, lives: Sequence[JournalLife], index: int) -> bool:
    """Whether of an instance only its exit was seen, and the next life had begun by then: one ends before the next begins."""
    exited, begun = instance.exited, lives[index].started if index < len(lives) else None
    if instance.created or instance.started or exited is None or begun is None:
        return False
    return exited.utc_ns is not None and begun.utc_ns is not None and begun.utc_ns < exited.utc_ns - CLOCKS_NS


def _starts_unseen(instance: RuntimeInstance, life: JournalLife) -> bool:
    """Whether the runtime created the instance before that life, and the recording ended before the start was reported."""
    created, begun = instance.created, life.started
    if instance.started or instance.exited or created is None or begun is None:
        return False
    return created.utc_ns is not None and begun.utc_ns is not None and created.utc_ns <= begun.utc_ns


def _apart_ns(instance: RuntimeInstance, life: JournalLife) -> int | None:
    """How much later the runtime says it started than the journal; by their exits if the runtime's start was lost.

    None if times cannot be compared.
    """
    runtime = instance.started or instance.created
    journal = life.started or life.exited
    if runtime is None:
        runtime, journal = instance.exited, life.exited
    if _between(instance.created, life.started, instance.started):
        return 0
    if runtime is None or runtime.utc_ns is None or journal is None or journal.utc_ns is None:
        return None
    return runtime.utc_ns - journal.utc_ns


def _between(earlier: Fact | None, fact: Fact | None, later: Fact | None) -> bool:
    """Whether a fact lies between two others, however far these are apart; False where a time is not known."""
    if earlier is None or fact is None or later is None:
        return False
    if earlier.utc_ns is None or fact.utc_ns is None or later.utc_ns is None:
        return False
    return earlier.utc_ns <= fact.utc_ns <= later.utc_ns


def _began_during(instance: RuntimeInstance, life: JournalLife) -> bool:
    """Whether the life began after the instance's start, by the runtime, and not after its exit if the runtime saw that."""
    return _between(instance.started, life.started, instance.exited or life.started)


def _nearer(seen: Sequence[RuntimeInstance], index: int, life: JournalLife, apart: int) -> bool:
    other = _apart_ns(seen[index], life) if index < len(seen) else None
    return other is not None and abs(other) < abs(apart) and not _precedes(life, seen[index])


def _precedes(life: JournalLife, instance: RuntimeInstance) -> bool:
    """Whether a life began before the runtime had created an instance, or was over by then, so that it is of another."""
    created, begun, ended = instance.created, life.started, life.exited
    if created is None or created.utc_ns is None or begun is None or begun.utc_ns is None:
        return False
    is_over = ended is not None and ended.utc_ns is not None and ended.utc_ns <= created.utc_ns
    return is_over or created.utc_ns - begun.utc_ns > CLOCKS_NS


def _nearer_life(instance: RuntimeInstance, lives: Sequence[JournalLife], index: int, apart: int) -> bool:
    other = _apart_ns(instance, lives[index]) if index < len(lives) else None
    return other is not None and abs(other) < abs(apart)


def _instance(ordinal: int, runtime: RuntimeInstance | None, life: JournalLife | None) -> Instance:
    runtime_code = runtime.exit_code if runtime else None
    return Instance(
        ordinal=ordinal,
        container_id=runtime.container_id if runtime else None,
        created=runtime.created if runtime else None,
        started=runtime.started if runtime else None,
        exited=runtime.exited if runtime else None,
        exit_code=runtime_code if runtime_code is not None else (life.exit_code if life else None),
        cleared=runtime.cleared if runtime else None,
        removed=runtime.removed if runtime else None,
        life=life.number if life else None,
        journal_started=life.started if life else None,
        journal_exited=life.exited if life else None,
        told=life is not None and life.told,
        notes=life.notes if life else (),
    )


def _contradictions(container: str, instances: Sequence[Instance], pairs: Sequence[_Pair]) -> Iterable[Contradiction]:
    started_before = silent = 0
    for instance, (runtime, life) in zip(instances, pairs, strict=True):
        if life is not None:
            if not started_before - silent <= life.number <= started_before:
                yield Contradiction(
                    container=container,
                    lines=instance.lines,
                    problem=f"the journal numbers a life {life.number} before which {started_before} were seen to start",
                )
            started_before, silent = life.number, 0
            if runtime and runtime.exit_code is not None and life.exit_code not in (None, runtime.exit_code):
                yield Contradiction(
                    container=container,
                    lines=instance.lines,
                    problem=f"instance {instance.ordinal} exited with {runtime.exit_code} by the runtime "
                    f"and with {life.exit_code} by the journal",
                )
            if _far_apart(runtime.exited if runtime else None, life.exited):
                yield Contradiction(
                    container=container,
                    lines=instance.lines,
                    problem=f"runtime and journal place the exit of instance {instance.ordinal} "
                    f"more than {SAME_MOMENT_NS / 1e9:g} s apart",
                )
        if instance.has_run:
            started_before += 1
            silent += life is None and (_was_killed(instance) or instance.was_refused)


def _was_killed(instance: Instance) -> bool:
    """Whether a signal ended it, perhaps before the first line of its program."""
    return instance.exit_code in (*BY_KILL, INTERRUPTED)
