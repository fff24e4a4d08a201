"""The journal that a container keeps of its lives (format: crashloop.pods.program), read from its log.

Theory of operation. The journal is ground truth that needs no access to the node, so what is left of it after a
crash must be usable: every whole stamp counts, and what is damaged is reported beside the stamps, never raised.
"""

import re
from enum import StrEnum
from itertools import pairwise

import msgspec

from crashloop.history.event import Channel, Clock, Event, Kind

STAMP_RESOLUTION_NS = 10_000_000
"""/proc/uptime counts in centiseconds and rounds down."""

_STAMP = re.compile(
    r"crashloop/1 (?P<kind>start|note|exit) (?P<life>\d{1,9}) (?P<s>\d{1,10})\.(?P<cs>\d\d)"
    r"(?: (?P<name>[A-Za-z][\w.-]{0,62}) (?P<value>[!-~]{1,63}))?"
    r"(?: (?P<code>\d{1,3})(?P<told> told)?)?(?: (?P<boot>[0-9a-f-]{36}|-))?",
    re.ASCII,
)
_LINE_BEGINS = re.compile(r"(?=crashloop/\d)")


class StampKind(StrEnum):
    """What a stamp says about a life."""

    START = "start"
    NOTE = "note"
    EXIT = "exit"


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """A life of a container (0 is the first) began, has found something or is about to end, in nanoseconds since boot."""

    kind: StampKind
    life: int
    boot_ns: int
    exit_code: int | None = None
    told: bool = False
    """Of an exit: whether the life has left its `last_words` for the kubelet."""
    name: str | None = None
    """Of a note: what the life has looked at."""
    value: str | None = None
    """Of a note: what it has found."""
    boot_id: str | None = None
    """Of a start: the boot that the time counts from; `-` if the container cannot see it, None in older journals."""
    line: str


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """What a log says about the lives of its container: each stamp once, and one sentence for each fault."""

    stamps: tuple[Stamp, ...] = ()
    damage: tuple[str, ...] = ()

    @property
    def starts(self) -> int:
        """How many lives began."""
        return sum(stamp.kind is StampKind.START for stamp in self.stamps)


def read_journal(log: str) -> Journal:
    """The journal in a container's log. Never raises: torn, repeated, foreign and missing lines become `damage`."""
    stamps: dict[tuple[StampKind, int, str | None], Stamp] = {}
    damage: list[str] = []
    whole, newline, rest = log.rpartition("\n")
    for line in (whole + newline).split("\n"):
        # A write that was cut off leaves no newline, so the next stamp stands on the same line.
        for piece in filter(None, _LINE_BEGINS.split(line)):
            stamp = _read_stamp(piece)
            if stamp is None:
                damage.append(f"not a stamp: {piece!r}")
            elif (known := stamps.setdefault((stamp.kind, stamp.life, stamp.name), stamp)) is not stamp:
                damage.append(f"repeated: {piece!r}" if known == stamp else f"contradicts {known.line!r}: {piece!r}")
    if rest:
        damage.append(f"cut off: {rest!r}")
    in_order = tuple(stamps.values())
    return Journal(stamps=in_order, damage=(*damage, *_missing_starts(in_order), *_backward_steps(in_order)))


def _read_stamp(text: str) -> Stamp | None:
    match = _STAMP.fullmatch(text)
    if match is None:
        return None
    kind = StampKind(match["kind"])
    has = {StampKind.NOTE: match["name"], StampKind.EXIT: match["code"]}
    if any((value is None) == (kind is of) for of, value in has.items()):
        return None
    if match["boot"] is not None and kind is not StampKind.START:
        return None
    return Stamp(
        kind=kind,
        life=int(match["life"]),
        boot_ns=(int(match["s"]) * 100 + int(match["cs"])) * STAMP_RESOLUTION_NS,
        exit_code=int(match["code"]) if match["code"] else None,
        told=match["told"] is not None,
        name=match["name"],
        value=match["value"],
        boot_id=match["boot"],
        line=text,
    )


def _missing_starts(stamps: tuple[Stamp, ...]) -> list[str]:
    """Lives that must have begun. A missing exit is no damage: a life that is killed cannot stamp it."""
    begun = {stamp.life for stamp in stamps if stamp.kind is StampKind.START}
    seen = {stamp.life for stamp in stamps}
    last = max(seen, default=-1)
    if last >= 2 * len(stamps):
        return [f"the journal names life {last}, but only {len(begun)} starts"]
    return [f"the start of life {life} is missing" for life in range(last + 1) if life not in begun]


def _backward_steps(stamps: tuple[Stamp, ...]) -> list[str]:
    return [
        f"boot time runs backwards: {after.line!r} stands behind {before.line!r}"
        for before, after in pairwise(stamps)
        if after.boot_ns < before.boot_ns
    ]


def journal_events(
    journal: Journal, *, pod_uid: str, container: str, node: str | None, received_ns: int
) -> tuple[Event, ...]:
    """The stamps as events, still without their position (seq 0), and a gap for each damage.

    A gap reaches back to the epoch: which part of the journal it concerns cannot be known.
    """
    stamped = tuple(
        Event(
            seq=0,
            t_ns=stamp.boot_ns,
            clock=Clock.BOOT,
            resolution_ns=STAMP_RESOLUTION_NS,
            received_ns=received_ns,
            channel=Channel.JOURNAL,
            kind=_KINDS[stamp.kind],
            node=node,
            pod_uid=pod_uid,
            container=container,
            instance=stamp.life,
            data={"line": stamp.line, **_content(stamp)},
        )
        for stamp in journal.stamps
    )
    damaged = tuple(
        Event(
            seq=0,
            t_ns=received_ns,
            received_ns=received_ns,
            channel=Channel.RECORDER,
            kind=Kind.GAP,
            node=node,
            pod_uid=pod_uid,
            container=container,
            data={"channel": Channel.JOURNAL.value, "from_ns": 0, "reason": problem, "lost": True},
        )
        for problem in journal.damage
    )
    return stamped + damaged


_KINDS = {StampKind.START: Kind.STARTED, StampKind.NOTE: Kind.NOTED, StampKind.EXIT: Kind.EXITED}


def last_words(container: str, life: int) -> str:
    """What a life that ends by itself leaves in its termination log (crashloop/pods/program.sh)."""
    return f"{container} life {life}"


def _content(stamp: Stamp) -> dict[str, int | str]:
    content = {"exit_code": stamp.exit_code, "boot_id": stamp.boot_id, "name": stamp.name, "value": stamp.value}
    return {name: value for name, value in content.items() if value is not None} | (
        {"told": True} if stamp.told else {}
    )
