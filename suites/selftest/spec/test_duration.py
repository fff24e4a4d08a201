"""Durations, read as Go does."""

import pytest

from crashloop.spec.duration import NotADuration, duration_seconds, parse_duration_ns


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        ("0", 0),
        ("1m30s", 90_000_000_000),
        ("1.5h", 5_400_000_000_000),
        ("300.0009s", 300_000_900_000),
        (".5s", 500_000_000),
        ("-2s", -2_000_000_000),
        ("+1us2µs3ns", 3_003),
    ],
)
def test_go_durations_are_read_as_go_reads_them(text: str, duration_ns: int) -> None:
    assert parse_duration_ns(text) == duration_ns


@pytest.mark.parametrize("text", [".s", "-", "s", "1s.", "9999999999h", "1.2.3s"])
def test_what_go_does_not_read_is_refused(text: str) -> None:
    with pytest.raises(NotADuration):
        parse_duration_ns(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("10s", 10.0),
        ("5m0s", 300.0),
        ("1h2m3.5s", 3723.5),
        ("500ms", 0.5),
        ("", None),
        ("10", None),
        ("1s!", None),
        (2, None),
    ],
)
def test_what_is_no_duration_has_no_seconds(value: object, expected: float | None) -> None:
    assert duration_seconds(value) == expected
