"""A plot puts every delay where its axis says, and its picture holds nothing but shapes."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from crashloop.report.chart import Scale, ordinal_ticks, scale_for
from crashloop.report.curves import (
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    PlottedCurve,
    ReportedDelay,
    curve_in_words,
    curve_svg,
    delay_in_words,
    shared_scale,
)
from crashloop.report.standing import Standing
from suites.selftest.kit.report_example_delays import KUBELET_RESTART, LIVENESS, MAX_1S, REDUCED, SKEW_NATURAL, TWO
from suites.selftest.kit.snapshots import SvgFile


def curve_of(rows: Sequence[Mapping[str, object]]) -> PlottedCurve:
    return PlottedCurve(
        scenario="s",
        container="app",
        profile="p",
        standing=Standing.PASS,
        requirements=("CAP-3",),
        delays=msgspec.convert(rows, tuple[ReportedDelay, ...]),
    )


class Drawn(NamedTuple):
    """What stands in a picture, in its units."""

    bars: list[list[float]]
    """x, y, width and height of each."""
    due_y: list[float]
    marks_y: list[float]
    """Of dots, and of the upper ends of crosses."""


def drawn(curve: PlottedCurve, scale: Scale | None = None) -> Drawn:
    svg = curve_svg(curve, scale or shared_scale([curve]), title="t", name="c")
    paths = dict(re.findall(r'<path class="(band|due)" d="([^"]*)"', svg))
    return Drawn(
        [[float(each) for each in bar] for bar in re.findall(r"M(\S+) (\S+?)h(\S+?)v(\S+?)h-", paths["band"])],
        [float(y) for y in re.findall(r"M\S+ (\S+?)H", paths["due"])],
        [float(dot or cross) for dot, cross in re.findall(r'cy="(\S+)"|class="out[^"]*" d="M\S+ (\S+?)l', svg)],
    )


SECONDS = st.floats(min_value=0, max_value=1000, allow_nan=False)
SCALES = st.builds(scale_for, st.lists(SECONDS, max_size=8), st.lists(SECONDS, max_size=8))


@given(SCALES, SECONDS, SECONDS)
@example(Scale(high=768.35, floor=0.890625), 0.0, 769.0)
@example(scale_for([28.5, 0.001], []), 0.0, 32.0)
def test_a_longer_delay_never_stands_lower(scale: Scale, one: float, other: float) -> None:
    short, long = sorted((one, other))
    assert 0 <= scale.at(short) <= scale.at(long) <= 1


@given(st.lists(SECONDS, min_size=1, max_size=8), st.lists(SECONDS, max_size=8))
def test_every_drawn_value_is_within_the_axis(due: list[float], others: list[float]) -> None:
    assert max(due + others) <= scale_for(due, others).high


@given(SCALES)
def test_ticks_rise_from_zero_and_stay_on_the_axis(scale: Scale) -> None:
    ticks = scale.ticks()
    assert ticks[0] == 0
    assert all(low < high for low, high in pairwise(ticks))
    assert ticks[-1] <= scale.high
    assert len(ticks) <= 7


def test_a_doubling_curve_is_drawn_by_its_logarithm_with_its_own_delays_as_ticks() -> None:
    scale = scale_for([0, 10, 20, 40, 80], [0.3, 86.5])
    assert scale.floor == 10
    assert scale.ticks() == (0, 10, 20, 40, 80)


def test_a_flat_curve_is_drawn_linearly() -> None:
    scale = scale_for([0, 10, 10], [16])
    assert scale.floor is None
    assert scale.ticks() == (0, 5, 10, 15)


@pytest.mark.parametrize(
    ("restarts", "labelled"),
    [(range(1, 6), {1, 2, 3, 4, 5}), (range(1, 25), {1, 5, 10, 15, 20}), (range(4, 7), {4, 5, 6}), ([1], {1})],
    ids=["few", "many", "from-the-fourth", "one"],
)
def test_restarts_are_labelled_as_far_as_there_is_room(restarts: list[int], labelled: set[int]) -> None:
    assert ordinal_ticks(restarts) == labelled


def test_marks_of_a_profile_stand_on_one_axis() -> None:
    long, short = curve_of(REDUCED), curve_of(REDUCED[:2])
    scale = shared_scale([long, short])
    assert drawn(short, scale).marks_y == drawn(long, scale).marks_y[:2]


def test_a_dot_is_above_its_due_line_and_below_the_top_of_its_bar() -> None:
    curve = curve_of(REDUCED)
    for (_, top, _, height), due_y, mark_y in zip(*drawn(curve), strict=True):
        assert top <= mark_y <= due_y
        assert due_y == pytest.approx(top + height, abs=0.15)


def test_everything_stays_inside_the_picture() -> None:
    for rows in (MAX_1S, REDUCED, TWO[:3], KUBELET_RESTART, SKEW_NATURAL):
        curve = curve_of(rows)
        bars, due_y, _ = drawn(curve)
        assert all(x >= LEFT and x + width <= WIDTH - RIGHT + 0.1 for x, _, width, _ in bars)
        assert all(TOP <= y <= HEIGHT for y in due_y)


def test_a_restart_that_was_not_seen_has_a_bar_and_no_mark() -> None:
    missing = {"restart": 3, "due_s": 20.0, "latest_s": 31.0}
    curve = curve_of([*TWO[:2], missing])
    bars, _, marks_y = drawn(curve)
    assert (len(bars), len(marks_y)) == (3, 2)
    assert (
        curve_in_words(curve)
        == "all 2 inside the band, lateness up to 70\N{NO-BREAK SPACE}% of what is allowed; 1 not seen"
    )
    assert delay_in_words(curve.delays[2]) == "restart 3: not seen; 20 s was due, allowed up to 31 s"


def test_a_delay_without_a_bound_has_a_bar_to_the_top() -> None:
    curve = curve_of([{"restart": 1, "due_s": 2.0, "seen_s": 3.0, "created_s": 2.9}])
    ((_, top, _, _),) = drawn(curve).bars
    assert top == TOP
    assert curve_in_words(curve) == "1 delay, inside the band"


def test_a_delay_with_alternatives_has_a_bar_for_each() -> None:
    row = {"restart": 2, "due_s": 0.0, "latest_s": 3.0, "alternatives": [{"due_s": 40.0, "latest_s": 61.0}]}
    curve = curve_of([{**row, "seen_s": 41.0, "created_s": 40.8}])
    assert len(drawn(curve).bars) == 2
    assert curve_in_words(curve) == "1 delay, inside the band"
    assert delay_in_words(curve.delays[0]) == (
        "restart 2: created after 40.8 s, started after 41 s; 0 s was due, allowed up to 3 s or 40 to 61 s"
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (MAX_1S, "1 of 24 outside the band"),
        (LIVENESS, "3 of 4 outside the band"),
        (KUBELET_RESTART, "1 of 4 outside the band, by no more than the host was stalled"),
        (REDUCED, "all 7 inside the band, lateness up to 74\N{NO-BREAK SPACE}% of what is allowed"),
    ],
    ids=["one-early", "deviation", "excusable", "inside"],
)
def test_a_plot_says_in_words_what_it_shows(rows: list[dict[str, object]], said: str) -> None:
    assert curve_in_words(curve_of(rows)) == said


@pytest.mark.parametrize("rows", [REDUCED, MAX_1S, KUBELET_RESTART], ids=["logarithmic", "one-outside", "excusable"])
def test_pictures_are_as_agreed(rows: list[dict[str, object]], snapshot: SnapshotAssertion) -> None:
    curve = curve_of(rows)
    svg = curve_svg(curve, shared_scale([curve]), title="Delays", name="c")
    assert svg.replace("><", ">\n<").encode() == snapshot.use_extension(SvgFile)


def test_a_picture_is_well_formed_and_names_itself() -> None:
    curve = curve_of(MAX_1S)
    title = 'Delays of "<app>" & more\x1b[2J'
    root = ET.fromstring(curve_svg(curve, shared_scale([curve]), title=title, name="c"))
    assert root.attrib["aria-labelledby"] == "c-t c-d"
    assert [each.text for each in root[:2]] == ['Delays of "<app>" & more\\x1b[2J', curve_in_words(curve)]


def test_many_marks_carry_no_titles_of_their_own() -> None:
    rows = [{"restart": n, "due_s": 1.0, "latest_s": 2.5, "seen_s": 1.6, "created_s": 1.5} for n in range(1, 301)]
    curve = curve_of(rows)
    svg = curve_svg(curve, shared_scale([curve]), title="t", name="c")
    assert len(re.findall("<title", svg)) == 1
    assert len(svg) < 40_000
