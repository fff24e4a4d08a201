"""What a source says becomes lines of a file and comes back; only what changed is written."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.errors import UsageError
from crashloop.slo.exposition import Differences, Exposition, SeriesKey, read_scrapes, to_line
from crashloop.slo.scrapes import Line, MissedScrape, ScrapeLine, Scrapes, SeriesLine, SourceLine

ANSWER = b"""# HELP kubelet_started_containers_total [ALPHA] Cumulative number of containers started
# TYPE kubelet_started_containers_total counter
kubelet_started_containers_total{container_type="container"} 12
kubelet_other_total 5
latency_seconds_bucket{path="/a b}\\"c\\"",le="0.5"} 3
latency_seconds_bucket{path="/a b}\\"c\\"",le="+Inf"} 4
latency_seconds_sum{path="x"} 1.5
container_cpu{pod="p"} 1.25e+02 1795282204965
process_start_time_seconds 1.79528219925e+09
summary{quantile="0.5"} NaN
"""
WANTED = (
    "kubelet_started_containers_total",
    "latency_seconds",
    "container_cpu",
    "process_start_time_seconds",
    "summary",
)
SOURCE = SourceLine(source="kubelet", node="node-1", interval_s=5.0)


def test_only_families_that_are_wanted_are_read() -> None:
    found = [(series.name, series.labels, value) for _, series, value in Exposition(WANTED[:3]).read(ANSWER)]
    assert found == [
        ("kubelet_started_containers_total", {"container_type": "container"}, 12.0),
        ("latency_seconds_bucket", {"path": '/a b}"c"', "le": "0.5"}, 3.0),
        ("latency_seconds_bucket", {"path": '/a b}"c"', "le": "+Inf"}, 4.0),
        ("latency_seconds_sum", {"path": "x"}, 1.5),
        ("container_cpu", {"pod": "p"}, 125.0),
    ]


def test_a_value_that_is_older_than_its_scrape_has_its_time_as_a_series_of_its_own() -> None:
    answer = b'pod_cpu_usage_seconds_total{pod="p"} 1.25 1795282204965\npod_cpu_usage_seconds_total{pod="q"} 2.5\n'
    found = list(Exposition(["pod_cpu_usage_seconds_total"]).read(answer))
    assert [(series.name, series.labels, value) for _, series, value in found] == [
        ("pod_cpu_usage_seconds_total", {"pod": "p"}, 1.25),
        ("pod_cpu_usage_seconds_total_timestamp_seconds", {"pod": "p"}, 1795282204.965),
        ("pod_cpu_usage_seconds_total", {"pod": "q"}, 2.5),
    ]
    assert len({key for key, _, _ in found}) == len(found)


def test_a_series_has_the_same_key_in_every_answer() -> None:
    exposition = Exposition(WANTED)
    first, second = ([key for key, _, _ in exposition.read(ANSWER)] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first)


def test_an_answer_that_is_no_metrics_is_malformed() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        list(Exposition(("up",)).read(b"up down\n"))


def test_a_second_scrape_holds_only_what_changed() -> None:
    exposition, differences = Exposition(WANTED), Differences()
    first = list(differences.lines(1, 0, exposition.read(ANSWER)))
    second = list(differences.lines(2, 0, exposition.read(ANSWER.replace(b"} 12\n", b"} 13\n"))))
    assert [type(line) for line in first] == [SeriesLine] * 6 + [ScrapeLine]
    assert second == [ScrapeLine(t_ns=2, ids=(0,), values=(13.0,))]


def test_a_number_that_is_none_is_left_out() -> None:
    lines = list(Differences().lines(1, 0, Exposition(("summary",)).read(ANSWER)))
    assert lines == [ScrapeLine(t_ns=1)]


def test_a_file_gives_back_what_was_said() -> None:
    differences = Differences()
    said = [{"a": 1.0, "b": 2.0}, {"a": 1.0}, {"a": 3.0, "b": 2.0}]
    lines = [SOURCE, *_lines(differences, said), MissedScrape(from_ns=31, to_ns=32, reason="timed out")]
    scrapes = read_scrapes(map(to_line, lines))
    assert scrapes.source == SOURCE
    assert scrapes.t_ns == (10, 20, 30)
    assert scrapes.gaps == (MissedScrape(from_ns=31, to_ns=32, reason="timed out"),)
    assert samples(scrapes) == [
        ("a", 10, 1.0),
        ("a", 20, 1.0),
        ("a", 30, 3.0),
        ("b", 10, 2.0),
        ("b", 30, 2.0),
    ]


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.sampled_from([0.0, 1.0, 2.5])), max_size=8))
def test_whatever_was_said_comes_back(said: list[dict[str, float]]) -> None:
    scrapes = read_scrapes(map(to_line, [SOURCE, *_lines(Differences(), said)]))
    told = {(name, t_ns): value for name, t_ns, value in samples(scrapes)}
    assert told == {(name, 10 * (at + 1)): value for at, each in enumerate(said) for name, value in each.items()}


def test_what_follows_a_damaged_line_is_not_used() -> None:
    whole = [to_line(line) for line in (SOURCE, *_lines(Differences(), [{"a": 1.0}, {"a": 2.0}, {"a": 3.0}]))]
    scrapes = read_scrapes([*whole[:3], b'{"type":"scrape","t_ns":2', *whole[4:]])
    assert scrapes.t_ns == (10,)
    assert scrapes.damage == ("line 4 cannot be read (Input data was truncated); the rest of the file is not used",)


def test_a_value_without_a_series_is_damage() -> None:
    scrapes = read_scrapes([to_line(SOURCE), to_line(ScrapeLine(t_ns=1, ids=(7,), values=(1.0,)))])
    assert scrapes.t_ns == ()
    assert scrapes.damage == ("line 2 cannot be read (series 7 was never named); the rest of the file is not used",)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "m.jsonl: it is empty; expected a file of RUN/metrics."),
        ([b"{}\n"], "m.jsonl: line 1 cannot be read"),
        ([to_line(ScrapeLine(t_ns=1))], "m.jsonl: its first line is no source; expected a file of RUN/metrics."),
        (
            [to_line(msgspec.structs.replace(SOURCE, format="crashloop.metrics/2"))],
            "m.jsonl: format 'crashloop.metrics/2'; this version reads 'crashloop.metrics/1'.",
        ),
    ],
    ids=["empty", "something-else", "no-source", "newer"],
)
def test_a_file_of_another_kind_is_refused(lines: list[bytes], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_scrapes(lines, name="m.jsonl")
    assert str(raised.value).startswith(message)


def samples(scrapes: Scrapes) -> list[tuple[str, int, float]]:
    """Series, time and value, series by series."""
    return [
        (each.name, t_ns, value)
        for each in scrapes.series
        for t_ns, value in zip(each.t_ns.tolist(), each.values.tolist(), strict=True)
    ]


def _lines(differences: Differences, said: list[dict[str, float]]) -> list[Line]:
    return [
        line
        for at, values in enumerate(said, start=1)
        for line in differences.lines(
            10 * at, 0, [(name.encode(), SeriesKey(name, {}), value) for name, value in values.items()]
        )
    ]
