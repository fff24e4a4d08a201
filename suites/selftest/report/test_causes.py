"""One cause is shown once: findings of one restart, one statement or one sentence stand together in every view."""

from xml.etree import ElementTree as ET

import msgspec
import pytest

from crashloop.report.causes import Cause, answer, causes_by_verdict, causes_of
from crashloop.report.conformance import conformance_document
from crashloop.report.html import to_html
from crashloop.report.junit import to_junit
from crashloop.report.markdown import to_markdown
from crashloop.report.results import Results
from crashloop.report.timeline import Lane, Stretch, Timeline, excerpt, with_breach
from crashloop.verdict import Evidence, Ground, Missed, Outcome, Verdict
from suites.selftest.kit.report_example import example_results

EARLY = (
    'restart 3 of "app" came 1.3 s after the exit (history lines 68 and 86); 2 s was due: the counter says 2 s.',
    (68, 86),
    Missed(number=3, container="app", verb="came", taken_s=1.3, due_s=2.0),
)
LATE = (
    'restart 5 of "app" was created 9.5 s after the exit (history lines 90 and 99); 2 s was due, and 6.1 s at the latest: x.',
    (90, 99),
    Missed(number=5, container="app", verb="was created", taken_s=9.5, due_s=2.0, latest_s=6.1),
)
Said = tuple[str, tuple[int, ...], Missed | None]


def verdict(
    requirement: str,
    *findings: Said,
    scenario: str = "s",
    outcome: Outcome = Outcome.FAIL,
    of_every_pod: str = "",
) -> Verdict:
    prefix = f"in {of_every_pod} (max-2s): " if of_every_pod else ""
    return Verdict(
        requirement=requirement,
        scenario=scenario,
        profile="max-2s",
        outcome=outcome,
        findings=tuple(f"{requirement}: {prefix}{sentence}" for sentence, _, _ in findings),
        grounds=tuple(
            Ground(scenario=of_every_pod or scenario, profile="max-2s", lines=lines, missed=missed)
            for _, lines, missed in findings
        ),
        evidence=(Evidence(file=f"history/{scenario}.jsonl"),),
    )


def results_of(*verdicts: Verdict) -> Results:
    return example_results(verdicts)


def causes(*verdicts: Verdict) -> list[tuple[str, ...]]:
    return [each.requirements for each in causes_of(results_of(*verdicts))]


def only(*verdicts: Verdict) -> Cause:
    (found,) = causes_of(results_of(*verdicts))
    return found


def test_one_restart_that_breaks_three_requirements_is_one_cause() -> None:
    found = only(verdict("CAP-3", EARLY), verdict("CAP-4", EARLY), verdict("BACKOFF-3", EARLY))
    assert found.sentence == "restart 3 of app on node max-2s came 0.7 s too early: 1.3 s after the exit, 2 s was due."
    assert found.broken_in_words == "breaks BACKOFF-3, CAP-3, CAP-4"


def test_two_restarts_of_one_verdict_are_two_causes_with_what_breaks_most_first() -> None:
    assert causes(verdict("CAP-3", LATE, EARLY), verdict("CAP-4", EARLY)) == [("CAP-3", "CAP-4"), ("CAP-3",)]


def test_a_statement_joins_the_restart_whose_line_it_rests_on() -> None:
    stated = ("restartCount went from 2 to 4 (history line 86).", (86,), None)
    assert causes(verdict("CAP-3", EARLY), verdict("CAP-4", stated)) == [("CAP-3", "CAP-4")]


def test_the_same_line_of_another_history_is_another_cause() -> None:
    assert len(causes(verdict("CAP-3", EARLY), verdict("CAP-3", EARLY, scenario="other"))) == 2


def test_a_finding_about_every_pod_joins_the_restart_of_the_pod_that_it_names() -> None:
    every = verdict("BACKOFF-3", EARLY, scenario="every pod", of_every_pod="s")
    assert causes(verdict("CAP-3", EARLY), every) == [("BACKOFF-3", "CAP-3")]


def test_one_sentence_about_many_scenarios_is_one_cause() -> None:
    said = ("the node did not run with the profile's configuration.", (), None)
    found = only(*(verdict("CAP-3", said, scenario=f"s-{n}", outcome=Outcome.ERROR) for n in range(20)))
    assert len(found.accusations) == 20
    assert found.broken_in_words == "leaves CAP-3 open"


def test_a_verdict_of_an_earlier_release_is_a_cause_by_its_own_sentence_and_lines() -> None:
    old = msgspec.structs.replace(
        verdict("CAP-3", EARLY), grounds=(), evidence=(Evidence(file="history/s.jsonl", lines=(68, 86)),)
    )
    found = only(old)
    assert (found.missed, found.first.ground.lines) == (None, (68, 86))
    assert found.sentence == f"on node max-2s: {EARLY[0]}"


def test_a_late_restart_says_the_latest_moment() -> None:
    said = "restart 5 of app on node max-2s came 3.4 s too late: created 9.5 s after the exit, 6.1 s was the latest."
    assert only(verdict("CAP-3", LATE)).sentence == said


@pytest.mark.parametrize(
    ("binary", "whose"), [(None, "The kubelet"), ("./kubelet", "Your kubelet ./kubelet")], ids=["released", "own"]
)
def test_the_banner_answers_and_names_the_binary(binary: str | None, whose: str) -> None:
    results = msgspec.structs.replace(results_of(verdict("CAP-3", EARLY, LATE)), kubelet_binary=binary)
    nodes = len(results.profiles)
    expected = f"{whose} restarts too early on 1 of {nodes} configurations, and restarts too late on 1 of {nodes} configurations"
    assert answer(results, causes_of(results)) == expected


def test_every_view_has_the_same_causes() -> None:
    results = results_of(verdict("CAP-3", EARLY), verdict("CAP-4", EARLY))
    (cause,) = causes_of(results)
    document = conformance_document(results)
    said = cause.sentence.removeprefix("restart")
    assert to_html(document).count(f'">Restart{said}</span>') == 1
    assert to_markdown(document).count(said) == 1
    cases = ET.fromstring(to_junit(results, causes_by_verdict([cause]))).iter("failure")
    assert [(each.text or "").splitlines()[0] for each in cases] == [
        f"Cause: {cause.sentence} It breaks CAP-3, CAP-4."
    ] * 2


def test_the_breach_is_a_lane_of_its_own_and_ten_seconds_around_it_are_shown() -> None:
    ran = Stretch(look="ran", from_s=28.0, to_s=30.0, label="start 2", line=68)
    timeline = Timeline(scenario="s", profile="p", pod="u", length_s=99.0, lanes=(Lane(name="app", stretches=(ran,)),))
    marked = with_breach(timeline, (68, 86), "0.7 s too early", from_s=1.3, to_s=2.0)
    assert marked is not None
    assert [each.name for each in marked.lanes] == ["app", "0.7 s too early"]
    shown = excerpt(marked)
    assert shown.length_s - shown.begin_s == pytest.approx(10)
    (breach,) = shown.lanes[1].stretches
    assert (breach.from_s, breach.to_s) == pytest.approx((31.3, 32.0))
    assert with_breach(timeline, (7,), "elsewhere") is None
