"""A timeline shows what ran, when it was due, what was stated and what was done, each with its line of the history."""

import re
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.report.conformance import conformance_document
from crashloop.report.curves import PlottedCurve, ReportedDelay
from crashloop.report.html import to_html
from crashloop.report.standing import Standing
from crashloop.report.timeline import (
    EVENTS,
    INTERVENTIONS,
    JOB,
    MOST_IN_A_LANE,
    Lane,
    Moment,
    Stretch,
    Timeline,
    timeline_svg,
    timelines_of,
)
from suites.selftest.kit.cases import CRASHING
from suites.selftest.kit.histories import History
from suites.selftest.kit.report_example import example_results

LIVES = ((0.5, 1.5, 1), (1.8, 2.8, 1), (5.1, None, 0))
CURVE = PlottedCurve(
    scenario=CRASHING.name,
    container="app",
    profile=CRASHING.profile,
    standing=Standing.PASS,
    requirements=("BACKOFF-4",),
    delays=(
        ReportedDelay(restart=1, due_s=0.0, latest_s=2.0),
        ReportedDelay(restart=2, due_s=2.0, latest_s=None),
        ReportedDelay(restart=9, due_s=2.0, latest_s=4.0),
    ),
)


def back_off(history: History, at_s: float, count: int) -> History:
    data = {"reason": "BackOff", "message": "Back-off", "type": "Warning", "count": count, "reporter": "kubelet"}
    return history.add(at_s, Channel.EVENTS, Kind.KUBERNETES_EVENT, data, pod=True, container="app")


def of(history: History, *curves: PlottedCurve) -> Timeline:
    (timeline,) = timelines_of(CRASHING.name, "max-2s", history.recording(), curves)
    return timeline


def lane(timeline: Timeline, name: str) -> Lane:
    return {each.name: each for each in timeline.lanes}[name]


def looks(of_lane: Lane, look: str) -> list[Any]:
    return [(each.from_s, each.to_s, each.label) for each in of_lane.stretches if each.look == look]


def test_each_instance_is_a_bar_from_its_start_to_its_exit() -> None:
    history = History(CRASHING).lives("app", *LIVES).ends(8)
    shown = lane(of(history), "app")
    assert looks(shown, "ran") == [
        (0.5, 1.5, "start 0, exit code 1"),
        (1.8, 2.8, "start 1, exit code 1"),
        (5.1, None, "start 2"),
    ]
    exits = [history.line_of(Kind.EXITED, nth, channel=Channel.RUNTIME) for nth in (0, 1)]
    assert [each.line for each in shown.stretches] == [*exits, None]


def test_a_window_counts_from_the_exit_before_its_restart() -> None:
    """Restart 9 has no exit before it that was seen, so that its window has no place."""
    shown = lane(of(History(CRASHING).lives("app", *LIVES).ends(8), CURVE), "app")
    assert looks(shown, "due") == [(1.5, 3.5, "restart 1 is due"), (4.8, None, "restart 2 is due")]


def test_windows_of_other_scenarios_are_not_shown() -> None:
    other = msgspec.structs.replace(CURVE, scenario="other")
    assert looks(lane(of(History(CRASHING).lives("app", *LIVES).ends(8), other), "app"), "due") == []


def test_statements_last_until_the_next_that_differs() -> None:
    history = History(CRASHING).lives("app", *LIVES).ends(8)
    stated = looks(lane(of(history), "app, as stated"), "stated")
    assert stated[0] == (0.8, 1.8, "running, restartCount 0")
    assert all(before[1] == after[0] for before, after in pairwise(stated))
    assert stated[-1] == (5.4, None, "running, restartCount 2")
    assert looks(lane(of(history), "pod"), "stated") == [(0.8, None, "Running")]


def test_events_and_interventions_are_moments_with_their_lines() -> None:
    history = History(CRASHING).lives("app", *LIVES).intervention(4.0, "annotate", outcome="409 Conflict")
    timeline = of(back_off(back_off(history, 3.0, 1), 4.5, 3).ends(8))
    assert [(each.at_s, each.label) for each in lane(timeline, EVENTS).moments] == [
        (3.0, "BackOff: app: Back-off"),
        (4.5, "BackOff (3 times): app: Back-off"),
    ]
    assert [(each.at_s, each.label) for each in lane(timeline, INTERVENTIONS).moments] == [
        (4.0, "annotate: 409 Conflict")
    ]
    assert lane(timeline, INTERVENTIONS).moments[0].line == history.line_of(Kind.INTERVENTION)


def test_a_pod_of_which_nothing_is_known_but_its_creation_has_no_lanes() -> None:
    timeline = of(History(CRASHING).ends(3))
    assert (timeline.lanes, timeline.length_s) == ((), 3.0)


def test_every_pod_of_a_scenario_has_its_own_and_none_has_windows() -> None:
    history = History(CRASHING).lives("app", *LIVES[:2]).recreated(4.0, "another").lives("app", (4.5, 5.5, 1)).ends(8)
    first, second = timelines_of(CRASHING.name, "max-2s", history.recording(), [CURVE])
    assert second.pod == "another"
    assert [looks(lane(each, "app"), "due") for each in (first, second)] == [[], []]


def test_a_lane_holds_no_more_than_it_can_show() -> None:
    history = History(CRASHING).lives("app", *LIVES)
    for number in range(MOST_IN_A_LANE + 5):
        back_off(history, 3.0 + number / 1000, number + 1)
    assert len(lane(of(history.ends(8)), EVENTS).moments) == MOST_IN_A_LANE


LONG = "long " * 200
TIMELINE = Timeline(
    scenario="s",
    profile="p",
    pod="uid",
    length_s=10.0,
    lanes=(
        Lane(name="app", stretches=(Stretch(look="ran", from_s=0.0, to_s=10.0, label="start 0", line=7),)),
        Lane(
            name="a-name-of-more-than-22-letters",
            stretches=(Stretch(look="stated", from_s=9.9, to_s=None, label=LONG),),
        ),
        Lane(name=EVENTS, moments=(Moment(at_s=5.0, label="<b>BackOff</b>", line=9),)),
    ),
)


def test_the_picture_places_parts_along_its_axis() -> None:
    svg = str(timeline_svg(TIMELINE, name="t"))
    assert '<rect class="ran-stretch" x="132" y="8" width="758" height="12"' in svg
    assert 'cx="511"' in svg
    assert "<title>0 to 10 s: start 0 (history line 7)</title>" in svg


def test_a_label_without_room_is_only_a_title_and_nothing_is_markup() -> None:
    svg = str(timeline_svg(TIMELINE, name="t"))
    assert svg.count(LONG) == 0
    assert "more characters" in svg
    assert "…" in svg
    assert "<b>" not in svg
    assert "&lt;b&gt;BackOff" in svg


@pytest.mark.parametrize(("looks", "count"), [(("due",), 1), (("due", "ran"), 0)], ids=["alone", "behind-what-ran"])
def test_a_window_has_its_label_only_where_nothing_ran(looks: tuple[str, ...], count: int) -> None:
    stretches = tuple(Stretch(look=look, from_s=0.0, to_s=9.0, label=f"is {look}") for look in looks)
    svg = str(timeline_svg(msgspec.structs.replace(TIMELINE, lanes=(Lane(name="app", stretches=stretches),)), name="t"))
    assert svg.count(">is due</text>") == count


def test_the_page_shows_timelines_and_links_them_from_their_verdicts() -> None:
    results = example_results()
    file = next(each.evidence[0].file for each in results.verdicts if each.evidence)
    scenario = file.removeprefix("history/").removesuffix(".jsonl")
    timeline = msgspec.structs.replace(TIMELINE, scenario=scenario)
    page = to_html(conformance_document(msgspec.structs.replace(results, timelines=(timeline,))))
    assert 'id="timeline-1"' in page
    assert re.search(rf'<a href="#timeline-1"[^>]*>pod of {scenario}</a>', page)


def test_a_page_without_timelines_has_no_such_section() -> None:
    assert "What happened" not in to_html(conformance_document(example_results()))


def test_a_moment_has_its_label_beside_it_where_there_is_room() -> None:
    moments = (Moment(at_s=1.0, label="kill-sandbox: ok", line=3), Moment(at_s=1.1, label="delete-object: ok", line=4))
    svg = str(
        timeline_svg(msgspec.structs.replace(TIMELINE, lanes=(Lane(name=INTERVENTIONS, moments=moments),)), name="t")
    )
    assert ">kill-sandbox: ok</text>" not in svg
    assert ">delete-object: ok</text>" in svg


def test_answers_of_probes_have_a_lane_for_each_kind_and_answer() -> None:
    history = History(CRASHING).lives("app", *LIVES)
    history.note(2.0, "app", 1, "liveness.0", "S").note(2.2, "app", 1, "liveness.1", "F").note(
        2.3, "app", 1, "else", "F"
    )
    shown = {each.name: each.moments for each in of(history.ends(8)).lanes if each.moments}
    assert {name: [each.label for each in moments] for name, moments in shown.items()} == {
        "app, liveness failed": ["liveness.1 failed"],
        "app, liveness answered": ["liveness.0 answered"],
    }


def test_a_job_has_a_lane_of_what_it_said() -> None:
    history = History(CRASHING).lives("app", *LIVES)
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
    history.add(1.0, Channel.API, Kind.JOB, {"status": {"failed": 0, "succeeded": 0}})
    history.add(4.0, Channel.API, Kind.JOB, {"status": {"failed": 1, "succeeded": 0, "conditions": [failed]}})
    assert looks(lane(of(history.ends(8)), JOB), "stated") == [
        (1.0, 4.0, "active"),
        (4.0, None, "Failed (BackoffLimitExceeded)"),
    ]


def test_readiness_is_named_where_a_status_denied_it() -> None:
    history = History(CRASHING).lives("app", *LIVES[:2])
    running = history.running("app", 2, 5.1)
    history.status(5.4, {"app": running | {"ready": False}}).status(6.0, {"app": running | {"ready": True}})
    assert [label for *_, label in looks(lane(of(history.ends(8)), "app, as stated"), "stated")][-2:] == [
        "running, restartCount 2",
        "ready, running, restartCount 2",
    ]
