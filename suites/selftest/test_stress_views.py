"""What readers get of a stress run: page, summary, JUnit file, terminal. All from slo.json alone."""

import io
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from rich.console import Console

from crashloop.report.standing import Standing
from crashloop.report.stress_headline import stress_headline
from crashloop.report.stress_html import to_stress_html
from crashloop.report.stress_junit import to_stress_junit
from crashloop.report.stress_markdown import to_stress_markdown
from crashloop.report.stress_plots import curve_plots, rows
from crashloop.report.stress_results import Dots, RowText, Series, StressResults, outcome_of
from crashloop.report.stress_svg import curve_svg, plot_svg, standalone
from crashloop.report.stress_terminal import render_stress
from crashloop.slo.types import SloVerdict
from crashloop.stress.judging import judge_run
from crashloop.verdict import Outcome
from suites.selftest.stress_kit import example_run


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StressResults:
    return judge_run(example_run(tmp_path_factory.mktemp("runs") / "run").run)


def with_verdict(
    results: StressResults, outcome: Outcome, *, mode: str = "gate", sentence: str = "a: b."
) -> StressResults:
    more = SloVerdict(slo="extra", outcome=outcome, mode=mode, sentence=sentence, target=0, unit="s")
    verdicts = (*results.verdicts, more)
    return msgspec.structs.replace(results, verdicts=verdicts, outcome=outcome_of(verdicts))


def test_the_page_runs_nothing_and_loads_nothing_from_anywhere(results: StressResults) -> None:
    page = to_stress_html(results)
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)
    assert page.count("<script>") == 1


def test_the_page_shows_every_promise_stage_and_plot(results: StressResults) -> None:
    page = to_stress_html(results)
    assert all(f'<span class="id">{each.slo}</span>' in page for each in results.verdicts)
    for words in (
        "restarts/s",
        "harness / (kubelets + runtimes)",
        "Curves under load",
        "42 restarts in the load example",
    ):
        assert words in page
    assert page.count('role="img"') == sum(len(row.plots) for row in rows(results)) + len(results.curves)


def test_what_comes_from_outside_is_shown_as_it_is(results: StressResults) -> None:
    hostile = with_verdict(results, Outcome.FAIL, sentence="x: <script>alert(1)</script>\x1b[31m")
    for text in (to_stress_html(hostile), to_stress_markdown(hostile), to_stress_junit(hostile)):
        assert "<script>alert" not in text
        assert "\x1b" not in text


def test_a_report_of_ten_minutes_of_storm_stays_small(results: StressResults) -> None:
    points = tuple((float(second), second % 7 / 3) for second in range(400))
    series = tuple(Series(name=f"CPU: part {n}", node=f"n{n % 3}", unit="cores", points=points) for n in range(24))
    dots = tuple(Dots(name="restart lateness", node=f"n{n}", unit="s", target=3, points=points) for n in range(3))
    page = to_stress_html(msgspec.structs.replace(results, series=series, dots=dots))
    assert len(page.encode()) < 2_000_000


CHECKS = ("load-as-planned", "nothing-left")


def judged(results: StressResults, *slos: tuple[str, Outcome, str], official: bool = False) -> StressResults:
    """A run with two checks that hold and these SLOs: id, outcome and mode."""
    source = "kubernetes/community sig-scalability/slos" if official else "this suite"
    rows = tuple(RowText(id=name, definition="d", source=source, promise="p99 at most 5 s") for name, _, _ in slos)
    told = [*((name, Outcome.PASS, "gate") for name in CHECKS), *slos]
    verdicts = tuple(
        SloVerdict(slo=name, outcome=outcome, mode=mode, sentence=f"{name}: said.", target=5, unit="s")
        for name, outcome, mode in told
    )
    return msgspec.structs.replace(results, rows=rows, verdicts=verdicts, outcome=outcome_of(verdicts))


LOAD = "42 restarts in the load example on Kubernetes 1.37.1: all 2 checks of the run hold"


@pytest.mark.parametrize(
    ("slos", "standing", "words"),
    [
        ([("a", Outcome.PASS, "gate"), ("b", Outcome.PASS, "report")], Standing.PASS, "all 2 SLOs are kept."),
        (
            [
                ("a", Outcome.PASS, "gate"),
                ("slow", Outcome.FAIL, "report"),
                ("late", Outcome.FAIL, "report"),
                ("c", Outcome.INCONCLUSIVE, "report"),
            ],
            Standing.PASS,
            "of 4 SLOs 1 is kept, 2 are missed (reported only): slow, late; 1 is not judged.",
        ),
        (
            [("a", Outcome.FAIL, "gate"), ("b", Outcome.FAIL, "report")],
            Standing.FAIL,
            "of 2 SLOs none is kept, 1 is broken: a; 1 is missed (reported only): b.",
        ),
        ([("a", Outcome.INCONCLUSIVE, "gate")], Standing.INCONCLUSIVE, "of 1 SLO none is kept, 1 is not judged."),
        ([("a", Outcome.ERROR, "gate")], Standing.ERROR, "of 1 SLO none is kept, 1 is in error: a."),
    ],
    ids=["all kept", "missed and undecided", "broken", "inconclusive", "error"],
)
def test_the_headline_counts_checks_and_slos_apart_and_names_what_was_missed(
    results: StressResults, slos: list[tuple[str, Outcome, str]], standing: Standing, words: str
) -> None:
    said = stress_headline(judged(results, *slos))
    assert (said.standing, said.sentence) == (standing, f"{LOAD}; {words}")


def test_a_check_of_the_run_that_does_not_hold_is_named(results: StressResults) -> None:
    broken = with_verdict(judged(results, ("a", Outcome.PASS, "gate")), Outcome.INCONCLUSIVE)
    assert "1 of 3 checks of the run does not hold: extra; the only SLO is kept." in stress_headline(broken).sentence


def test_nothing_is_to_be_done_only_where_every_slo_was_judged_and_kept(results: StressResults) -> None:
    kept = ("a", Outcome.PASS, "gate")
    assert stress_headline(judged(results, kept)).to_do.startswith("Nothing.")
    for outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE):
        said = stress_headline(judged(results, kept, ("b", outcome, "report")))
        assert said.standing is Standing.PASS
        assert said.to_do.startswith("Read the sentences of what was missed or not judged")


def test_a_run_that_judged_no_official_slo_says_so(results: StressResults) -> None:
    undecided = ("start", Outcome.INCONCLUSIVE, "report"), ("calls", Outcome.INCONCLUSIVE, "report")
    assert stress_headline(judged(results, *undecided, official=True)).meaning.endswith(
        "Not judged, as a precondition was broken or samples were few: start, calls. So none of the 2 official SLOs of "
        "Kubernetes was judged: this run says nothing about them."
    )
    for other in (
        judged(results, *undecided),
        judged(results, *undecided, ("c", Outcome.PASS, "gate"), official=True),
    ):
        assert "official" not in stress_headline(other).meaning


def test_junit_fails_for_gates_only(results: StressResults) -> None:
    for mode, failures in (("gate", "1"), ("report", "0")):
        root = ET.fromstring(to_stress_junit(with_verdict(results, Outcome.FAIL, mode=mode)))
        assert root.get("failures") == failures
        assert root.get("tests") == str(len(results.verdicts) + 1)


def test_missing_evidence_is_an_error_to_junit(results: StressResults) -> None:
    root = ET.fromstring(to_stress_junit(with_verdict(results, Outcome.INCONCLUSIVE)))
    assert root.get("errors") == "1"
    (error,) = root.iter("error")
    assert error.get("type") == "INCONCLUSIVE"


def test_the_summary_has_a_table_of_promises_and_one_of_stages(results: StressResults) -> None:
    summary = to_stress_markdown(results)
    assert summary.startswith(
        "## ✓ PASS: 42 restarts in the load example on Kubernetes 1.37.1: all 4 checks of the run hold; of "
    )
    assert "| ✓ PASS | `no-early-restart` | gate |" in summary
    assert "|  | baseline | storm |" in summary


def test_the_terminal_ends_with_what_to_do(results: StressResults) -> None:
    written = io.StringIO()
    render_stress(results, Console(file=written, width=200), report="runs/x/report.html")
    lines = written.getvalue().splitlines()
    assert lines[-2:] == ["Report: runs/x/report.html", "Exit code: 0"]
    assert any(line.startswith("✓ PASS no-early-restart: none of 42 restarts") for line in lines)


def test_pictures_stand_alone_in_documents(results: StressResults, tmp_path: Path) -> None:
    (restarts, *_) = rows(results)
    text = standalone(plot_svg(restarts.plots[0], name="p"), heading="Restarts a second", legend=["node-1"])
    (curve,) = curve_plots(results.curves)
    for each in (text, standalone(curve_svg(curve, name="c"), heading="Delays")):
        root = ET.fromstring(each)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "script" not in each
