"""Durations as people type them: 90s, 10m, 1h30m."""

from crashloop.errors import UsageError


def seconds(option: str, text: str, *, least_s: float = 0.001) -> float:
    """The seconds of a duration. Raises UsageError for another text, or for less than `least_s`."""
    from crashloop.spec.duration import NotADuration, parse_duration_ns

    try:
        found_s = parse_duration_ns(text) / 1e9
    except NotADuration as error:
        raise UsageError(f"{option} {text!r}: {error}.\nExpected something like 90s, 10m or 2h.") from error
    if found_s < least_s:
        raise UsageError(f"{option} {text!r}: expected a time above zero, such as 10m.")
    return found_s
