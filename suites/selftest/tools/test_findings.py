"""Pictures of findings show what a run recorded beside what was promised."""

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.report.timeline import Lane, Moment, Stretch, Timeline
from crashloop.rundir import RunDir
from crashloop.spec.plan import Judgement
from crashloop.stress.folder import StressDir, publish_stress, published_stress
from crashloop.stress.judging import judge_run
from suites.selftest.kit.cases import CRASHING, good
from suites.selftest.kit.histories import History, startup
from suites.selftest.kit.run_dirs import TRIED, a_run, record
from suites.selftest.kit.stress_kit import example_run
from tools.findings import __main__ as command
from tools.findings.cutting import cut
from tools.findings.pictures import Picture, load_pictures
from tools.findings.plots import ReportPlot, drawn_plot, load_plots
from tools.findings.subjects import apart, measured, subjects, trial

SHOWN = Picture(scenario=CRASHING.name, heading="Too early")
REFUSED = 'E1 run.go:72] "command failed" err="error: invalid configuration: No such field, path: &TypeMeta{}"\n'


def ran(from_s: float, to_s: float | None, look: str = "ran") -> Stretch:
    return Stretch(look=look, from_s=from_s, to_s=to_s, label="start 0", line=3)


def timeline(*lanes: Lane) -> Timeline:
    return Timeline(scenario="s", profile="p", pod="uid", length_s=100.0, lanes=lanes)


def test_a_span_begins_at_0_and_keeps_what_reaches_into_it() -> None:
    lane = Lane(
        name="app",
        stretches=(ran(0, 10), ran(15, 25), ran(30, None), ran(70, 80)),
        moments=tuple(Moment(at_s=at_s, label="x", line=1) for at_s in (5.0, 20.0, 45.0, 70.0)),
    )
    shown = cut(timeline(lane), msgspec.structs.replace(SHOWN, from_s=20.0, to_s=50.0))
    assert shown.length_s == 30.0
    assert [(each.from_s, each.to_s) for each in shown.lanes[0].stretches] == [(0.0, 5.0), (10.0, 30.0)]
    assert [each.at_s for each in shown.lanes[0].moments] == [0.0, 25.0]


def test_a_span_beyond_the_recording_shows_windows_there_and_nothing_else() -> None:
    lanes = Lane(name="app", stretches=(ran(90, None),)), Lane(name="app, due", stretches=(ran(110, 130, "due"),))
    shown = cut(timeline(*lanes), msgspec.structs.replace(SHOWN, from_s=80.0, to_s=120.0))
    assert [(each.from_s, each.to_s) for lane in shown.lanes for each in lane.stretches] == [(10.0, 20.0), (30.0, 40.0)]


def test_a_lane_is_left_out_if_the_picture_says_so_or_nothing_is_left_in_it() -> None:
    lanes = (
        Lane(name="app", stretches=(ran(0, 10),)),
        Lane(name="Events", moments=(Moment(at_s=1, label="x", line=1),)),
    )
    assert [each.name for each in cut(timeline(*lanes), SHOWN).lanes] == ["app"]
    assert cut(timeline(*lanes), msgspec.structs.replace(SHOWN, from_s=20.0)).lanes == ()


def test_windows_stand_below_what_ran_and_end_where_the_next_begins() -> None:
    due = (ran(10, None, "due"), ran(20, 25, "due"), ran(30, 90, "due"), ran(50, None, "due"))
    above, below = apart(Lane(name="app", stretches=(*due, ran(0, 9))))
    assert above.stretches == (ran(0, 9),)
    assert (below.name, [(each.from_s, each.to_s) for each in below.stretches]) == (
        "app, due",
        [(10, 20), (20, 25), (30, 50), (50, float("inf"))],
    )


def test_a_lane_without_windows_stays_alone() -> None:
    assert len(list(apart(Lane(name="pod", stretches=(ran(0, 9),))))) == 1


def test_of_an_event_only_the_reason_is_shown() -> None:
    unhealthy = Moment(at_s=1.0, label="Unhealthy (2 times): app: dial unix /run/x.sock: no such file", line=1)
    (events,) = apart(Lane(name="Events", moments=(unhealthy,)))
    assert [each.label for each in events.moments] == ["Unhealthy (2 times)"]


def good_run(tmp_path: Path) -> RunDir:
    run = a_run(tmp_path, Judgement(requirement="BACKOFF-2", scenario=CRASHING.name))
    record(run, good())
    return run


def test_a_pod_is_shown_with_the_windows_of_the_promise(tmp_path: Path) -> None:
    run = good_run(tmp_path)
    (shown,) = subjects(run, run.plan(), SHOWN)
    assert [(each.from_s, each.to_s) for lane in shown.lanes if lane.name == "app, due" for each in lane.stretches] == [
        (1.5, 3.5),
        (5.0, 7.15),
        (8.3, 10.45),
    ]


def test_a_run_without_the_history_has_no_picture(tmp_path: Path) -> None:
    run = good_run(tmp_path)
    assert subjects(run, run.plan(), msgspec.structs.replace(SHOWN, scenario="other")) == ()
    assert subjects(run, run.plan(), msgspec.structs.replace(SHOWN, scenario="of-another-scope")) == ()


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        (f"I1 x.go:1] y\n{REFUSED}", "No such field"),
        ("panic: failed to merge, error: B depends on A\n\ngoroutine 1 [running]:\n", "B depends on A"),
        ("I1 x.go:1] y\nKilled\n", "Killed"),
    ],
)
def test_a_kubelet_that_is_refused_is_shown_with_its_last_words(stderr: str, words: str) -> None:
    history = startup(TRIED).process(0.5, Kind.PROCESS_EXITED, exit_code=1, stderr=stderr).ends(1)
    shown = trial("start-max-2s", history.recording())
    assert [(lane.name, [(each.to_s, each.label) for each in lane.stretches]) for lane in shown.lanes] == [
        ("kubelet", [(0.5, "exit code 1")]),
        ("its last words", [(None, words)]),
    ]


def test_a_kubelet_that_lives_is_shown_with_the_moment_of_its_health() -> None:
    history = startup(TRIED).process(0.4, Kind.PROCESS_HEALTHY, configz={}).ends(1)
    kubelet, _ = trial("start-max-2s", history.recording()).lanes
    assert ([each.to_s for each in kubelet.stretches], [each.at_s for each in kubelet.moments]) == ([None], [0.4])


def test_samples_of_a_histogram_are_shown_between_the_bounds_of_their_buckets() -> None:
    counts = {"+Inf": 10, "0.5": 5, "1": 5, "2": 9}
    series = [{"name": "m_bucket", "labels": {"le": bound}, "value": value} for bound, value in counts.items()]
    history = History(CRASHING).add(2.0, Channel.KUBELET, Kind.SAMPLE, {"series": series}).ends(3)
    assert [
        (each.from_s, each.to_s, each.label) for each in measured("m", history.recording().samples[0]).stretches
    ] == [
        (0.0, 0.5, "5 of 10 samples"),
        (1.0, 2.0, "4 of 10 samples"),
        (2.0, None, "1 of 10 samples"),
    ]


def test_the_file_stands_alone_in_light_and_dark(tmp_path: Path) -> None:
    run = good_run(tmp_path)
    svg = command.drawn(SHOWN, subjects(run, run.plan(), SHOWN), "Kubernetes 1.37.1")
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in svg
    assert "Too early (crashing, Kubernetes 1.37.1)" in svg
    assert "a restart is due, as promised" in svg


@pytest.mark.parametrize(
    ("from_s", "pod", "label"),
    [
        (0.0, "uid", "seconds from the creation of the pod"),
        (9.0, "uid", "seconds from 9 s after the creation of the pod"),
        (0.0, "", "seconds from the start of the kubelet"),
    ],
)
def test_the_axis_says_what_it_counts_from(from_s: float, pod: str, label: str) -> None:
    shown = msgspec.structs.replace(timeline(Lane(name="app", stretches=(ran(0, 50),))), pod=pod)
    assert label in command.drawn(msgspec.structs.replace(SHOWN, from_s=from_s), (shown,), "x")


def test_the_command_writes_what_the_first_run_has_and_names_what_none_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = good_run(tmp_path)
    wanted = {"one": SHOWN, "two": msgspec.structs.replace(SHOWN, scenario="nowhere")}
    monkeypatch.setattr(command, "load_pictures", lambda: wanted)
    monkeypatch.setattr(command, "load_plots", dict)
    monkeypatch.setattr(command, "IMAGES", tmp_path)
    assert command.main([str(run.root), str(run.root), "--write"]) == 1
    assert capsys.readouterr().out == "one: crashing of run\ntwo: no run has nowhere\n"
    assert "Kubernetes 1.37.1, 01 January 2026" in (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert not (tmp_path / "two.svg").exists()


def stress_run(tmp_path: Path) -> StressDir:
    run = example_run(tmp_path / "run").run
    publish_stress(run, judge_run(run))
    return run


PODS = ReportPlot(title="pods", heading="Two pods")


def test_a_picture_of_a_stress_run_is_a_plot_of_its_report(tmp_path: Path) -> None:
    svg = drawn_plot(PODS, published_stress(stress_run(tmp_path)))
    assert svg is not None
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert "Two pods (example, Kubernetes 1.37.1, " in svg


def test_the_command_takes_plots_from_stress_runs_and_names_those_that_none_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = stress_run(tmp_path)
    wanted = {"one": PODS, "two": msgspec.structs.replace(PODS, title="sockets")}
    monkeypatch.setattr(command, "load_pictures", dict)
    monkeypatch.setattr(command, "load_plots", lambda: wanted)
    monkeypatch.setattr(command, "IMAGES", tmp_path)
    assert command.main([str(run.root), "--write"]) == 1
    assert capsys.readouterr().out == "one: pods of run\ntwo: no run has sockets\n"
    assert (tmp_path / "one.svg").exists()
    assert not (tmp_path / "two.svg").exists()


def test_the_pictures_can_be_read() -> None:
    assert load_pictures()
    assert load_plots()
