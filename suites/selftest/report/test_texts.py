"""The views that are text say the same as results.json, and no finding can act on a reader's screen."""

import io
from collections import Counter
from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from crashloop.report.causes import causes_by_verdict, causes_of
from crashloop.report.conformance import conformance_document
from crashloop.report.html import to_html
from crashloop.report.junit import to_junit
from crashloop.report.markdown import to_markdown
from crashloop.report.standing import Standing
from crashloop.report.terminal import render
from crashloop.report.text import evidence_text, lines_text, printable, seconds, took
from crashloop.verdict import Evidence, Outcome, Verdict, VerdictMode
from suites.selftest.kit.report_example import VERDICTS, example_results
from suites.selftest.kit.snapshots import MarkdownFile, TextFile, XmlFile

HOSTILE = "</td><script>alert(1)</script> | `x` [a](http://b) <!-- ]]> & \x1b[2J\x00 \u202egnp.exe\n| new | row |"


def hostile(outcome: Outcome = Outcome.FAIL) -> Verdict:
    return Verdict(
        requirement="CAP-3",
        scenario="crash-natural-max-2s",
        profile="max-2s",
        outcome=outcome,
        findings=(HOSTILE,),
        evidence=(Evidence(file="history/a|b.jsonl", lines=(3,)),),
        facts={"stderr": HOSTILE},
    )


def on_console(*, terminal: bool, verdicts: tuple[Verdict, ...] = VERDICTS) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=100, color_system=None, highlight=False)
    render(conformance_document(example_results(verdicts)), console, report="runs/latest/report.html")
    return file.getvalue()


def test_the_summary_is_as_agreed(snapshot: SnapshotAssertion) -> None:
    assert to_markdown(conformance_document(example_results())).encode() == snapshot.use_extension(MarkdownFile)


def test_the_junit_file_is_as_agreed(snapshot: SnapshotAssertion) -> None:
    results = example_results()
    assert to_junit(results, causes_by_verdict(causes_of(results))).encode() == snapshot.use_extension(XmlFile)


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "log"])
def test_the_console_output_is_as_agreed(terminal: bool, snapshot: SnapshotAssertion) -> None:
    assert on_console(terminal=terminal).encode() == snapshot.use_extension(TextFile)


def test_junit_maps_each_standing_to_its_element() -> None:
    root = ET.fromstring(to_junit(example_results()))
    seen = Counter(tuple(child.tag for child in case) for case in root.iter("testcase"))
    assert seen == {("failure",): 2, ("error",): 2, ("skipped",): 1, ("system-out",): 4, (): 44}
    (suite,) = root.iter("testsuite")
    assert "skipped" not in root.attrib, "Jenkins' junit-10.xsd knows it of a testsuite only"
    assert {key: suite.attrib[key] for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "53",
        "failures": "2",
        "errors": "2",
        "skipped": "1",
    }


def test_junit_says_which_deviation_a_pass_rests_on() -> None:
    root = ET.fromstring(to_junit(example_results()))
    said = [case.findtext("system-out", "") for case in root.iter("testcase") if case.find("system-out") is not None]
    assert said[0].startswith("Known deviation gate-off-refuses-field: With KubeletCrashLoopBackOffMax off,")


def test_junit_fails_nothing_that_is_only_reported() -> None:
    missed = Verdict(
        requirement="BACKOFF-3",
        scenario="s",
        profile="stock",
        outcome=Outcome.FAIL,
        mode=VerdictMode.REPORT,
        findings=("BACKOFF-3: a wait ended 9 s late; 5 s were allowed.",),
    )
    (case,) = ET.fromstring(to_junit(example_results((missed,)))).iter("testcase")
    assert [child.tag for child in case] == ["system-out"]
    assert case.findtext("system-out", "").splitlines()[::2] == [
        "Only reported: BACKOFF-3 was not kept, which does not fail the run.",
        "BACKOFF-3: a wait ended 9 s late; 5 s were allowed.",
    ]


def test_junit_stays_well_formed_whatever_a_finding_holds() -> None:
    (failure,) = ET.fromstring(to_junit(example_results((hostile(),)))).iter("failure")
    assert printable(HOSTILE) in (failure.text or "")


def test_the_summary_keeps_a_hostile_finding_in_its_cell() -> None:
    (row,) = {
        line
        for line in to_markdown(conformance_document(example_results((hostile(),)))).splitlines()
        if line.startswith("| ✗ FAIL")
    }
    assert row.count(
        r"| on node max-2s: &lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt; \| \`x\` \[a\](http://b) &lt;!-- \]\]&gt; &amp; "
        r"\\x1b\[2J\\x00 \\u202egnp.exe<br>\| new \| row \| | Breaks CAP-3."
    )


def test_the_summary_stays_below_what_github_accepts() -> None:
    many = tuple(
        Verdict(
            requirement="CAP-3",
            scenario=f"s-{n}",
            profile="max-2s",
            outcome=Outcome.FAIL,
            findings=(f"{n} {'x' * 9000}",),
        )
        for n in range(3000)
    )
    text = to_markdown(conformance_document(example_results(many)))
    assert len(text.encode()) < 2**20
    assert text.count(" more are in results.json.") == 1


def test_no_finding_reaches_a_terminal_as_an_escape_sequence() -> None:
    for terminal in (True, False):
        said = on_console(terminal=terminal, verdicts=(hostile(),))
        assert "\x1b" not in said
        assert "\\x1b[2J\\x00 \\u202egnp.exe" in " ".join(said.split())


def test_a_log_line_holds_a_whole_finding() -> None:
    finding = "word " * 60
    verdict = Verdict(
        requirement="CAP-3", scenario="s", profile="max-2s", outcome=Outcome.INCONCLUSIVE, findings=(finding.strip(),)
    )
    lines = on_console(terminal=False, verdicts=(verdict,)).splitlines()
    assert f"? INCONCLUSIVE {finding.strip()}" in lines


def test_one_missing_capability_is_said_once() -> None:
    skipped = tuple(
        Verdict(requirement=each, scenario="s", profile="max-2s", outcome=Outcome.SKIPPED, findings=("needs events.",))
        for each in ("CAP-3", "CAP-4", "RULES-3")
    )
    said = on_console(terminal=False, verdicts=skipped)
    assert "\nSkipped\nCAP-3, CAP-4, RULES-3: needs events.\n" in said


def test_every_view_counts_alike() -> None:
    results = example_results()
    document = conformance_document(results)
    assert results.coverage is not None
    assert results.coverage.sentence in to_markdown(document)
    assert results.coverage.sentence in to_html(document)
    assert on_console(terminal=False).endswith(f"\n{results.coverage.sentence}\n")
    counts = ", ".join(f"{number} {standing.label}" for standing, number in results.counts.items() if number)
    assert counts in to_markdown(document)
    assert counts in on_console(terminal=False)
    assert set(results.counts) == set(Standing)


@pytest.mark.parametrize(
    ("lines", "text"),
    [((), ""), ((4,), "line 4"), ((9, 12), "lines 9, 12"), ((12, 9, 10, 11, 40, 40), "lines 9-12, 40")],
    ids=["none", "one", "two", "runs"],
)
def test_lines_are_named_briefly(lines: tuple[int, ...], text: str) -> None:
    assert lines_text(lines) == text


def test_evidence_is_named_by_file_and_lines() -> None:
    evidence = (Evidence(file="history/a.jsonl", lines=(9, 12)), Evidence(file="recorder.log"))
    assert evidence_text(evidence) == "history/a.jsonl lines 9, 12; recorder.log"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.218, "0.22"), (2.6, "2.6"), (12.65, "12.65"), (161.34, "161.3"), (300.0, "300"), (None, "–")],
    ids=str,
)
def test_seconds_have_no_needless_digits(value: float | None, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("duration_s", "text"),
    [(46.6, "47 s"), (134, "2 min 14 s"), (3900, "1 h 05 min"), (273_600, "3 d 04 h"), (28_377_541, "328 d")],
    ids=str,
)
def test_durations_read_as_people_say_them(duration_s: float, text: str) -> None:
    assert took(timedelta(seconds=duration_s)) == text
