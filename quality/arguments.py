"""Reads and changes a kubelet's command line for the wrapper. Pure."""

from collections.abc import Sequence


def value_of(flag: str, arguments: Sequence[str]) -> str | None:
    """The value of `--flag=value` or `--flag value`; the last one counts. None without the flag."""
    found = None
    for position, each in enumerate(arguments):
        if each.startswith(f"{flag}="):
            found = each.removeprefix(f"{flag}=")
        elif each == flag and position + 1 < len(arguments):
            found = arguments[position + 1]
    return found


def with_value(flag: str, value: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """The command line with the flag set to another value; flags are read in order and the last one counts."""
    return (*arguments, f"{flag}={value}")
