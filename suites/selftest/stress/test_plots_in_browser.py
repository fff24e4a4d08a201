"""Plots along time in a real browser: the pointer shows values, a drag zooms in, and a double click shows everything again."""

from collections.abc import Iterator

import msgspec
import pytest
from playwright.sync_api import Page, sync_playwright

from crashloop.report.html import to_html
from crashloop.report.stress.document import stress_document
from crashloop.report.stress.results import Series
from crashloop.stress.judging import judge_run
from suites.selftest.kit.accessibility import faint_texts, out_of_reach
from suites.selftest.kit.stress_kit import example_run
from suites.selftest.report.test_browser import QUIET, chromium

PLOT = "svg[data-along]"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A report whose first line goes from 1 at 0 s over 4 at 50 s to 2 at 100 s."""
    folder = tmp_path_factory.mktemp("plots")
    line = Series(name="restarts", node="storm", unit="restarts/s", points=((0.0, 1.0), (50.0, 4.0), (100.0, 2.0)))
    results = msgspec.structs.replace(judge_run(example_run(folder / "run").run), series=(line,), dots=())
    path = folder / "report.html"
    path.write_text(to_html(stress_document(results)), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=QUIET)
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.goto(path.as_uri())
        yield opened
        browser.close()


def middle(page: Page) -> tuple[float, float]:
    plot = page.locator(PLOT).first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    return box["x"] + box["width"] * (40 + 256) / 560, box["y"] + box["height"] / 4


def view(page: Page) -> str | None:
    return page.locator(PLOT).first.get_attribute("viewBox")


def test_a_keyboard_reaches_all_that_scrolls(page: Page) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    assert page.locator(".wide[role=region]").count() > 0
    assert out_of_reach(page) == []
    page.set_viewport_size({"width": 1280, "height": 900})


def test_every_text_stands_out_from_what_lies_below_it(page: Page) -> None:
    assert faint_texts(page) == []


def test_the_pointer_shows_the_nearest_value_and_its_time(page: Page) -> None:
    page.mouse.move(*middle(page))
    reading = page.locator(f"{PLOT} text.reading").first
    assert reading.text_content() == "restarts/s 4 at 50 s"
    assert reading.get_attribute("visibility") == "visible"
    page.mouse.move(1, 1)
    assert reading.get_attribute("visibility") == "hidden"


def test_a_drag_zooms_in_and_a_double_click_out(page: Page) -> None:
    whole = view(page)
    x, y = middle(page)
    page.mouse.move(x - 50, y)
    page.mouse.down()
    page.mouse.move(x + 50, y)
    page.mouse.up()
    zoomed = view(page)
    page.mouse.dblclick(x, y)
    assert zoomed != whole
    assert view(page) == whole


def test_a_click_alone_zooms_nowhere(page: Page) -> None:
    whole = view(page)
    page.mouse.click(*middle(page))
    assert view(page) == whole
