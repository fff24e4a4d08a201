"""Go durations as the kubelet reads and prints them."""

import re
from fractions import Fraction

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"(?P<number>\d+\.?\d*|\.\d+)(?P<unit>[^\d.]*)")


class BadDuration(ValueError):
    """Text that Go's time.ParseDuration refuses; the message is Go's own."""


def parse(text: str) -> int:
    """Nanoseconds of a Go duration such as `1m30s` or `999.9ms`. Raises BadDuration."""
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    total, at = Fraction(0), 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None:
            raise BadDuration(f'time: invalid duration "{text}"')
        if not part["unit"]:
            raise BadDuration(f'time: missing unit in duration "{text}"')
        if part["unit"] not in _UNITS:
            raise BadDuration(f'time: unknown unit "{part["unit"]}" in duration "{text}"')
        total += Fraction(part["number"]) * _UNITS[part["unit"]]
        at = part.end()
    if not rest:
        raise BadDuration(f'time: invalid duration "{text}"')
    return sign * int(total)


def spell(ns: int) -> str:
    """The duration as Go prints it: `2s`, `1m20s`, `5m0s`, `300ms`."""
    if ns < _UNITS["s"]:
        return "0s" if ns == 0 else f"{ns / _UNITS['ms']:g}ms"
    minutes, below = divmod(ns, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    seconds = f"{below / _UNITS['s']:.9f}".rstrip("0").rstrip(".")
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{seconds}s"
