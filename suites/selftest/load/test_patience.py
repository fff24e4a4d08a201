"""How long the load repeats a request: what is away may come back, and what is refused seldom changes."""

from collections.abc import Iterable

import pytest

from crashloop.stress.assignment import Operation
from load.patience import Patience


def given_up(answers: Iterable[tuple[float, int]]) -> tuple[float, float] | None:
    """When the last of these answers (second, code) was reached, and by which limit: 60 s away, 10 s refused."""
    now_s = [0.0]
    patience = Patience(away_s=60, refused_s=10, clock=lambda: now_s[0])
    for now_s[0], code in answers:
        failed = Operation(load="crashers", what="create", sent_ns=1, code=code, error="no")
        if (limit_s := patience.ends_with(failed)) is not None:
            return now_s[0], limit_s
    return None


def every_second(code: int, to_s: int = 100) -> list[tuple[float, int]]:
    return [(float(at_s), code) for at_s in range(to_s)]


@pytest.mark.parametrize("code", [0, 500, 503, 408, 409, 429])
def test_an_api_server_that_is_away_or_busy_is_waited_for(code: int) -> None:
    assert given_up(every_second(code)) == (60, 60)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422])
def test_a_refusal_is_repeated_for_a_short_while(code: int) -> None:
    assert given_up(every_second(code)) == (10, 10)


def test_only_refusals_in_a_row_count() -> None:
    mixed = [(at_s, 503 if at_s % 9 == 0 else 401) for at_s, _ in every_second(0)]
    assert given_up(mixed) == (60, 60)
    assert given_up([*every_second(0, 30), *((30.0 + at_s, 403) for at_s in range(20))]) == (40, 10)


def test_what_is_left_of_the_time_is_never_less_than_none() -> None:
    now_s = [0.0]
    patience = Patience(away_s=60, refused_s=10, clock=lambda: now_s[0])
    now_s[0] = 25.0
    assert patience.left_s == 35
    now_s[0] = 61.0
    assert patience.left_s == 0
