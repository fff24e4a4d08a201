"""report.html in a real browser: no errors, no requests, a table that filters and sorts, and a page without scripts."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import pytest
from playwright.sync_api import BrowserContext, Page, sync_playwright

from crashloop.report.results import Results
from crashloop.run.analysis import publish
from crashloop.rundir import RunDir
from crashloop.verdict import Outcome, Verdict
from suites.selftest.kit.accessibility import faint_texts, out_of_reach
from suites.selftest.kit.report_example import INFO, VERDICTS, example_results

QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Opened(NamedTuple):
    """A report in a browser, and what the browser had to say about it."""

    page: Page
    complaints: list[str]
    requests: list[str]


def chromium() -> str:
    """The browser. A missing one is a gap in CI and a missing capability elsewhere."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is not None:
        return found
    if os.environ.get("CI"):
        pytest.fail("no chromium on PATH, so nobody sees the report before its readers do: apt-get install chromium")
    pytest.skip("needs a browser: no chromium on PATH (apt-get install chromium)")


Launch = Callable[[bool], BrowserContext]


@pytest.fixture(scope="module")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launch]:
    """Starts a browser with a profile of its own, with or without JavaScript."""
    executable = chromium()
    with sync_playwright() as playwright, ExitStack() as opened:

        def start(java_script: bool) -> BrowserContext:
            return opened.enter_context(
                playwright.chromium.launch_persistent_context(
                    tmp_path_factory.mktemp("browser"),
                    executable_path=executable,
                    args=QUIET,
                    viewport={"width": 1280, "height": 900},
                    java_script_enabled=java_script,
                )
            )

        yield start


@pytest.fixture(scope="module")
def context(launch: Launch) -> BrowserContext:
    return launch(True)


def open_report(context: BrowserContext, folder: Path, results: Results, anchor: str = "") -> Opened:
    run = RunDir.create(folder / "run", INFO)
    publish(run, results)
    page = context.new_page()
    opened = Opened(page, [], [])
    page.on("console", lambda message: opened.complaints.append(message.text))
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("dialog", lambda dialog: opened.complaints.append(dialog.message))
    page.on("request", lambda request: opened.requests.append(request.url))
    page.goto(run.report_html.as_uri() + anchor)
    return opened


@pytest.fixture
def report(context: BrowserContext, tmp_path: Path) -> Iterator[Opened]:
    opened = open_report(context, tmp_path, example_results())
    yield opened
    opened.page.close()


def visible_rows(page: Page) -> list[str]:
    rows = page.locator("table.searchable tbody tr:visible")
    return [str(row.get_attribute("data-standing")) for row in rows.all()]


def test_it_opens_without_complaints_and_without_requests(report: Opened) -> None:
    assert report.page.title() == "FAIL: crashloop conformance, Kubernetes 1.37.1"
    assert report.complaints == []
    assert [url for url in report.requests if not url.startswith(("file:", "data:"))] == []


def test_its_style_is_applied_under_its_own_policy(report: Opened) -> None:
    assert report.page.locator("nav").evaluate("element => getComputedStyle(element).position") == "sticky"


def test_the_search_narrows_the_table_and_says_how_far(report: Opened) -> None:
    report.page.fill("#search", "restartCount max-2s")
    assert visible_rows(report.page) == ["FAIL", "ERROR"]
    assert report.page.inner_text("#shown") == "2 of 53 verdicts shown"
    report.page.fill("#search", "")
    assert report.page.inner_text("#shown") == "53 verdicts"


def test_a_search_looks_into_what_is_folded(report: Opened) -> None:
    report.page.fill("#search", "BACKOFF-13")
    assert visible_rows(report.page) == ["PASS"]
    report.page.fill("#search", "")
    assert "PASS" not in visible_rows(report.page)


def test_outcomes_can_be_left_out(report: Opened) -> None:
    for standing in ("PASS", "SKIPPED", "DEVIATION", "REPORTED"):
        report.page.uncheck(f"#tools input[value={standing}]")
    assert visible_rows(report.page) == ["FAIL", "FAIL", "ERROR", "INCONCLUSIVE"]


def test_columns_sort_by_number_both_ways(report: Opened) -> None:
    report.page.locator("details.folded > summary").click()

    def ids() -> list[str]:
        return list(dict.fromkeys(report.page.locator("details.folded tbody .id").all_inner_texts()))

    header = report.page.locator("details.folded th").nth(1)
    header.get_by_role("button").click()
    assert ids()[:7] == [f"BACKOFF-{number}" for number in (1, 2, 3, 4, 7, 8, 9)]
    assert header.get_attribute("aria-sort") == "ascending"
    header.get_by_role("button").click()
    assert ids()[:2] == ["STORY-6", "SKEW-2"]
    assert header.get_attribute("aria-sort") == "descending"


def test_a_requirement_that_is_filtered_away_is_shown_when_it_is_asked_for(report: Opened) -> None:
    report.page.uncheck("#tools input[value=PASS]")
    report.page.locator("a.chip[href='#req-SKEW-2']").click()
    row = report.page.locator("#req-SKEW-2")
    row.wait_for(state="visible")
    assert row.locator("details[open]").count() == 1


def test_a_link_to_a_requirement_opens_its_finding(context: BrowserContext, tmp_path: Path) -> None:
    opened = open_report(context, tmp_path, example_results(), "#req-CONFIG-2")
    assert "must be set between 1s and 300s" in opened.page.locator("#req-CONFIG-2 .pairs").inner_text()
    opened.page.close()


@pytest.mark.parametrize("width", [400, 800, 1280], ids=["narrow", "tablet", "desktop"])
def test_nothing_is_cut_off_at_any_width(report: Opened, width: int) -> None:
    report.page.set_viewport_size({"width": width, "height": 900})
    report.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert report.page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_readers_get_a_dark_page(report: Opened) -> None:
    def background() -> str:
        return str(report.page.evaluate("getComputedStyle(document.body).backgroundColor"))

    report.page.emulate_media(color_scheme="light")
    assert background() == "rgb(255, 255, 255)"
    report.page.emulate_media(color_scheme="dark")
    assert background() == "rgb(13, 17, 23)"
    report.page.emulate_media(media="print")
    assert background() == "rgb(255, 255, 255)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_what_lies_below_it(report: Opened, scheme: Literal["light", "dark"]) -> None:
    report.page.emulate_media(color_scheme=scheme)
    assert faint_texts(report.page) == []


def test_a_badge_that_is_too_faint_is_found(report: Opened) -> None:
    report.page.locator(".legend .badge").first.evaluate("element => { element.style.opacity = 0.4; }")
    assert any(each.startswith("✗ FAIL: ") for each in faint_texts(report.page))


@pytest.mark.parametrize("width", [400, 1280], ids=["narrow", "desktop"])
def test_a_keyboard_reaches_all_that_scrolls(report: Opened, width: int) -> None:
    report.page.set_viewport_size({"width": width, "height": 900})
    report.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert out_of_reach(report.page) == []


def test_what_scrolls_without_a_focus_is_found(report: Opened) -> None:
    report.page.set_viewport_size({"width": 400, "height": 900})
    report.page.locator("h1").evaluate("element => { element.textContent = 'wide'.repeat(200); }")
    report.page.locator("h1").evaluate("element => { element.style.overflowX = 'auto'; }")
    assert out_of_reach(report.page) == ["H1."]


def test_paper_has_the_numbers_under_the_plots(report: Opened) -> None:
    numbers = report.page.locator("figure table.numbers").first
    assert not numbers.is_visible()
    report.page.emulate_media(media="print")
    assert numbers.is_visible()
    assert out_of_reach(report.page) == []


def test_hostile_findings_run_nothing(context: BrowserContext, tmp_path: Path) -> None:
    text = "</script><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>"
    finding = msgspec.structs.replace(VERDICTS[0], outcome=Outcome.FAIL, findings=(text,), facts={"stderr": text})
    opened = open_report(context, tmp_path, example_results((finding,)))
    assert opened.page.locator(".cause p.said, .cause h3 .said").first.inner_text().endswith(text)
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
    opened.page.close()


def test_the_policy_stops_a_script_that_an_escape_would_have_missed(report: Opened) -> None:
    report.page.evaluate(
        "document.body.append(document.createRange().createContextualFragment('<script>alert(1)</script>'))"
    )
    assert any("Content Security Policy" in each for each in report.complaints)
    assert "1" not in report.complaints


def test_without_scripts_all_is_there_and_nothing_is_offered_that_does_not_work(launch: Launch, tmp_path: Path) -> None:
    page = open_report(launch(False), tmp_path, example_results()).page
    page.locator("details.folded > summary").click()
    assert len(visible_rows(page)) == len(VERDICTS)
    assert not page.locator("#tools").is_visible()
    page.locator("details.folded tbody summary").last.click()
    assert page.get_by_text("Source: KEP-5307, Design Details.").is_visible()


def test_a_run_with_one_verdict_opens_as_well(context: BrowserContext, tmp_path: Path) -> None:
    passed = Verdict(requirement="CAP-3", scenario="crash-natural-max-2s", profile="max-2s", outcome=Outcome.PASS)
    opened = open_report(context, tmp_path, example_results((passed,)))
    assert opened.page.inner_text("h1") == (
        "✓ PASS: Kubernetes 1.37.1 (kubelets 1.34.4, 1.37.1) restarts containers as documented: 1 verdict passes."
    )
    assert opened.complaints == []
    opened.page.close()
