"""A document says the same in every medium, and each medium can show every block that is meant for it."""

import io
from typing import get_args

from rich.console import Console

from crashloop.report import markdown, terminal
from crashloop.report.document import (
    Article,
    Badge,
    Block,
    Bullets,
    Cell,
    Document,
    Figures,
    Headline,
    Listing,
    Medium,
    Pairs,
    Paragraph,
    Row,
    Section,
    Span,
    Table,
    outcomes,
    plain,
    table,
)
from crashloop.report.html import to_html
from crashloop.report.standing import Standing
from suites.selftest.report.test_html import Page

BROKEN = Row(
    (
        Cell((Badge.of(Standing.FAIL),)),
        Cell((Span("CAP-4", "id"),), "Restarts MUST be 1 s apart."),
        Cell("too early", details=(Paragraph("second finding", "said"), Paragraph("source", on=Medium.PAGE))),
    ),
    Standing.FAIL,
)
KEPT = Row((Cell((Badge.of(Standing.PASS),)), Cell("CAP-2"), Cell("as required")), Standing.PASS)
DOCUMENT = Document(
    title="title",
    kicker="crashloop example",
    headline=Headline(Standing.FAIL, "It broke.", "It means.", "Do it."),
    facts=(("took", "3 s"),),
    exit_code=1,
    coverage="1 of 2 judged.",
    tally=((Standing.FAIL, 1), (Standing.PASS, 1)),
    sections=(
        Section("verdicts", "Verdicts", (Table(("Outcome", "Id", "Finding"), (BROKEN,), (KEPT,), is_searchable=True),)),
        Section(
            "numbers", "Numbers", (table(("a", "b"), ("1", "2")), Bullets(("one",)), Pairs((("k", "v"),), Medium.ALL))
        ),
        Section("page", "Page", (Article("heading", (Listing("x: 1"),)),), Medium.PAGE),
        Section("empty", "Empty", ()),
    ),
    origin="Written by hand.",
)


def on_console(document: Document) -> str:
    file = io.StringIO()
    terminal.render(document, Console(file=file, width=120, color_system=None), report="r.html")
    return file.getvalue()


def test_a_page_can_show_every_block_and_text_media_the_same_ones() -> None:
    assert set(markdown._RENDER) == set(terminal._RENDER) < set(get_args(Block))
    text_only_on_request = set(get_args(Block)) - set(markdown._RENDER)
    assert {each._field_defaults["on"] for each in text_only_on_request} == {Medium.PAGE}
    page = Document(
        title="",
        kicker="",
        headline=Headline(Standing.PASS, ""),
        sections=(Section("s", "S", (Figures(()), Article("only here", ()))),),
        origin="",
    )
    assert "only here" in Page(to_html(page)).text


def test_a_terminal_shows_the_gravest_last_and_omits_what_is_folded() -> None:
    assert on_console(DOCUMENT).splitlines() == [
        "crashloop example",
        "",
        "Numbers",
        "a  b",
        "1  2",
        "- one",
        "k: v",
        "",
        "Verdicts",
        "✗ FAIL CAP-4",
        "  Restarts MUST be 1 s apart.",
        "  too early",
        "  second finding",
        "",
        "✗ FAIL: It broke.",
        "It means.",
        "What to do: Do it.",
        "1 FAIL, 1 PASS.",
        "took 3 s",
        "Report: r.html",
        "Exit code: 1",
        "1 of 2 judged.",
    ]


def test_a_terminal_has_no_heading_over_nothing() -> None:
    folded = Table(("Outcome", "Id", "Finding"), (), (KEPT,))
    assert "Verdicts" not in on_console(DOCUMENT._replace(sections=(Section("verdicts", "Verdicts", (folded,)),)))


def test_a_summary_begins_with_the_headline_and_folds_what_passed() -> None:
    text = markdown.to_markdown(DOCUMENT)
    assert text.startswith("## ✗ FAIL: It broke.\n\nIt means.\n\n**What to do:** Do it.\n")
    assert "| ✗ FAIL | **CAP-4** Restarts MUST be 1 s apart. | too early<br>second finding |" in text
    assert "<details><summary>1 PASS</summary>\n\n| Outcome | Id | Finding |" in text
    assert "x: 1" not in text


def test_a_page_has_every_section_that_is_not_empty() -> None:
    page = Page(to_html(DOCUMENT))
    assert page.attributes("id", "h2") == ["verdicts", "numbers", "page"]
    assert page.attributes("href", "a") == ["#verdicts", "#numbers", "#page"]
    assert "source" in page.text


def test_a_table_can_be_filtered_by_the_outcomes_of_its_own_rows() -> None:
    """A run may have further verdicts, or no tally at all."""
    page = Page(to_html(DOCUMENT._replace(tally=())))
    assert page.attributes("value", "input") == ["FAIL", "PASS"]


def test_a_page_without_a_searchable_table_has_no_script() -> None:
    page = Page(to_html(DOCUMENT._replace(sections=DOCUMENT.sections[1:])))
    assert "script" not in page.raw


def test_rows_are_counted_by_outcome_worst_first() -> None:
    assert outcomes((KEPT, BROKEN, KEPT)) == "1 FAIL, 2 PASS"


def test_a_line_without_looks_keeps_its_text() -> None:
    assert plain((Span("a", "id"), " and ", Badge.of(Standing.PASS))) == "a and PASS"
