"""What readers get of a stress run: page, summary, JUnit file, terminal. All from slo.json alone."""

import html
import io
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from rich.console import Console

from crashloop.cluster.provider import ExistingOptions
from crashloop.report.html import to_html
from crashloop.report.junit import to_junit
from crashloop.report.markdown import to_markdown
from crashloop.report.results import DeviationText, analyze_again
from crashloop.report.stress.document import stress_document
from crashloop.report.stress.load import environment_in_words, figure_text, ratios_in_words, stage_figure_text
from crashloop.report.stress.plots import PROPORTIONAL, against_pods, delay_charts, rows
from crashloop.report.stress.results import (
    Comparison,
    Dots,
    Series,
    StageResult,
    StressResults,
    outcome_of,
    run_results,
    stress_again,
)
from crashloop.report.terminal import render
from crashloop.slo.measurements import Interval
from crashloop.slo.scrapes import NodeSample
from crashloop.stress.judging import judge_run
from crashloop.stress.run import StressOptions, arguments_of
from crashloop.verdict import Outcome, VerdictMode
from suites.selftest.kit.stress_kit import example_run
from suites.selftest.kit.stress_verdicts import with_verdict
from tools.svg_files import chart_file


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StressResults:
    return judge_run(example_run(tmp_path_factory.mktemp("runs") / "run").run)


def test_a_doubt_about_a_comparison_stands_in_every_view_of_it(results: StressResults) -> None:
    doubted = Comparison(mix="", baseline="max-300s", treatment="max-1s", effects=(), doubt="Others used the host.")
    document = stress_document(msgspec.structs.replace(results, comparisons=(doubted,)))
    assert all("Others used the host." in view for view in (to_html(document), to_markdown(document)))


def test_the_page_runs_nothing_and_loads_nothing_from_anywhere(results: StressResults) -> None:
    page = to_html(stress_document(results))
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)
    assert page.count("<script>") == 1


def test_every_view_shows_the_requirements_and_counts_them(results: StressResults) -> None:
    file = io.StringIO()
    render(stress_document(results), Console(file=file, width=400, color_system=None))
    cases = [each.get("classname", "") for each in ET.fromstring(to_junit(run_results(results))).iter("testcase")]
    page, summary = html.unescape(to_html(stress_document(results))), to_markdown(stress_document(results))
    assert results.coverage is not None
    assert "LOAD-11" in {each.requirement for each in results.judged}
    for each in results.judged:
        assert f'<span class="id">{each.requirement}</span>' in page
        assert f"**{each.requirement}**" in summary
        # A terminal names what is not PASS, and counts the rest.
        assert bool(re.search(rf"\b{each.requirement}\b", file.getvalue())) or each.outcome is Outcome.PASS
        assert f"crashloop.stress.{each.requirement}" in cases
    assert results.coverage.sentence in page
    assert results.coverage.sentence in summary
    assert file.getvalue().endswith(f"{results.coverage.sentence}\n")


def test_junit_counts_a_broken_requirement_that_gates_and_no_other(results: StressResults) -> None:
    broken = [msgspec.structs.replace(each, outcome=Outcome.FAIL) for each in results.judged]
    root = ET.fromstring(to_junit(run_results(msgspec.structs.replace(results, judged=tuple(broken)))))
    failed = [case.get("classname") for case in root.iter("testcase") if case.find("failure") is not None]
    gates = [f"crashloop.stress.{each.requirement}" for each in results.judged if each.mode is VerdictMode.GATE]
    assert sorted(map(str, failed)) == sorted(gates)
    assert "crashloop.stress.LOAD-11" not in failed
    assert (root.get("failures"), root.get("tests")) == (
        str(len(gates)),
        str(len(results.verdicts) + len(results.judged)),
    )


def test_the_page_shows_every_promise_stage_and_plot(results: StressResults) -> None:
    page = to_html(stress_document(results))
    assert all(f'<span class="id">{each.slo}</span>' in page for each in results.verdicts)
    for words in (
        "restarts/s",
        "harness / (kubelets + runtimes)",
        "Curves under load",
        "42 restarts in the load example",
    ):
        assert words in page
    assert page.count('role="img"') == sum(len(row.charts) for row in rows(results)) + len(results.curves)


def test_what_comes_from_outside_is_shown_as_it_is(results: StressResults) -> None:
    hostile = with_verdict(results, Outcome.FAIL, sentence="x: <script>alert(1)</script>\x1b[31m")
    for text in (
        to_html(stress_document(hostile)),
        to_markdown(stress_document(hostile)),
        to_junit(run_results(hostile)),
    ):
        assert "<script>alert" not in text
        assert "\x1b" not in text


def test_a_report_of_ten_minutes_of_storm_stays_small(results: StressResults) -> None:
    points = tuple((float(second), second % 7 / 3) for second in range(400))
    series = tuple(Series(name=f"CPU: part {n}", node=f"n{n % 3}", unit="cores", points=points) for n in range(24))
    dots = tuple(Dots(name="restart lateness", node=f"n{n}", unit="s", target=3, points=points) for n in range(3))
    page = to_html(stress_document(msgspec.structs.replace(results, series=series, dots=dots)))
    assert len(page.encode()) < 2_000_000


def test_junit_fails_for_gates_only(results: StressResults) -> None:
    for mode, failures in (("gate", "1"), ("report", "0")):
        root = ET.fromstring(to_junit(run_results(with_verdict(results, Outcome.FAIL, mode=mode))))
        assert root.get("failures") == failures
        assert root.get("tests") == str(len(results.verdicts) + 1 + len(results.judged))


def test_a_known_deviation_fails_nothing_and_every_view_explains_it(results: StressResults) -> None:
    known = DeviationText(id="extra", sentence="It reads and writes every status.", evidence="Seven in one run.")
    missed = with_verdict(results, Outcome.FAIL, mode="gate")
    verdicts = tuple(
        msgspec.structs.replace(each, deviation="extra") if each.slo == "extra" else each for each in missed.verdicts
    )
    told = msgspec.structs.replace(missed, verdicts=verdicts, deviations=(known,))
    assert outcome_of(told.verdicts, told.judged) is outcome_of(results.verdicts, results.judged)
    assert ET.fromstring(to_junit(run_results(told))).get("failures") == "0"
    assert "Known deviation extra: It reads and writes every status." in to_junit(run_results(told))
    page = to_html(stress_document(told))
    assert all(words in page for words in ("KNOWN DEVIATION", known.sentence, known.evidence, 'id="deviations"'))
    assert 'id="deviations"' not in to_html(stress_document(results))


def test_missing_evidence_is_an_error_to_junit(results: StressResults) -> None:
    root = ET.fromstring(to_junit(run_results(with_verdict(results, Outcome.INCONCLUSIVE))))
    assert root.get("errors") == "1"
    (error,) = root.iter("error")
    assert error.get("type") == "INCONCLUSIVE"


def test_the_summary_has_tables_of_slos_checks_loads_and_stages(results: StressResults) -> None:
    summary = to_markdown(stress_document(results))
    assert summary.startswith("## ✓ PASS: 42 restarts in the load example on Kubernetes 1.37.1: all ")
    assert "| ✓ PASS | **no-early-restart** (gate) | none of 42 restarts came" in summary
    assert "| Outcome | Promise | What was seen |" in summary
    assert "| figure | baseline | storm |" in summary
    assert "| users | 1 healthy | 1 healthy, 2 crashers |" in summary


HOST = {
    "host": {
        "cpus": 2,
        "cpu_model": "Xeon <E5>",
        "memory_bytes": 24 * 2**30,
        "kernel": "6.18.44",
        "cgroup_version": 1,
        "has_cpu_pressure": True,
    },
    "nodes": [{"name": "node-1", "kubelet": "v1.37.1", "container_runtime": "containerd://2.3.7"}],
}


def test_a_report_can_be_read_without_the_run(results: StressResults) -> None:
    with_host = msgspec.structs.replace(results, environment=HOST)
    page, summary = (
        html.unescape(to_html(stress_document(with_host))),
        to_markdown(stress_document(with_host)).replace("\\", ""),
    )
    environment = (
        "host with 2 CPUs (Xeon <E5>), 24.0 GiB of memory, kernel 6.18.44, cgroup v1; 1 node (kubelet v1.37.1, "
        "containerd://2.3.7); metrics scraped every 5 s"
    )
    for words in (
        environment,
        "run_s 0.5",
        "rate_per_s 1",
        "2 in storm",
        "1 in every stage",
        "Restarts are counted in four ways",
    ):
        assert words in page, words
        assert html.escape(words) in summary or words in summary, words
    assert "maxContainerRestartPeriod: 1s" in page
    assert "<td>1 healthy, 2 crashers</td><td>5</td><td>0</td><td>60</td><td>60</td>" in page
    (arrivals,) = results.arrivals
    numbers = f"{arrivals.intended} | {arrivals.made} | {arrivals.dropped} | {arrivals.failed}"
    assert f"| healthy | {numbers} | {arrivals.late_p99_s:.3f} |" in summary


def test_the_report_names_the_nodes_that_were_scraped_of_many(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    folder.scrape("kubelet", [0, 90], {}, node="node-1", sample=NodeSample(scraped=1, of=50, seed=3))
    page = html.unescape(to_html(stress_document(judge_run(folder.run))))
    assert (
        "Kubelets were scraped on 1 of 50 nodes, a sample by seed 3: node-1. Rows about nodes judge these only, and figures of "
        "kubelets are sums over these." in page
    )


def test_what_the_environment_lacks_is_left_out(results: StressResults) -> None:
    bare = msgspec.structs.replace(results, environment={"host": {"cpus": 8}}, planned=None)
    assert environment_in_words(bare) == "host with 8 CPUs"
    assert "environment not recorded" in to_markdown(stress_document(msgspec.structs.replace(bare, environment={})))


@pytest.mark.parametrize(
    ("disk", "said"),
    [
        ("ext4 on /dev/vda1", "etcd waits for its disk (ext4 on /dev/vda1)"),
        ("", "etcd does not wait for its disk"),
        (None, ""),
    ],
)
def test_the_environment_says_whether_etcd_waits_and_for_what(
    results: StressResults, disk: str | None, said: str
) -> None:
    known = msgspec.structs.replace(results, environment={"etcd_disk": disk}, planned=None)
    assert environment_in_words(known) == said


def test_shares_are_percentages() -> None:
    assert [figure_text("host_busy_share", value) for value in (0.0, 0.004, 0.0631, 0.987)] == [
        "0 %",
        "0.4 %",
        "6 %",
        "99 %",
    ]
    assert figure_text("kubelet_cpu_cores", 0.0631) == "0.063"


def test_a_p99_of_few_events_is_called_their_highest() -> None:
    few = {"startup_p99_s": 0.55, "startup_samples": 12.0, "startup_p50_s": 0.5}
    assert stage_figure_text("startup_p99_s", few) == "0.55 (highest of 12)"
    assert stage_figure_text("startup_p50_s", few) == "0.50"
    assert stage_figure_text("startup_p99_s", {**few, "startup_samples": 100.0}) == "0.55"
    assert stage_figure_text("lateness_p99_s", {"lateness_p99_s": None, "lateness_samples": 0.0}) == "–"


def test_a_ratio_of_which_nothing_is_known_is_not_told_to_the_last_digit() -> None:
    assert ratios_in_words(Interval(1.2e-06, 25_413_566.0)) == "below 0.01 to more than 100"
    assert ratios_in_words(Interval(0.768, 1.196)) == "0.768 to 1.196"
    assert ratios_in_words(Interval(0.5, None)) == "0.500 to more than 100"


def test_targets_are_drawn_and_named_after_their_row(results: StressResults) -> None:
    line = Series(
        name="latency: p99 of mutating API calls",
        unit="s",
        target=1,
        slo="api-call-latency-mutating",
        at_most=10,
        points=((1, 0.2), (2, 10)),
    )
    late = Dots(
        name="restart lateness",
        node="n",
        unit="s",
        target=3,
        slo="restart-lateness",
        samples=2647,
        missed=1200,
        points=((1, 2), (2, 4)),
    )
    (lateness, calls) = rows(msgspec.structs.replace(results, series=(line,), dots=(late,)))
    assert (
        lateness.charts[0].alternative
        == "2 of 2,647 shown, up to 4 s; 1,200 of 2,647 beyond the target of restart-lateness"
    )
    assert calls.title == "p99 of mutating API calls (s)"
    assert calls.charts[0].alternative == (
        "from scrape to scrape, up to more than 10 s; 1 of 2 beyond the target of api-call-latency-mutating"
    )
    assert calls.charts[0].target is not None
    assert calls.charts[0].target[1] == "target 1 s"


def storm(pods: int, restarts_per_s: float, **more: float) -> StageResult:
    interval = Interval(restarts_per_s - 1, restarts_per_s + 1)
    return StageResult(
        name="storm",
        mix=f"{pods} pods",
        from_s=0,
        to_s=40,
        crashing_pods=pods,
        figures={
            "restarts_per_s": restarts_per_s,
            "lateness_p50_s": 1,
            "lateness_p99_s": 2,
            "host_busy_share": 0.5,
            **more,
        },
        intervals={"restarts_per_s": interval},
    )


def test_restarts_are_drawn_against_crashing_pods_where_there_are_three_numbers_of_them(results: StressResults) -> None:
    def run(*stages: StageResult) -> StressResults:
        return msgspec.structs.replace(results, stages=stages)

    steps = (storm(5, 2.0), storm(10, 4.0), storm(110, 9.0), storm(10, 5.0))
    restarts, lateness, busy = against_pods(run(*steps)).charts
    assert restarts.alternative == "restarts/s 2 at 5, 4.5 at 10, 9 at 110 pods"
    assert [line.name for line in restarts.lines] == ["restarts/s", PROPORTIONAL]
    assert (len(restarts.dots), len(restarts.ranges)) == (4, 4)
    assert [line.name for line in lateness.lines] == ["p50", "p99"]
    assert busy.alternative == "host CPU busy 50 at 5, 50 at 10, 50 at 110 pods"
    assert against_pods(run(*steps[:2], storm(10, 4.1))).charts == ()
    page = to_html(stress_document(run(*steps)))
    assert "Against the number of crashing pods" in page
    assert page.count('role="img"') == sum(len(row.charts) for row in rows(run(*steps))) + len(results.curves) + 3


def test_the_proportional_line_goes_through_the_fewest_pods_and_stays_in_the_picture(results: StressResults) -> None:
    steps = (storm(10, 4.0), storm(20, 8.0), storm(100, 10.0))
    (chart, *_) = against_pods(msgspec.structs.replace(results, stages=steps)).charts
    measured, proportional = chart.lines
    (x0, y0), (x1, y1) = proportional.points
    for x, y in measured.points[:2]:
        assert y == pytest.approx(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    assert max(y0, y1) <= chart.up.high


def test_arms_have_lines_of_their_own_against_pods(results: StressResults) -> None:
    steps = tuple(
        msgspec.structs.replace(storm(pods, 1.0), arm=arm) for pods in (5, 10, 20) for arm in ("baseline", "treatment")
    )
    (chart, *_) = against_pods(msgspec.structs.replace(results, stages=steps)).charts
    assert [line.name for line in chart.lines][:2] == ["baseline restarts/s", "treatment restarts/s"]


def test_the_terminal_ends_with_what_to_do(results: StressResults) -> None:
    written = io.StringIO()
    render(stress_document(results), Console(file=written, width=200), report="runs/x/report.html")
    lines = written.getvalue().splitlines()
    assert lines[-3:-1] == ["Report: runs/x/report.html", "Exit code: 0"]
    assert lines[lines.index("✓ PASS no-early-restart (gate)") + 1].startswith("  none of 42 restarts")


def test_pictures_stand_alone_in_documents(results: StressResults, tmp_path: Path) -> None:
    (restarts, *_) = rows(results)
    ((_, curve),) = delay_charts(results.curves)
    for chart in (restarts.charts[0], curve):
        each = chart_file(chart, heading="Restarts a second")
        root = ET.fromstring(each)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "script" not in each


def test_the_commands_that_reproduce_a_run_have_its_options(results: StressResults) -> None:
    options = StressOptions(
        profile="./mine.yaml#Deployment/a",
        pods=40,
        kubelet_profile="max-10s",
        provider="existing",
        existing=ExistingOptions(kubeconfig="/home/me/my config", image="i", node_profiles={"a": "max-10s"}),
        image_archives=("/a.tar",),
        web_port=8089,
    )
    again = stress_again(msgspec.structs.replace(results, arguments=tuple(arguments_of(options, "1.37.1"))))
    assert again == (
        f"crashloop stress '{Path.cwd()}/mine.yaml#Deployment/a' --provider existing --pods 40 --profile max-10s "
        "--image-archive /a.tar --web --web-port 8089 --kubeconfig '/home/me/my config' --image i --max-pods 40 "
        "--node-profile a=max-10s"
    )
    older = msgspec.structs.replace(results, arguments=())
    assert stress_again(older).startswith(f"crashloop stress {results.profile} --provider {results.provider} ")
    assert Path(analyze_again(results).removeprefix("crashloop report --again ")).is_absolute()
