"""Counters grow by differences of scrapes; resets, missing scrapes and late series are reported, not guessed away."""

from crashloop.slo.increase import growths, window_of
from crashloop.slo.scrapes import Scrapes
from suites.selftest.kit.slo_kit import Values, ns, scrapes

COUNTER = ("started_total", ())


def grown(source: Scrapes, from_s: float, to_s: float) -> tuple[float, tuple[str, ...]]:
    window = window_of(source, ns(from_s), ns(to_s))
    assert window is not None
    return sum(growth.total for growth in growths(source, "started_total", window)), window.notes


def counter(*values: float | None) -> Values:
    return {COUNTER: values}


def test_a_counter_grows_by_the_difference() -> None:
    assert grown(scrapes((0, 5, 10), counter(7, 9, 12)), 0, 10) == (5, ())


def test_the_scrapes_nearest_to_the_ends_count() -> None:
    source = scrapes((0, 5, 10, 15), counter(0, 1, 3, 7))
    assert grown(source, 4, 11) == (2, ())


def test_a_series_that_appears_later_has_begun_at_zero() -> None:
    assert grown(scrapes((0, 5, 10), counter(None, None, 4)), 0, 10) == (4, ())


def test_a_series_that_was_there_from_the_first_scrape_on_has_begun_before() -> None:
    assert grown(scrapes((0, 5), counter(100, 101)), 0, 5) == (1, ())


def test_a_counter_that_falls_has_begun_anew() -> None:
    assert grown(scrapes((0, 5, 10), counter(7, 2, 3)), 0, 10) == (3, ())


def test_a_process_that_was_started_anew_resets_even_a_counter_that_did_not_fall() -> None:
    values = {**counter(3, 4, 5), ("process_start_time_seconds", ()): (100.0, 160.0, 160.0)}
    total, notes = grown(scrapes((0, 5, 10), values), 0, 10)
    assert total == 5  # 4 since the new start, and 1 more
    assert notes == (
        "kubelet of node-1 was restarted between two scrapes 5.0 s apart: its counts after the first of them are lost.",
    )


def test_a_start_time_that_is_read_differently_is_no_new_start() -> None:
    values = {**counter(3, 4), ("process_start_time_seconds", ()): (100.0, 100.9)}
    assert grown(scrapes((0, 5), values), 0, 5) == (1, ())


def test_missed_scrapes_lose_nothing_and_are_reported() -> None:
    source = scrapes((0, 20), counter(1, 9), gaps=((5, 6, "timed out"), (10, 12.5, "timed out")))
    assert grown(source, 0, 20) == (8, ("kubelet of node-1: scrapes missed: 2, the longest for 2.5 s (timed out).",))


def test_a_window_that_no_scrape_is_near_to_says_how_far_off_it_is() -> None:
    source = scrapes((0, 30), counter(1, 9))
    assert grown(source, 8, 40) == (
        8,
        (
            "The window of kubelet of node-1 begins -8.0 s off: no scrape is nearer.",
            "The window of kubelet of node-1 ends -10.0 s off: no scrape is nearer.",
        ),
    )


def test_one_scrape_is_no_window() -> None:
    assert window_of(scrapes((0,), counter(1)), ns(0), ns(10)) is None
    assert window_of(scrapes((0, 50), counter(1, 2)), ns(0), ns(10)) is None


def test_a_window_that_ends_before_it_begins_is_none() -> None:
    assert window_of(scrapes((0, 5, 10), counter(1, 2, 3)), ns(10), ns(0)) is None


def test_only_selected_series_count() -> None:
    values: Values = {("started_total", (("kind", "a"),)): (0, 2), ("started_total", (("kind", "b"),)): (0, 5)}
    source = scrapes((0, 5), values)
    window = window_of(source, ns(0), ns(5))
    assert window is not None
    found = growths(source, "started_total", window, lambda labels: labels.get("kind") == "b")
    assert [(growth.labels, growth.total) for growth in found] == [({"kind": "b"}, 5)]


def test_a_series_that_was_away_grew_by_the_difference_and_not_by_all_of_it() -> None:
    source = scrapes((0, 5, 10, 15, 20), counter(100, 102, None, None, 103))
    assert grown(source, 0, 20) == (3, ())
    assert grown(source, 10, 20) == (1, ())


def test_a_series_that_was_away_while_its_process_was_started_anew_has_begun_at_zero() -> None:
    values = {**counter(3, None, 5, 6), ("process_start_time_seconds", ()): (100.0, 160.0, 160.0, 160.0)}
    source = scrapes((0, 5, 10, 15), values)
    assert (grown(source, 0, 15)[0], grown(source, 5, 15)[0]) == (6, 6)


def test_a_series_that_comes_back_with_less_has_begun_anew() -> None:
    assert grown(scrapes((0, 5, 10), counter(7, None, 2)), 0, 10) == (2, ())
