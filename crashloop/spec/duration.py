"""Go's duration strings, as in a KubeletConfiguration, and Go's messages for invalid ones.

Source: package time of Go, ParseDuration; k8s.io/apimachinery pkg/apis/meta/v1/duration.go UnmarshalJSON.
"""

import re
from typing import Any

_UNITS_NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_TERM = re.compile(r"(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<unit>[^0-9.]*)")
_BACKOFF = re.compile(r"back-off (\S+) restarting failed container")
_LARGEST_NS = 2**63 - 1
_JSON_NAMES = {bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


class NotADuration(ValueError):
    """The text that Go prints for a value that is no duration."""


def parse_duration_ns(value: Any) -> int:
    """Nanoseconds of a value as read from YAML; `"1m30s"` is 90 s. Raises NotADuration, a bare number included."""
    if not isinstance(value, str):
        name = _JSON_NAMES.get(type(value), type(value).__name__)
        raise NotADuration(f"json: cannot unmarshal {name} into Go value of type string")
    sign, rest = (-1, value[1:]) if value.startswith("-") else (1, value.removeprefix("+"))
    if rest == "0":
        return 0
    if not rest:
        raise NotADuration(f"time: invalid duration {_quoted(value)}")
    total_ns, position = 0, 0
    while position < len(rest):
        term = _TERM.match(rest, position)
        if term is None or not (term["whole"] or term["fraction"]):
            raise NotADuration(f"time: invalid duration {_quoted(value)}")
        if not term["unit"]:
            raise NotADuration(f"time: missing unit in duration {_quoted(value)}")
        if term["unit"] not in _UNITS_NS:
            raise NotADuration(f"time: unknown unit {_quoted(term['unit'])} in duration {_quoted(value)}")
        total_ns += _term_ns(term)
        position = term.end()
    if total_ns > _LARGEST_NS:
        raise NotADuration(f"time: invalid duration {_quoted(value)}")
    return sign * total_ns


def stated_backoff_s(message: str | None) -> float | None:
    """The delay that a kubelet's message states, as in "back-off 40s restarting failed container"; None without one.

    Source: pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1, doBackOff.
    """
    found = _BACKOFF.search(message or "")
    stated_s = duration_seconds(found[1]) if found else None
    return None if stated_s is None or stated_s < 0 else stated_s


def duration_seconds(value: Any) -> float | None:
    """Seconds of a duration as read from YAML or a log; None for anything else."""
    try:
        return parse_duration_ns(value) / 1e9
    except NotADuration:
        return None


def _quoted(text: str) -> str:
    """Go's own quoting (package time, format.go): a byte outside of ASCII, or below a space, as \\x and two digits."""
    shown = (chr(each) if 32 <= each < 128 else f"\\x{each:02x}" for each in text.encode(errors="surrogateescape"))
    return '"' + "".join(f"\\{each}" if each in '"\\' else each for each in shown) + '"'


def _term_ns(term: re.Match[str]) -> int:
    """Of digits beyond the largest duration as many count as make it too long; Go drops those of a fraction too."""
    unit_ns, fraction = _UNITS_NS[term["unit"]], (term["fraction"] or "")[:18]
    fraction_ns: int = int(fraction or 0) * unit_ns // 10 ** len(fraction)
    return int(term["whole"].lstrip("0")[:20] or 0) * unit_ns + fraction_ns


def whole_milliseconds(duration_ns: int) -> int:
    """`Duration.Milliseconds()`: rounded towards zero."""
    return duration_ns // 10**6 if duration_ns >= 0 else -(-duration_ns // 10**6)


def printed_seconds(duration_ns: int) -> str:
    """`%v` of `Duration.Seconds()`: `301`, `0.5`, `300.9`."""
    return repr(duration_ns / 10**9).removesuffix(".0")
